/** The server that a bridge speaks to, over HTTP: where it is, with which credentials, and what it means when it does not answer. */

/** Where the server is and how to be let in. */
export interface Remote {
  /** The URL of the MCP endpoint. Asked for before each request: a server on this machine may come back elsewhere. */
  url(): Promise<string>;
  /** An access token. `refused` is the one that the server does not take any more: another, or undefined. */
  token(refused?: string): Promise<string | undefined>;
  /** Nothing answers at the URL. */
  lost(): void;
}

/** No answer came. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
  readonly url: string;
  /** The request cannot have reached the server. */
  readonly notSent: boolean;
  constructor(url: string, cause: unknown) {
    super(`${url} does not answer (${reasonOf(cause)})`, { cause });
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

export interface Outgoing {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Sends a request, and once more with another token when the first is refused. Throws Unreachable. */
export async function ask(remote: Remote, outgoing: Outgoing): Promise<Response> {
  const url = await remote.url();
  const token = await remote.token();
  const response = await send(remote, url, token, outgoing);
  if (response.status !== 401) return response;
  const other = await remote.token(token ?? "");
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
      // A server that is somewhere else now would be sent the token.
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

/** fetch fails with a message that says nothing; its cause says it. */
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
