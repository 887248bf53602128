import { isDefect } from "@parley/protocol";
import type { FrontEnd } from "../../../front-end/front-end.ts";

/**
 * Logs a defect, with its stack, under the id that is returned: all that the caller learns of it. Errors that explain themselves to the caller
 * are not logged.
 */
export function reportDefect({ services, log }: Pick<FrontEnd, "services" | "log">, error: unknown, fields: object = {}): string {
  const defectId = services.ids.uuid();
  if (isDefect(error)) log.error({ ...fields, defectId, err: error }, "request failed");
  return defectId;
}
