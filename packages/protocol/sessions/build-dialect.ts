/** From what a revision says in its own way to a whole dialect: everything else is the same in all that have sessions. */
import type { Catalogue } from "@parley/core";
import { commonEncoder, type Words } from "../encoder.ts";
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
  /** Where the revision has tasks. */
  tasks?(facts: ServerFacts): TaskEncoder;
}

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
    // Answers are what they are about, and errors travel with HTTP 200 as any answer does.
    ...commonEncoder(facts, { ...revision, answer: (about) => about, shown: SHOWN, statusOf: () => 200 }),
    initialize: (catalogue) => ({
      protocolVersion: revision.version,
      capabilities: revision.capabilities(catalogue, facts),
      serverInfo: revision.serverInfo(facts),
      ...(facts.instructions === undefined ? {} : { instructions: facts.instructions }),
    }),
    empty: () => ({}),
    ask: revision.ask,
    ...(revision.pageDone && { pageDone: revision.pageDone }),
    ...(revision.tasks && { tasks: revision.tasks(facts) }),
  };
}
