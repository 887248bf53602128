import type { Intent } from "@parley/protocol";

/** What a client can want beside requests: to answer by a response, to cancel by a notification, to open or resume a stream. */
export type Wanted = Intent | { readonly type: "reply" | "cancelled" | "standalone" | "resumeCall" | "resumeResult" };
