import { describeViolations, ParleyError } from "@parley/core";

export const MESSAGE_WANTED = 'must be the text that the person reads, after the name: { message: "How many?" }';

/** INVALID_ASK with one violation, at a path of the ask's options. */
export function wrongAsk(name: unknown, path: string, message: string): ParleyError {
  const violations = [{ path, message }];
  const asked = typeof name === "string" ? `the ask "${name}"` : "an ask";
  const says = path === "" ? `${asked} ${message}` : `${asked} is invalid: ${describeViolations(violations)}`;
  return new ParleyError("INVALID_ASK", says, { violations });
}
