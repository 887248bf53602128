/** The encoder that all revisions have in common: lists, contents, completions, results, feeds, failures. */
import type { Catalogue, JsonObject } from "@parley/core";
import type { Encoder } from "./dialect.ts";
import { completionOf, lists, type ListItems } from "./list-items.ts";
import { failures, type FailureWords } from "./failures.ts";
import { feedNotification } from "./feed.ts";
import { notificationMessage, type RequestId } from "./json-rpc.ts";
import type { ServerFacts } from "./server-facts.ts";

/** How long an answer may be kept, and by whom: revisions that have no words for it leave it out. */
export interface Keep {
  readonly ttlMs: number;
  readonly scope: "public" | "private";
}

/** What a revision says in its own way. */
export interface Words extends FailureWords {
  readonly listItems: ListItems;
  /** The whole `result`, from what it is about. */
  answer(about: object, keep?: Keep): object;
  /** A stored result of a tool as this revision allows it. */
  toolResult(result: JsonObject): JsonObject;
  promptResult(result: JsonObject): JsonObject;
  /** Joins the params of a notification about a task that the client knows. */
  related?(taskId: string): object;
  /** Joins the params of a notification in a stream of subscriptions/listen. */
  subscribed?(subscriptionId: RequestId): object;
}

/** What is listed changes with an announcement, and is the same for every caller unless the catalogue says otherwise. */
export function keepList({ listTtlMs }: ServerFacts, { isPrivate = false }: Catalogue): Keep {
  return { ttlMs: listTtlMs, scope: isPrivate ? "private" : "public" };
}

/** Read anew each time: a resource may change at any moment and may differ by caller. */
const KEEP_NOTHING: Keep = { ttlMs: 0, scope: "private" };

export function commonEncoder(facts: ServerFacts, words: Words): Encoder {
  const { answer } = words;
  const pages = lists(words.listItems, facts.pageSize);
  const keep = (catalogue: Catalogue) => keepList(facts, catalogue);
  const callResult = (result: JsonObject) => answer(words.toolResult(result));
  return {
    toolList: (catalogue, cursor) => answer(pages.toolList(catalogue, cursor), keep(catalogue)),
    promptList: (catalogue, cursor) => answer(pages.promptList(catalogue, cursor), keep(catalogue)),
    resourceList: (catalogue, cursor) => answer(pages.resourceList(catalogue, cursor), keep(catalogue)),
    templateList: (catalogue, cursor) => answer(pages.templateList(catalogue, cursor), keep(catalogue)),
    resourceContents: (contents) => answer({ contents }, KEEP_NOTHING),
    completion: (values) => answer({ completion: completionOf(values) }),
    callResult,
    promptResult: (result) => answer(words.promptResult(result)),
    feedNotification: (item, wants, taskId) => feedNotification(item, wants, taskId === undefined ? {} : words.related?.(taskId)),
    changed(announcement, subscriptionId) {
      const more = subscriptionId === undefined ? {} : words.subscribed?.(subscriptionId);
      if (announcement.type !== "resource") return notificationMessage(`notifications/${announcement.type}/list_changed`, { ...more });
      return notificationMessage("notifications/resources/updated", { ...more, uri: announcement.uri });
    },
    failure: failures(words, callResult),
  };
}
