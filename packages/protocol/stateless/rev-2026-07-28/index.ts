/** MCP 2026-07-28 with the Tasks extension. */
import { LIST_ITEMS } from "../../list-items.ts";
import { buildDialect } from "../build-dialect.ts";
import type { StatelessDialect } from "../dialect.ts";
import { dataOf, ERROR_CODES, ownError } from "./errors.ts";
import { METHODS } from "./methods.ts";

export const rev20260728: StatelessDialect = buildDialect({
  version: "2026-07-28",
  methods: METHODS,
  // Tools have no `execution`: in this revision, the server alone decides which calls become tasks.
  listItems: LIST_ITEMS,
  shown: ERROR_CODES,
  ownError,
  dataOf,
  tellsModel: ({ type }) => type === "callTool",
});

export { ERROR_CODES } from "./errors.ts";
