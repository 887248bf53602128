import { Hidden } from "./hidden.ts";

/**
 * Permission of a person for the tool to act on their behalf at an OAuth provider (`ctx.oauth`). Tokens never appear in the journal, logs or
 * results: they are fetched and renewed when a step asks for one.
 *
 *   const calendar = await ctx.oauth("calendar", { provider: "google", scopes: ["calendar.readonly"], message: "To find a free evening" });
 *   const events = await ctx.step("events", () => calendar.use((token) => fetchEvents(token)));
 */
export class Grant extends Hidden {
  /** The provider's name in the deployment's settings. */
  readonly provider: string;
  /** The granted scopes, which may be fewer than those requested. */
  readonly scopes: readonly string[];
  readonly #read: (refused?: string) => Promise<string>;

  constructor(granted: { readonly provider: string; readonly scopes: readonly string[] }, read: (refused?: string) => Promise<string>) {
    super("[grant]");
    this.provider = granted.provider;
    this.scopes = granted.scopes;
    this.#read = read;
  }

  /**
   * Returns an access token that is valid for at least another minute, if the provider states its lifetime. To be called in steps. Pass a token that the
   * service has just refused as `refused` to renew it regardless of its lifetime. Throws ParleyError GRANT_EXPIRED when the permission has ended (ask
   * again with a new question), PROVIDER_UNAVAILABLE, PROVIDER_INVALID and DEPOSIT_UNREADABLE.
   */
  accessToken({ refused }: { readonly refused?: string } = {}): Promise<string> {
    return this.#read(refused);
  }

  /** Calls `work` with an access token and returns its result. Throws like `accessToken`. */
  async use<T>(work: (accessToken: string) => T | Promise<T>): Promise<T> {
    return await work(await this.#read());
  }
}
