/** Bodies of JSON, judged before they are parsed: a small text can hold what takes long to parse and longer to look at. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { jsonExceeds } from "@parley/core";
import type { Limits } from "./front-end/limits.ts";
import { onePerTurn } from "./one-per-turn.ts";

/** For a scope that takes JSON and nothing else. Throws InvalidJson and TooLarge, to its error handler. */
export function acceptJsonOnly(
  app: FastifyInstance,
  { bodyDepthMax, bodyValuesMax }: Pick<Limits, "bodyDepthMax" | "bodyValuesMax">,
): void {
  const turn = onePerTurn();

  function parse(text: string): unknown {
    const exceeded = jsonExceeds(text, { depthMax: bodyDepthMax, valuesMax: bodyValuesMax });
    if (exceeded === "depthMax") throw new TooLarge(`nests deeper than ${bodyDepthMax} levels (PARLEY_BODY_DEPTH_MAX)`);
    if (exceeded === "valuesMax") throw new TooLarge(`holds more than ${bodyValuesMax} values (PARLEY_BODY_VALUES_MAX)`);
    try {
      return JSON.parse(text);
    } catch {
      throw new InvalidJson();
    }
  }

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, async ({ method }: FastifyRequest, text: string) => {
    // What DELETE carries has no meaning (RFC 9110, 9.3.5). Python's client names a type for a body that it does not send.
    if (method === "DELETE") return undefined;
    if (text.length > LARGE_BODY) await turn();
    return parse(text);
  });
}

/** In characters. A smaller body takes at most a few milliseconds to parse and judge. */
const LARGE_BODY = 65_536;

/** The body is no JSON. */
export class InvalidJson extends Error {}

/** The body nests too deep or holds too many values; the message says what of it. */
export class TooLarge extends Error {}
