/** Builds a dialect from what is specific to a revision; everything else is the same in all revisions with sessions. */
import type { Catalogue } from "@parley/core";
import { commonEncoder, type Words } from "../encoder.ts";
import { notificationMessage } from "../json-rpc.ts";
import { instructionsOf } from "../list-items.ts";
import type { ServerFacts } from "../server-facts.ts";
import { sessionDecoder } from "./decode.ts";
import type { SessionDialect, SessionEncoder, TaskEncoder } from "./dialect.ts";
import { SHOWN } from "./errors.ts";
import type { Methods } from "./methods.ts";

export interface Revision
  extends
    Pick<SessionDialect, "version" | "batches" | "closesEarly" | "canAsk" | "readReply">,
    Pick<SessionEncoder, "ask" | "pageDone">,
    Pick<Words, "listItems" | "toolResult" | "promptResult" | "related" | "tellsModel"> {
  readonly methods: Methods;
  capabilities(catalogue: Catalogue, facts: ServerFacts): object;
  serverInfo(facts: ServerFacts): object;
  /** Set if the revision has tasks. */
  tasks?(facts: ServerFacts): TaskEncoder;
}

const ASK_OVER = "The question is no longer open: it was answered elsewhere, or no answer is needed any more.";

export function buildDialect(revision: Revision): SessionDialect {
  const { version, batches, closesEarly, canAsk, readReply, methods } = revision;
  return {
    version,
    batches,
    closesEarly,
    decode: sessionDecoder(version, methods),
    canAsk,
    readReply,
    encoder: (facts) => encoder(revision, facts),
  };
}

function encoder(revision: Revision, facts: ServerFacts): SessionEncoder {
  return {
    // Answers have no envelope, and errors have HTTP 200 like any answer.
    ...commonEncoder(facts, { ...revision, answer: (about) => about, shown: SHOWN, ownError: (code) => ({ code, httpStatus: 200 }) }),
    initialize: (catalogue) => ({
      protocolVersion: revision.version,
      capabilities: revision.capabilities(catalogue, facts),
      serverInfo: revision.serverInfo(facts),
      ...instructionsOf(facts, catalogue),
    }),
    empty: () => ({}),
    ask: revision.ask,
    // S25 basic/utilities/cancellation; the same since S0326.
    askOver: (requestId, taskId) =>
      notificationMessage("notifications/cancelled", {
        requestId,
        reason: ASK_OVER,
        ...(taskId !== undefined && revision.related?.(taskId)),
      }),
    ...(revision.pageDone && { pageDone: revision.pageDone }),
    ...(revision.tasks && { tasks: revision.tasks(facts) }),
  };
}
