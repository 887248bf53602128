/**
 * The gateway has no access token of its own for an upstream (`clientCredentials`), so no request was sent to it. The message is for operators and
 * callers: it has neither a credential nor what a server said. There is no cause, which might have both.
 */
export class NoAccess extends Error {
  override readonly name = "NoAccess";
}
