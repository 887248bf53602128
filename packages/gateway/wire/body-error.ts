/**
 * JSON-RPC errors that an upstream sends with the HTTP status of an error, as 2026-07-28 requires for an unknown method (404). The MCP client reports
 * most of them as errors of HTTP.
 */
import { ProtocolError, SdkHttpError } from "@modelcontextprotocol/client";
import { z } from "zod";

/** The client numbers its requests. Where a request was not read, such as one of an unknown session, the id is another or absent. */
const response = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.number(),
  error: z.object({ code: z.number().int(), message: z.string(), data: z.unknown().optional() }),
});

/** Refused before MCP: for its credentials, or for its frequency. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);
const NOT_FOUND = 404;
const UNKNOWN_METHOD = -32601;

/** The upstream's own error in place of that of HTTP, if it sent one. Returns any other error unchanged. */
export function withBodyError(thrown: unknown): unknown {
  if (!(thrown instanceof SdkHttpError) || thrown.status === undefined || REFUSALS.has(thrown.status)) return thrown;
  const { data } = response.safeParse(parsed((thrown.data as { readonly text?: unknown }).text));
  // With this status, any other code is about the session.
  if (!data || (thrown.status === NOT_FOUND && data.error.code !== UNKNOWN_METHOD)) return thrown;
  return ProtocolError.fromError(data.error.code, data.error.message, data.error.data);
}

function parsed(text: unknown): unknown {
  try {
    return typeof text === "string" ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}
