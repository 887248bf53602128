import { ParleyError } from "./errors.ts";

export function invalidCursor(): ParleyError {
  return new ParleyError("INVALID_CURSOR", "cursor is not one that this list gave out");
}
