/** Reads a response: whether it holds the server's message, and what a refusal leaves open. */
import { isObject, own } from "@parley/protocol";
import { HEADER_MISMATCH } from "@parley/protocol/stateless";
import { BodyTooLarge, isJson, parsed, readText } from "./events.ts";
import { Unreachable } from "./remote.ts";

/** Throws BodyTooLarge, and Unreachable if the connection breaks. */
export async function bodyOf(response: Response): Promise<string> {
  try {
    return await readText(response);
  } catch (error) {
    if (error instanceof BodyTooLarge) throw error;
    throw new Unreachable(response.url, error);
  }
}

/** Whether the server cannot serve requests at present, or a proxy cannot reach it. After 502 and 504 the server may have received the request. */
export function isAway({ status }: Response): boolean {
  return status >= 502;
}

/** Whether a refusal with HTTP 503 leaves open if the request takes effect. All others say that nothing was started. */
export function mayHaveBegun(refusal: unknown): boolean {
  const error = isObject(refusal) ? own(refusal, "error") : undefined;
  const data = isObject(error) ? own(error, "data") : undefined;
  return isObject(data) && own(data, "code") === "UNAVAILABLE";
}

/** The JSON-RPC message, or batch, in a response. Undefined if there is none: what a proxy answers may be JSON, too, and is not the server's word. */
export async function messageIn(response: Response): Promise<unknown> {
  if (!isJson(response)) {
    await response.body?.cancel();
    return undefined;
  }
  const body = parsed(await bodyOf(response));
  const isMessage = isObject(body) && ["result", "error", "method"].some((member) => own(body, member) !== undefined);
  return Array.isArray(body) || isMessage ? body : undefined;
}

export function isHeaderMismatch(body: unknown): boolean {
  const error = isObject(body) ? own(body, "error") : undefined;
  return isObject(error) && own(error, "code") === HEADER_MISMATCH;
}
