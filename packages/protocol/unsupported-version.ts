/** The reply to a request of a protocol version that is not spoken here, or not in this way. */
import { errorMessage, type Reply, type RequestId } from "./json-rpc.ts";
import { UNSUPPORTED_VERSION, VERSION } from "./stateless/rev-2026-07-28/names.ts";

/** What this server speaks, newest first: the stateless revision, then those with sessions. */
export const SUPPORTED_VERSIONS: readonly string[] = [VERSION, "2025-11-25", "2025-06-18", "2025-03-26"];

export function unsupportedVersion(id: RequestId | undefined, requested: string): Reply {
  const supported = SUPPORTED_VERSIONS;
  const message = supported.includes(requested)
    ? `${requested} is spoken in sessions, which initialize opens; without one this server speaks ${VERSION}`
    : `unsupported protocol version; this server speaks ${supported.join(", ")}`;
  return {
    httpStatus: 400,
    message: errorMessage(id, { code: UNSUPPORTED_VERSION, message, data: { supported, requested: requested.slice(0, 100) } }),
  };
}
