import { inspect } from "node:util";

/** Says `text` of itself in strings, in JSON and on the console: nothing that it holds gets into a log, a result or a journal by accident. */
export class Hidden {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  toJSON(): string {
    return this.#text;
  }

  [inspect.custom](): string {
    return this.#text;
  }
}
