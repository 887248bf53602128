import type { Violation } from "./task.ts";

/** What a JSON Schema validator (ajv, by its shape) has to say against a value. */
interface SchemaProblem {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
  readonly message?: string | undefined;
}

/** In the words that every caller and every person reads, whoever validated. A missing or unknown field is named by its own path. */
export function schemaViolation({ instancePath, keyword, params, message }: SchemaProblem): Violation {
  const at = (property: unknown) => `${instancePath}/${String(property).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (keyword === "required") return { path: at(params["missingProperty"]), message: "is required" };
  if (keyword === "additionalProperties") return { path: at(params["additionalProperty"]), message: "is not a known field" };
  if (keyword === "enum") return { path: instancePath, message: `must be one of ${JSON.stringify(params["allowedValues"])}` };
  return { path: instancePath, message: message ?? `breaks ${keyword}` };
}
