/** The person whom a JWT names, unverified: enough to decide whose drafts this tab keeps. Undefined for other tokens. */
export function subjectOf(token: string): string | undefined {
  const [, claims = ""] = token.split(".");
  try {
    const { iss, sub } = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))) as {
      readonly iss?: unknown;
      readonly sub?: unknown;
    };
    return typeof sub === "string" ? JSON.stringify([iss, sub]) : undefined;
  } catch {
    return undefined;
  }
}
