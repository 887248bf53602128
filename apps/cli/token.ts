/**
 * Reads an access token from PARLEY_TOKEN or the file that PARLEY_TOKEN_FILE names. It is never an option: other users of the machine can see command lines.
 * The file is read each time, because its owner may replace the token.
 */
export async function accessToken(): Promise<string | undefined> {
  const { PARLEY_TOKEN, PARLEY_TOKEN_FILE } = process.env;
  if (PARLEY_TOKEN_FILE === undefined) return PARLEY_TOKEN || undefined;
  // Imported only when needed: imports take most of a command's start.
  const { withFiles } = await import("@parley/node");
  return withFiles(["PARLEY_TOKEN"], { PARLEY_TOKEN, PARLEY_TOKEN_FILE })["PARLEY_TOKEN"];
}
