/** From what a revision says in its own way to a whole dialect: everything else is the same in all that have sessions. */
import type { Catalogue, JsonObject } from "@parley/core";
import type { ServerFacts } from "../server-facts.ts";
import { completionOf, lists, type Entries } from "../entries.ts";
import { feedNotification } from "../feed.ts";
import { notificationMessage } from "../json-rpc.ts";
import { sessionDecoder } from "./decode.ts";
import type { SessionDialect, SessionEncoder } from "./dialect.ts";
import type { Methods } from "./methods.ts";

/** What is said about tasks. */
export type TaskEncoder = Pick<
  SessionEncoder,
  "createTaskResult" | "task" | "taskList" | "cancelledTask" | "inputSent" | "taskResult" | "taskStatus"
>;

export interface Revision
  extends Pick<SessionDialect, "version" | "batches" | "closesEarly" | "canAsk" | "readReply">, Pick<SessionEncoder, "ask" | "failure"> {
  readonly methods: Methods;
  readonly entries: Entries;
  capabilities(catalogue: Catalogue): object;
  serverInfo(facts: ServerFacts): object;
  callResult(result: JsonObject): JsonObject;
  promptResult(result: JsonObject): JsonObject;
  /** What joins the params of a notification about a task that the client knows, where the revision has tasks. */
  related?(taskId: string): object;
  tasks(facts: ServerFacts): TaskEncoder;
}

export function sessionDialect(revision: Revision): SessionDialect {
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
    initialize: (catalogue) => ({
      protocolVersion: revision.version,
      capabilities: revision.capabilities(catalogue),
      serverInfo: revision.serverInfo(facts),
      ...(facts.instructions === undefined ? {} : { instructions: facts.instructions }),
    }),
    empty: () => ({}),
    ...lists(revision.entries, facts.pageSize),
    resourceContents: (contents) => ({ contents }),
    completion: (values) => ({ completion: completionOf(values) }),
    callResult: revision.callResult,
    promptResult: revision.promptResult,
    ...revision.tasks(facts),
    ask: revision.ask,
    feedNotification: (item, wants) => feedNotification(item, wants, wants.taskId === undefined ? {} : revision.related?.(wants.taskId)),
    listChanged: (kind) => notificationMessage(`notifications/${kind}/list_changed`, {}),
    resourceUpdated: (uri) => notificationMessage("notifications/resources/updated", { uri }),
    failure: revision.failure,
  };
}
