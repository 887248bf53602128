/** What is served: server/discover, the four lists, resources, completions (S26 server/*). */
import type { Catalogue, JsonObject, ResourceContents } from "@parley/core";
import type { ServerFacts } from "../../server-facts.ts";
import { completionOf, ENTRIES, lists, servedCapabilities, type Lists } from "../../entries.ts";
import { SUPPORTED_VERSIONS } from "../../versions.ts";
import { TASKS_EXTENSION } from "./names.ts";

interface Saying {
  readonly facts: ServerFacts;
  readonly meta: JsonObject;
}

/** Lists are the same for every caller. */
const PUBLIC = { cacheScope: "public" };

export function discover(catalogue: Catalogue, { facts, meta }: Saying): object {
  return {
    resultType: "complete",
    supportedVersions: SUPPORTED_VERSIONS,
    capabilities: {
      ...servedCapabilities(catalogue),
      ...(catalogue.tools.size > 0 ? { extensions: { [TASKS_EXTENSION]: {} } } : {}),
    },
    ...(facts.instructions === undefined ? {} : { instructions: facts.instructions }),
    ttlMs: facts.listTtlMs,
    ...PUBLIC,
    _meta: meta,
  };
}

/** No `execution` in entries of tools: in this revision the server alone decides what becomes a task. */
export function cachedLists({ facts, meta }: Saying): Lists {
  const pages = lists(ENTRIES, facts.pageSize);
  const cached = (list: object) => ({ resultType: "complete", ...list, ttlMs: facts.listTtlMs, ...PUBLIC, _meta: meta });
  return {
    toolList: (catalogue, cursor) => cached(pages.toolList(catalogue, cursor)),
    promptList: (catalogue, cursor) => cached(pages.promptList(catalogue, cursor)),
    resourceList: (catalogue, cursor) => cached(pages.resourceList(catalogue, cursor)),
    templateList: (catalogue, cursor) => cached(pages.templateList(catalogue, cursor)),
  };
}

/** Read anew each time: a resource may change at any moment and may differ by caller. */
export function resourceContents(contents: readonly ResourceContents[], meta: JsonObject): object {
  return { resultType: "complete", contents, ttlMs: 0, cacheScope: "private", _meta: meta };
}

export function completion(values: readonly string[], meta: JsonObject): object {
  return { resultType: "complete", completion: completionOf(values), _meta: meta };
}
