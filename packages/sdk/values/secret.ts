import { Hidden } from "./hidden.ts";

/**
 * What a person entered on a page of Parley's own (`ctx.secret`). It is in no journal, log or result, and is fetched
 * only when a step reads it.
 *
 *   const key = await ctx.secret("api-key", { message: "The API key of your account" });
 *   await ctx.step("connect", () => key.use((text) => service.connect(text)));
 */
export class Secret extends Hidden {
  readonly #read: () => Promise<string>;

  constructor(read: () => Promise<string>) {
    super("[secret]");
    this.#read = read;
  }

  /**
   * Returns the secret. To be called in steps: outside of steps it would be read again in each run. What a tool returns, asks or
   * reports must not hold it, and fails with NOT_SERIALIZABLE otherwise. Throws ParleyError DEPOSIT_UNREADABLE.
   */
  reveal(): Promise<string> {
    return this.#read();
  }

  /** Calls `work` with the secret and returns its result. Throws as `reveal` does. */
  async use<T>(work: (text: string) => T | Promise<T>): Promise<T> {
    return await work(await this.#read());
  }
}
