import { canonicalJson } from "./canonical-json.ts";

/** The keyword `uniqueItems` for ajv, whose own takes time by the square of how many items there are. */
export const DISTINCT_ITEMS = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (wanted: boolean, items: readonly unknown[]) => !wanted || new Set(items.map(canonicalJson)).size === items.length,
  error: { message: "must not hold the same item twice" },
} as const;
