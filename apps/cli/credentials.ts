import { readCredentials } from "./login/store.ts";
import { accessToken } from "./token.ts";

/**
 * The token for a server: from the environment, else from `parley login`. Called with a token that was refused it finds another: one that was written meanwhile,
 * or a renewed one. Undefined when there is none.
 */
export function credentialsFor(url: string): (refused?: string) => Promise<string | undefined> {
  let known: Promise<string | undefined> | undefined;

  async function find(refused: string | undefined): Promise<string | undefined> {
    const given = await accessToken();
    if (given !== undefined) return given;
    const stored = (await readCredentials(url))?.tokens?.access_token;
    if (stored === undefined || refused === undefined || stored !== refused) return stored;
    const { renew } = await import("./login/renew.ts");
    return await renew(url, refused);
  }

  return async (refused) => {
    if (refused === undefined) return await (known ??= find(undefined));
    // Several requests may be refused at once: one of them renews for all.
    const current = await known;
    if (current !== refused && current !== undefined) return current;
    return await (known = find(refused));
  };
}
