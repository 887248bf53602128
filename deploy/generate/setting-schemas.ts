/** Settings of the environment as JSON Schema, for values that are YAML: numbers are numbers there, and switches true or false. */
import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import { z } from "zod";

/** Where these come from in a chart: Secrets, and the ports that Services and probes use. */
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
  const left = new Set<string>(NOT_IN_CONFIG);
  return Object.fromEntries(
    Object.entries({ ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape })
      .filter(([name]) => !left.has(name))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, setting]) => [name, { description: setting.description, ...typeOf(setting) }]),
  );
}

function typeOf(setting: z.ZodType): object {
  const takes = (text: string) => setting.safeParse(text).success;
  // What becomes another type as it is read has no schema of its own: it is known by what it takes.
  if (takes("30s") && !takes("soon")) return { allOf: [{ $ref: "#/definitions/duration" }] };
  if (takes("yes") && takes("false") && !takes("perhaps")) return { type: "boolean" };
  const { type, minimum, maximum, enum: values } = z.toJSONSchema(setting, { unrepresentable: "any" });
  if (type === "integer" || type === "number") return { type, minimum, ...(maximum !== Number.MAX_SAFE_INTEGER && { maximum }) };
  return values === undefined ? { type: "string" } : { type: "string", enum: values };
}
