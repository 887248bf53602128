import type { System } from "../system.ts";
import { Http, type Reading, type Request, type Response } from "./http.ts";

/** The proxy streams: a front end that refuses a large body before it has read all of it looks broken to it, and is answered for by 502. */
const THROUGH_PROXY_BYTES_MAX = 65_536;

/** Through the proxy, which takes the front ends in turn; with large bodies to the front ends themselves, in turn too. */
export class Entrance {
  readonly #proxy: Http;
  readonly #frontEnds: readonly Http[];
  #turn = 0;

  constructor({ url, frontEnds }: System) {
    this.#proxy = new Http(url);
    this.#frontEnds = frontEnds.map((frontEnd) => new Http(frontEnd.url));
  }

  async send(request: Request, reading: Reading): Promise<Response> {
    const isLarge = request.body !== undefined && request.body.length > THROUGH_PROXY_BYTES_MAX;
    return await (isLarge ? this.inTurn() : this.#proxy).send(request, reading);
  }

  /** One front end after the other. */
  inTurn(): Http {
    this.#turn += 1;
    return this.#frontEnds[this.#turn % this.#frontEnds.length] ?? this.#proxy;
  }

  close(): void {
    for (const http of [this.#proxy, ...this.#frontEnds]) http.close();
  }
}
