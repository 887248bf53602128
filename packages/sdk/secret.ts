import { Hidden } from "./hidden.ts";

/**
 * What a person entered on a page of Parley's own (`ctx.secret`). Its text is in no journal, no log and no result: it is fetched when it is asked for.
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

  /** The text, for a step: outside of steps a handler would read it again in each run. Throws ParleyError DEPOSIT_UNREADABLE. */
  reveal(): Promise<string> {
    return this.#read();
  }

  /** `work` with the text; resolves to what it returns. Throws as `reveal`. */
  async use<T>(work: (text: string) => T | Promise<T>): Promise<T> {
    return await work(await this.#read());
  }
}
