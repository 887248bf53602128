/** Sends HTTP requests to the server: its URL, its credentials, and the meaning of a missing response. */

export interface Remote {
  /** The URL of the MCP endpoint. Read before each request, since a server on this machine may restart on another port. */
  url(): Promise<string>;
  /** An access token. If the server refused one, it is passed as `refused`; the result is another token, or undefined. */
  token(refused?: string): Promise<string | undefined>;
  /** Called if no server responds at the URL. */
  lost(): void;
}

/** The server did not respond. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  readonly url: string;
  /** Whether it is certain that the request did not reach the server. */
  readonly notSent: boolean;
  constructor(url: string, cause: unknown) {
    super(`${url} does not respond (${reasonOf(cause)})`, { cause });
    this.url = url;
    this.notSent = NOT_SENT.has(codeOf(cause) ?? "");
  }
}

const NOT_SENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** There is no address or no token to send a request with. The message says why. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

async function known<T>(wanted: Promise<T>): Promise<T> {
  try {
    return await wanted;
  } catch (cause) {
    throw new NotSent(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

export interface Outgoing {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Sends a request, and repeats it once with another token if the first is refused. Throws Unreachable or NotSent. */
export async function ask(remote: Remote, outgoing: Outgoing): Promise<Response> {
  const url = await known(remote.url());
  const token = await known(remote.token());
  const response = await send(remote, url, token, outgoing);
  if (response.status !== 401) return response;
  const other = await known(remote.token(token ?? ""));
  if (other === undefined || other === token) return response;
  await response.body?.cancel();
  return await send(remote, url, other, outgoing);
}

async function send(
  remote: Remote,
  url: string,
  token: string | undefined,
  { method, headers, body, signal }: Outgoing,
): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      // A redirect would send the token to another server.
      redirect: "error",
      signal,
      ...(body !== undefined && { body }),
    });
  } catch (error) {
    if (signal.aborted) throw error;
    remote.lost();
    throw new Unreachable(url, error);
  }
}

/** The message of a failed fetch is always the same; the reason is in its cause. */
function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code !== undefined) return code;
  const { cause } = error as { cause?: unknown };
  if (cause instanceof Error) return cause.message;
  return error instanceof Error ? error.message : String(error);
}

function codeOf(error: unknown): string | undefined {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === "string" ? cause.code : undefined;
}

const ACCEPT = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** Sends a message. Throws Unreachable. */
export function post(remote: Remote, body: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
  return ask(remote, { method: "POST", headers: { ...ACCEPT, ...headers }, body, signal });
}

/** Opens a stream. Undefined if the server cannot be reached. */
export async function get(remote: Remote, headers: Record<string, string>, signal: AbortSignal): Promise<Response | undefined> {
  try {
    return await ask(remote, { method: "GET", headers: { ...headers, accept: "text/event-stream" }, signal });
  } catch (error) {
    if (signal.aborted || !(error instanceof Unreachable)) throw error;
    return undefined;
  }
}
