/** What the client and the operator read when the server does not answer as MCP requires. */
import { type Exchange, namesOf } from "./exchange.ts";
import { isAway } from "./responses.ts";

/** The error for requests whose outcome is unknown. */
export function connectionLost(exchange: Exchange, cause?: unknown): Error {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  const what = `the connection to the server was lost before ${namesOf(exchange)} was answered${why}`;
  // A server may close the connection instead of reading a large message to its end.
  if (exchange.text.length > LARGE_CHARS)
    return new Error(
      `${what}. The message has ${exchange.text.length} characters, which may be more than the server accepts (PARLEY_BODY_BYTES_MAX)`,
    );
  return new Error(`${what}. It may have been carried out: check before you retry`);
}

/** The default of PARLEY_BODY_BYTES_MAX. */
const LARGE_CHARS = 1_048_576;

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function describeStatus(response: Response): string {
  const { status, url } = response;
  if (status === 401) return `${url} requires a login: run \`parley login --url ${url}\`, or set PARLEY_TOKEN to an access token`;
  if (status === 403) return `${url} denies access to this caller (HTTP 403)`;
  const what = `${url} answered HTTP ${status} without a JSON-RPC message`;
  return isAway(response) ? `${what}: a proxy cannot reach the server. Try again later` : what;
}
