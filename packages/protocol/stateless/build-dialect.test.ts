/** An invented revision, with exactly what another folder beside rev-2026-07-28 would have. */
import { ParleyError } from "@parley/core";
import { describe, expect, test } from "vitest";
import { LIST_ITEMS, without } from "../list-items.ts";
import { cursorOf } from "../params.ts";
import type { StatelessVersion } from "../versions.ts";
import { buildDialect } from "./build-dialect.ts";
import type { Method } from "./decode.ts";
import type { StatelessIntent } from "./intents.ts";
import { ERROR_CODES } from "./rev-2026-07-28/errors.ts";
import { METHODS } from "./rev-2026-07-28/methods.ts";

const VERSION = "2027-07-28";
const methods = new Map<string, Method>([
  ...METHODS,
  ["things/list", { read: (params) => ({ type: "listTools", ...cursorOf(params) }) as StatelessIntent }],
]);
methods.delete("completion/complete");

const dialect = buildDialect({
  version: VERSION as StatelessVersion,
  methods,
  listItems: { ...LIST_ITEMS, tool: (tool) => without(LIST_ITEMS.tool(tool), "title") },
  shown: { ...ERROR_CODES, TASK_NOT_FOUND: { code: -32_004, httpStatus: 404 } },
  ownError: (code) => ({ code, httpStatus: 418 }),
  tellsModel: () => false,
});

function decode(method: string, version = VERSION, params: object = {}) {
  const _meta = { "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {} };
  return dialect.decode({
    headers: { "mcp-protocol-version": version, "mcp-method": method },
    body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    tool: () => undefined,
  });
}

describe("a revision is its methods, its items, its codes", () => {
  test("it reads requests of its own version only, by its own table", () => {
    expect(decode("things/list", VERSION, { cursor: "c" })).toMatchObject({ intent: { type: "listTools", cursor: "c" }, wants: {} });
    expect(decode("completion/complete")).toMatchObject({
      type: "rejected",
      message: { error: { code: -32601, message: '"completion/complete" is not a method of 2027-07-28' } },
    });
    expect(decode("things/list", "2026-07-28")).toMatchObject({ type: "rejected", message: { error: { code: -32022 } } });
  });

  test("it says what all say, in its own words", () => {
    const facts = { name: "parley", version: "1", pollInterval: () => 1, listTtlMs: 5, pageSize: 10 };
    const say = dialect.encoder(facts);
    const tool = { name: "greet", title: "Greet", inputSchema: {} } as unknown as Parameters<typeof LIST_ITEMS.tool>[0];
    const catalogue = { tools: new Map([["greet", tool]]), prompts: new Map(), resources: new Map(), templates: [] };
    expect(say.toolList(catalogue)).toMatchObject({ resultType: "complete", tools: [{ name: "greet", inputSchema: {} }], ttlMs: 5 });
    expect(say.toolList(catalogue)).not.toHaveProperty("tools.0.title");
    expect(say.failure({ id: 1, error: new ParleyError("TASK_NOT_FOUND", "no task"), defectId: "d" })).toMatchObject({
      httpStatus: 404,
      message: { error: { code: -32_004 } },
    });
  });
});
