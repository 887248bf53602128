/** Builds a dialect from what is specific to a revision; everything else is the same in all stateless revisions. */
import type { JsonObject } from "@parley/core";
import { commonEncoder, type Keep, keepList, type Words } from "../encoder.ts";
import { EVENTS_EXTENSION } from "../events.ts";
import { TOOL_APPROVAL_EXTENSION } from "./tool-approval.ts";
import { instructionsOf, mayBecomeTasks, servedCapabilities } from "../list-items.ts";
import { isObject } from "../json-rpc.ts";
import type { ServerFacts } from "../server-facts.ts";
import { SUPPORTED_VERSIONS } from "../versions.ts";
import { decode, type Reading } from "./decode.ts";
import type { StatelessDialect, StatelessEncoder } from "./dialect.ts";
import { inputRequired, toolResult } from "./encode-call.ts";
import { acknowledged, subscribed } from "./encode-listen.ts";
import { createTaskResult, shownTask, taskNotification, withReceipts } from "./encode-task.ts";
import { SERVER_INFO, TASKS_EXTENSION } from "./names.ts";
import { waitsMeta } from "../waiting-message.ts";

export interface Revision extends Reading, Pick<Words, "listItems" | "shown" | "ownError" | "dataOf" | "tellsModel"> {}

export function buildDialect(revision: Revision): StatelessDialect {
  return {
    version: revision.version,
    decode: (inbound) => decode(revision, inbound),
    encoder: (facts) => encoder(revision, facts),
  };
}

function encoder(revision: Revision, facts: ServerFacts): StatelessEncoder {
  const { name, version, title } = facts;
  const { ownError } = revision;
  const meta: JsonObject = { [SERVER_INFO]: { name, version, ...(title === undefined ? {} : { title }) } };
  const answer = (about: object, keep?: Keep) => {
    const own = "_meta" in about ? about._meta : undefined;
    return {
      ...about,
      resultType: "complete",
      ...(keep && { ttlMs: keep.ttlMs, cacheScope: keep.scope }),
      _meta: isObject(own) ? { ...own, ...meta } : meta,
    };
  };
  return {
    ...commonEncoder(facts, {
      ...revision,
      answer,
      toolResult,
      promptResult: (result) => result,
      subscribed,
    }),
    discover: (catalogue) =>
      answer(
        {
          supportedVersions: SUPPORTED_VERSIONS,
          capabilities: {
            ...servedCapabilities(catalogue),
            // The extension moved below `extensions`; ChatGPT still looks for the first.
            ...(facts.events && { events: {} }),
            ...((mayBecomeTasks(catalogue, facts) || facts.events) && {
              extensions: {
                ...(mayBecomeTasks(catalogue, facts) && {
                  [TASKS_EXTENSION]: {},
                  ...(facts.toolApproval && { [TOOL_APPROVAL_EXTENSION]: {} }),
                }),
                ...(facts.events && { [EVENTS_EXTENSION]: {} }),
              },
            }),
          },
          ...instructionsOf(facts, catalogue),
        },
        keepList(facts, catalogue),
      ),
    createTaskResult: (task) => createTaskResult(task, { facts, meta }),
    detailedTask: (task, { capabilities }) => answer(shownTask(task, { facts, ownError, capabilities })),
    acknowledgement: (receipts) => answer(receipts ? withReceipts({}, receipts) : {}),
    withReceipts,
    inputRequired: (asks, requestState) => inputRequired(asks, { meta, requestState }),
    handedOver: (task, requestState, { capabilities }) =>
      inputRequired([], { meta: { ...meta, ...waitsMeta(task, { capabilities }) }, requestState }),
    acknowledged,
    taskNotification: (task, { subscriptionId, capabilities }) => taskNotification(task, { facts, ownError, subscriptionId, capabilities }),
    listenEnd: (subscriptionId) => answer(subscribed(subscriptionId)),
  };
}
