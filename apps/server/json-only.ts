/** JSON bodies, checked before they are parsed: even a small body can take long to parse and longer to validate. */
import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { describeInexact, inexactNumber, jsonExceeds } from "@parley/core";
import type { Limits } from "./front-end/limits.ts";
import { onePerTurn } from "./one-per-turn.ts";

/** Makes a scope accept only JSON. Its error handler receives InvalidJson, TooLarge and Inexact. */
export function acceptJsonOnly(
  app: FastifyInstance,
  { bodyDepthMax, bodyValuesMax }: Pick<Limits, "bodyDepthMax" | "bodyValuesMax">,
): void {
  const turn = onePerTurn();

  function parse(text: string): unknown {
    const exceeded = jsonExceeds(text, { depthMax: bodyDepthMax, valuesMax: bodyValuesMax });
    if (exceeded === "depthMax") throw new TooLarge(`nests deeper than ${bodyDepthMax} levels (PARLEY_BODY_DEPTH_MAX)`);
    if (exceeded === "valuesMax") throw new TooLarge(`has more than ${bodyValuesMax} values (PARLEY_BODY_VALUES_MAX)`);
    const body = parsed(text);
    const number = inexactNumber(text);
    if (number !== undefined) throw new Inexact(describeInexact(number), body);
    return body;
  }

  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, async ({ method, headers }: FastifyRequest, body: Buffer) => {
    // The body of a DELETE has no meaning (RFC 9110, 9.3.5). The Python client sends a Content-Type without a body.
    if (method === "DELETE") return undefined;
    const encoding = headers["content-encoding"];
    if (encoding !== undefined && encoding.toLowerCase() !== "identity") throw new Encoded(encoding);
    // Decoding would replace characters of another encoding, and an answer would be recorded garbled.
    if (!isUtf8(body)) throw new InvalidJson();
    const text = body.toString();
    if (text.length > LARGE_BODY) await turn();
    return parse(text);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidJson();
  }
}

/** In characters. A smaller body takes at most a few milliseconds to check and parse. */
const LARGE_BODY = 65_536;

/** The body is not JSON, which is always UTF-8. */
export class InvalidJson extends Error {}

/** The body is compressed (RFC 9110, 8.4: 415). Unpacked, a small one could be larger than any limit. */
export class Encoded extends Error {
  constructor(encoding: string) {
    super(`the Content-Encoding ${JSON.stringify(encoding.slice(0, 100))} is not supported: send the body as it is`);
  }
}

/** The body has a number that would be rounded. The message says which, as the end of a sentence. */
export class Inexact extends Error {
  /** With the rounded number. */
  readonly body: unknown;
  constructor(message: string, body: unknown) {
    super(message);
    this.body = body;
  }
}

/** The body nests too deeply or has too many values. The message says which, as the end of a sentence. */
export class TooLarge extends Error {}
