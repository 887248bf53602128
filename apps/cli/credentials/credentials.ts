import { readCredentials } from "./store.ts";
import { accessToken } from "./token.ts";

/**
 * Finds the token for a server: the one in the environment, or else the one from `parley login`. Given a token that the server refused, it looks for
 * another: one that was written in the meantime, or a renewed one. Returns undefined if there is none.
 */
export function credentialsFor(url: string): (refused?: string) => Promise<string | undefined> {
  let known: Promise<string | undefined> | undefined;

  async function find(refused: string | undefined): Promise<string | undefined> {
    const given = await accessToken();
    if (given !== undefined) return given;
    const stored = (await readCredentials(url))?.tokens?.access_token;
    if (stored === undefined || refused === undefined || stored !== refused) return stored;
    const { renew } = await import("./renew.ts");
    return await renew(url, refused);
  }

  return async (refused) => {
    if (refused === undefined) return await (known ??= find(undefined));
    // Several requests may be refused at once. Only the first renews the token; the others use its result.
    const before = known;
    const current = await before;
    if (current !== refused && current !== undefined) return current;
    if (known === before) known = find(refused);
    return await known;
  };
}
