/** The gateway has no access token of its own for an upstream (`clientCredentials`), so no request was sent to it. */
export class NoAccess extends Error {
  override readonly name = "NoAccess";
  /** `why` is for operators and callers: it has neither a credential nor what a server said. */
  constructor(why: string, cause?: unknown) {
    super(why, { cause });
  }
}
