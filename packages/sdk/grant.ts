import { Hidden } from "./hidden.ts";

/**
 * What a person lets the tool do in their name at an OAuth provider (`ctx.oauth`). Tokens are in no journal, no log and no result: they are fetched,
 * and renewed, when a step asks for one.
 *
 *   const calendar = await ctx.oauth("calendar", { provider: "google", scopes: ["calendar.readonly"], message: "To find a free evening" });
 *   const events = await ctx.step("events", () => calendar.use((token) => fetchEvents(token)));
 */
export class Grant extends Hidden {
  /** Its name in the deployment's settings. */
  readonly provider: string;
  /** What was granted, which may be less than what was asked for. */
  readonly scopes: readonly string[];
  readonly #read: (refused?: string) => Promise<string>;

  constructor(granted: { readonly provider: string; readonly scopes: readonly string[] }, read: (refused?: string) => Promise<string>) {
    super("[grant]");
    this.provider = granted.provider;
    this.scopes = granted.scopes;
    this.#read = read;
  }

  /**
   * An access token that is good for another minute, if the provider says how long it is: for a step. `refused` is one that the service has just refused:
   * then it is renewed regardless of its time. Throws ParleyError GRANT_EXPIRED when the access has ended (ask again, by a new question),
   * PROVIDER_UNAVAILABLE, PROVIDER_INVALID and DEPOSIT_UNREADABLE.
   */
  accessToken({ refused }: { readonly refused?: string } = {}): Promise<string> {
    return this.#read(refused);
  }

  /** `work` with an access token; resolves to what it returns. Throws as `accessToken`. */
  async use<T>(work: (accessToken: string) => T | Promise<T>): Promise<T> {
    return await work(await this.#read());
  }
}
