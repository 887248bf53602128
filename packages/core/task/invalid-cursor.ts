/** The error for a cursor that no list of this deployment returned. */
import { ParleyError } from "../errors.ts";

export function invalidCursor(): ParleyError {
  return new ParleyError("INVALID_CURSOR", "cursor was not issued by this list");
}
