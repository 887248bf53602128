/** The port to a validator of JSON Schema. */
import type { JsonObject } from "../values/json.ts";
import type { Violation } from "../values/schema-violation.ts";

/** Checks a value against a JSON Schema (2020-12). Returns an empty list if the value is valid. */
export type ValidateSchema = (schema: JsonObject, value: unknown) => readonly Violation[];
