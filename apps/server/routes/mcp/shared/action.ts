import type { Intent } from "@parley/protocol";

/** What a client asks the server to do: the intent of a request, an answer in a response, a cancellation by notification, or a stream. */
export type Action = Intent | { readonly type: "reply" | "cancelled" | "standalone" | "resumeCall" | "resumeResult" };
