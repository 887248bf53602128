/** What the failure to open a session says about the server. */
import { SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";

const CUT: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** Whether the connection was closed before a response, for example as an idle one by its server. */
export function isCut(error: unknown): boolean {
  return error instanceof Error && (CUT.has((error as NodeJS.ErrnoException).code) || isCut(error.cause));
}

/** The session's own stream was not open in time, although it was in other sessions. */
export class StreamLate extends Error {
  override readonly name = "StreamLate";
}

export function isTimeout(error: unknown): boolean {
  return error instanceof StreamLate || (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout);
}

/** The specification's test for servers before 2025-03-26: they refuse a POST, and the url is that of an event stream. */
export function isPostRefused(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0);
}
