/** The served protocol versions, and the reply to a request of another version, or of one that needs a session. */
import { errorMessage, type Reply, type RequestId } from "./json-rpc.ts";

/** Newest first. */
const STATELESS_VERSIONS = ["2026-07-28"] as const;
/** Newest first. The first is offered to clients whose version is not served. */
export const SESSION_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"] as const;

/** A revision's `version` is one of these; each family registers its own. */
export type StatelessVersion = (typeof STATELESS_VERSIONS)[number];
export type SessionVersion = (typeof SESSION_VERSIONS)[number];

/** What this server speaks, newest first: the stateless revisions, then those with sessions. */
export const SUPPORTED_VERSIONS: readonly string[] = [...STATELESS_VERSIONS, ...SESSION_VERSIONS];

/** Defined in 2026-07-28. Sessions use it too, for an unsupported version in the header. */
export const UNSUPPORTED_VERSION = -32022;

export function unsupportedVersion(id: RequestId | undefined, requested: string): Reply {
  const supported = SUPPORTED_VERSIONS;
  const message = supported.includes(requested)
    ? `${requested} is spoken in sessions, which initialize opens; without one this server speaks ${STATELESS_VERSIONS.join(", ")}`
    : `unsupported protocol version; this server speaks ${supported.join(", ")}`;
  return {
    httpStatus: 400,
    message: errorMessage(id, { code: UNSUPPORTED_VERSION, message, data: { supported, requested: requested.slice(0, 100) } }),
  };
}
