import { inspect } from "node:util";

/**
 * Represents itself as `text` in strings, in JSON and on the console, so that its value does not end up in a log, a
 * result or a journal by accident.
 */
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
