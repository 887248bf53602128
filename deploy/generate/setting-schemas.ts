/** The settings as JSON Schema for the chart's values. Values are YAML, so numbers are numbers and flags are true or false. */
import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { z } from "zod";

/** Settings that a chart takes from elsewhere: from Secrets, or from the ports that Services and probes use. */
export const NOT_IN_CONFIG = [
  "REDIS_URL",
  "PARLEY_SECRET",
  "PARLEY_CONTENT_KEYS",
  "PARLEY_AUTH_INTROSPECTION_SECRET",
  "PARLEY_LOGIN_SECRET",
  "PARLEY_PORT",
  "PORT",
  "PARLEY_METRICS_PORT",
] as const;

export function settingSchemas(): Record<string, object> {
  const excluded = new Set<string>(NOT_IN_CONFIG);
  return Object.fromEntries(
    Object.entries({ ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape })
      .filter(([name]) => !excluded.has(name))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, setting]) => [name, { description: setting.description, ...typeOf(setting) }]),
  );
}

function typeOf(setting: z.ZodType): object {
  const accepts = (text: string) => setting.safeParse(text).success;
  // Zod cannot express settings that a transform parses as JSON Schema. They are recognized by the strings that they accept.
  if (accepts("30s") && !accepts("soon")) return { allOf: [{ $ref: "#/definitions/duration" }] };
  if (accepts("yes") && accepts("false") && !accepts("perhaps")) return { type: "boolean" };
  const { type, minimum, maximum, enum: values } = z.toJSONSchema(setting, { unrepresentable: "any" });
  if (type === "integer" || type === "number") return { type, minimum, ...(maximum !== Number.MAX_SAFE_INTEGER && { maximum }) };
  return values === undefined ? { type: "string" } : { type: "string", enum: values };
}
