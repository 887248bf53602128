import { boundedFetch } from "./bounded-fetch.ts";
import { authorization, authorize } from "./provider.ts";
import { readCredentials, withLock } from "./store.ts";

/** Returns an access token other than the refused one; undefined if a login is required to get one. */
export async function renew(url: string, refused: string): Promise<string | undefined> {
  return await withLock(async () => {
    const stored = (await readCredentials(url))?.tokens;
    // Another process has already renewed it.
    if (stored && stored.access_token !== refused) return stored.access_token;
    if (stored?.refresh_token === undefined) return undefined;
    try {
      // There is no person who could log in at a page.
      const client = authorization({
        url,
        redirectUrl: "http://127.0.0.1/none",
        visit: () => Promise.reject(new Error("a login is required")),
      });
      await authorize(client, { serverUrl: url, fetchFn: boundedFetch });
      return (await readCredentials(url))?.tokens?.access_token;
    } catch {
      return undefined;
    }
  });
}
