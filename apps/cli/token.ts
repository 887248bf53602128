/**
 * An access token as PARLEY_TOKEN or the file that PARLEY_TOKEN_FILE names: on a command line, other users of the machine would see it. The file is read each
 * time, since its owner may have written another meanwhile.
 */
export async function accessToken(): Promise<string | undefined> {
  const { PARLEY_TOKEN, PARLEY_TOKEN_FILE } = process.env;
  if (PARLEY_TOKEN_FILE === undefined) return PARLEY_TOKEN || undefined;
  // Loaded when it is needed: most of a command's start is what it imports.
  const { withFiles } = await import("@parley/node");
  return withFiles(["PARLEY_TOKEN"], { PARLEY_TOKEN, PARLEY_TOKEN_FILE })["PARLEY_TOKEN"];
}
