import { isDefect } from "@parley/protocol";
import type { FrontEnd } from "../../../front-end/front-end.ts";

/**
 * Logs a defect with its stack under the returned id, which is all that the caller sees of it. Errors that are meant for the caller are not
 * logged.
 */
export function reportDefect({ services, log }: Pick<FrontEnd, "services" | "log">, error: unknown, fields: object = {}): string {
  const defectId = services.ids.uuid();
  if (isDefect(error)) log.error({ ...fields, defectId, err: error }, "request failed");
  return defectId;
}
