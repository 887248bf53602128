import { canonicalJson } from "./canonical-json.ts";

/** The keyword `uniqueItems` for ajv in linear time. ajv's own takes quadratic time. */
export const DISTINCT_ITEMS = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (wanted: boolean, items: readonly unknown[]) => !wanted || new Set(items.map(canonicalJson)).size === items.length,
  error: { message: "must not hold the same item twice" },
} as const;
