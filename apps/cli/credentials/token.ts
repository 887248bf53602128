/**
 * Reads an access token from PARLEY_TOKEN or the file that PARLEY_TOKEN_FILE names. It is never an option: other users of the machine can see command lines.
 * The file is read each time, because its owner may replace the token.
 */
export async function accessToken(): Promise<string | undefined> {
  const { PARLEY_TOKEN, PARLEY_TOKEN_FILE } = process.env;
  if (PARLEY_TOKEN_FILE === undefined) return checked(PARLEY_TOKEN);
  // Imported only when needed: imports take most of a command's start.
  const { withFiles } = await import("@parley/node");
  return checked(withFiles(["PARLEY_TOKEN"], { PARLEY_TOKEN, PARLEY_TOKEN_FILE })["PARLEY_TOKEN"]);
}

/** Checked here because the error of a header that cannot be sent quotes the header. */
function checked(token: string | undefined): string | undefined {
  const text = token?.trim();
  if (!text) return undefined;
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new Error("PARLEY_TOKEN is no access token: it contains a space, a line break or another character that no token has");
  return text;
}
