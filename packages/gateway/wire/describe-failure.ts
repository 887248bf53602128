import { NoAccess } from "./no-access.ts";

const CAUSES_MAX = 5;

const UNTRUSTED = "its certificate is not trusted here: set NODE_EXTRA_CA_CERTS";
const NO_TLS = "it does not speak TLS";
const CLOSED = "it closed the connection";
/** This error of the client has no code. */
const UNKNOWN_REVISION = "Server's protocol version is not supported";
const NOT_MCP = "its response is not one of MCP";

/** What operators can act on, by the code or name of an error of Node.js, of undici or of the MCP client. */
const BY_CODE: Readonly<Record<string, string>> = {
  ENOTFOUND: "its host name is not known",
  EAI_AGAIN: "its host name cannot be looked up now",
  ECONNREFUSED: "it refuses connections",
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  CONNECTION_CLOSED: CLOSED,
  ETIMEDOUT: "it did not answer in time",
  UND_ERR_CONNECT_TIMEOUT: "it did not answer in time",
  REQUEST_TIMEOUT: "it did not answer within its `connectTimeout`",
  ENOENT: "its command, or its `cwd`, does not exist",
  EACCES: "its command may not be executed",
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  CLIENT_HTTP_UNEXPECTED_CONTENT: NOT_MCP,
  INVALID_RESULT: NOT_MCP,
  ZodError: NOT_MCP,
  SyntaxError: NOT_MCP,
  HTTPParserError: NOT_MCP,
  LIST_PAGINATION_EXCEEDED: "one of its lists is too long",
};

const BY_STATUS: Readonly<Record<number, string>> = {
  401: "it does not accept the credentials",
  403: "it refuses access with these credentials",
  404: "it knows no MCP endpoint at this address, or no longer the session",
  405: "it has no MCP endpoint at this address",
  429: "it gets too many requests",
  508: "it leads back to this gateway",
};

/**
 * Describes an error of the client: what it means, with its code, or else its kind and the kinds of its causes. Their messages may contain what the
 * upstream sent, or its address.
 */
export function describeFailure(error: unknown): string {
  const words: string[] = [];
  let at: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && typeof at === "object" && at !== null; depth += 1) {
    if (at instanceof NoAccess) return at.message;
    const { code, name, status, cause } = at as { code?: unknown; name?: unknown; status?: unknown; cause?: unknown };
    if (typeof status === "number") return `${meaningOf(status)} (HTTP ${status})`;
    const known = [code, name].find((word) => typeof word === "string" && Object.hasOwn(BY_CODE, word));
    if (typeof known === "string") return `${BY_CODE[known]} (${known})`;
    if (at instanceof Error && at.message.startsWith(UNKNOWN_REVISION)) return "it speaks no revision that the gateway knows";
    const parts = [name, code].filter((part) => typeof part === "string" || typeof part === "number");
    words.push(parts.join(" "));
    at = cause;
  }
  return words.filter((word) => word !== "").join(", ") || "unknown";
}

function meaningOf(status: number): string {
  if (status >= 300 && status < 400) return "it redirects to another address, which is not followed";
  return BY_STATUS[status] ?? (status >= 500 ? "it has failed, or is not available" : "it refuses the request");
}
