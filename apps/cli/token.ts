import { withFiles } from "@parley/node";

/** As PARLEY_TOKEN or the file that PARLEY_TOKEN_FILE names: on a command line, other users of the machine would see it. */
export function accessToken(): string | undefined {
  return withFiles(["PARLEY_TOKEN"], process.env)["PARLEY_TOKEN"];
}
