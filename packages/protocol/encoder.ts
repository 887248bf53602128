/** The part of the encoder that all revisions share: lists, contents, completions, results, feeds, failures. */
import type { Catalogue, JsonObject } from "@parley/core";
import type { Encoder } from "./dialect.ts";
import { eventTypes } from "./events.ts";
import { completionOf, lists, type ListItems } from "./list-items.ts";
import { failures, type FailureWords } from "./failures.ts";
import { feedNotification } from "./feed.ts";
import { notificationMessage, type RequestId } from "./json-rpc.ts";
import type { ServerFacts } from "./server-facts.ts";
import { waitingReport } from "./waiting-message.ts";

/** How long a client may cache an answer, and in which scope. Revisions without caching hints leave it out. */
export interface Keep {
  readonly ttlMs: number;
  readonly scope: "public" | "private";
}

/** What a revision encodes in its own way. */
export interface Words extends FailureWords {
  readonly listItems: ListItems;
  /** The whole `result`, built around its content. */
  answer(about: object, keep?: Keep): object;
  /** A tool's stored result, reduced to what this revision allows. */
  toolResult(result: JsonObject): JsonObject;
  promptResult(result: JsonObject): JsonObject;
  /** Additional params of a notification about a task that the client knows. */
  related?(taskId: string): object;
  /** Additional params of a notification in a stream of subscriptions/listen. */
  subscribed?(subscriptionId: RequestId): object;
}

/** Caching of lists: an announcement follows each change, and all callers see the same list unless the catalogue is private. */
export function keepList({ listTtlMs }: ServerFacts, { isPrivate = false }: Catalogue): Keep {
  return { ttlMs: listTtlMs, scope: isPrivate ? "private" : "public" };
}

/** Resources are not cached: they may change at any moment and may differ by caller. */
const KEEP_NOTHING: Keep = { ttlMs: 0, scope: "private" };

export function commonEncoder(facts: ServerFacts, words: Words): Encoder {
  const { answer } = words;
  const pages = lists(words.listItems, facts.pageSize);
  const keep = (catalogue: Catalogue) => keepList(facts, catalogue);
  const callResult = (result: JsonObject) => answer(words.toolResult(result));
  return {
    answer: (about) => answer(about),
    eventList: (catalogue, cursor) => answer(eventTypes(catalogue, { delivery: facts.events ?? [], size: facts.pageSize, cursor })),
    toolList: (catalogue, cursor) => answer(pages.toolList(catalogue, cursor), keep(catalogue)),
    promptList: (catalogue, cursor) => answer(pages.promptList(catalogue, cursor), keep(catalogue)),
    resourceList: (catalogue, cursor) => answer(pages.resourceList(catalogue, cursor), keep(catalogue)),
    templateList: (catalogue, cursor) => answer(pages.templateList(catalogue, cursor), keep(catalogue)),
    resourceContents: (contents) => answer({ contents }, KEEP_NOTHING),
    completion: (values) => answer({ completion: completionOf(values) }),
    callResult,
    promptResult: (result) => answer(words.promptResult(result)),
    feedNotification: (item, wants, taskId) => feedNotification(item, wants, taskId === undefined ? {} : words.related?.(taskId)),
    waitingNotification: (task, progress, { capabilities, wants }) =>
      feedNotification(progress, wants, waitingReport(task, { capabilities, facts })),
    changed(announcement, subscriptionId) {
      const more = subscriptionId === undefined ? {} : words.subscribed?.(subscriptionId);
      if (announcement.type !== "resource") return notificationMessage(`notifications/${announcement.type}/list_changed`, { ...more });
      return notificationMessage("notifications/resources/updated", { ...more, uri: announcement.uri });
    },
    failure: failures(words, callResult),
  };
}
