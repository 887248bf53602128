/**
 * The view in which hosts of MCP Apps show open questions: one resource, the tools whose calls it belongs to, and what it is given.
 *
 *   tools/list      _meta.ui.resourceUri ──▶ resources/read: the view, a page in one file (apps/web/src/ask)
 *   tools/call      structuredContent: what is open, as `Waiting` of the view
 *   parley_answer   takes the answer, and parley_task says when the task went on
 *
 * Source: https://github.com/modelcontextprotocol/ext-apps, specification 2026-01-26.
 */
import { type Ask, type Catalogue, cut, type JsonObject, type Resource, type Task, type Tool } from "@parley/core";
import { ASK_VIEW_URI, messageOf, namesOf, VIEW_MIME_TYPE } from "@parley/protocol";
import type { Ladder } from "../../../front-end/ladder.ts";
import { isForModel } from "./asks-for-models.ts";

/** Hosts hide tools with this visibility from the model. Nothing but the host enforces it. */
export const APP_ONLY: JsonObject = { ui: { visibility: ["app"] } };

/** Longer questions and larger forms are answered on their pages: hosts limit what a result contains. */
const QUESTION_CHARS_MAX = 4_000;
const FORM_CHARS_MAX = 20_000;

/** The catalogue with the view, and with its address at every tool that may ask and has no view of its own. */
export function withAskView(catalogue: Catalogue, { askView }: Ladder): Catalogue {
  if (askView === undefined || catalogue.resources.has(ASK_VIEW_URI)) return catalogue;
  const tools = [...catalogue.tools].map(([name, tool]) => [name, withView(tool)] as const);
  return {
    ...catalogue,
    isPrivate: true,
    tools: new Map(tools),
    resources: new Map([...catalogue.resources, [ASK_VIEW_URI, viewResource(askView)]]),
  };
}

function withView(tool: Tool): Tool {
  const { meta = {}, task } = tool;
  // Nobody knows which tools ask: an author says of a quick one that it is never a task.
  if (task === "never" || meta["ui"] !== undefined || meta["ui/resourceUri"] !== undefined) return tool;
  return { ...tool, meta: { ...meta, ui: { resourceUri: ASK_VIEW_URI }, "ui/resourceUri": ASK_VIEW_URI } };
}

function viewResource(text: string): Resource {
  const meta = {
    // Nothing is loaded and nobody is called: what the view needs is in its file. It draws its own border, since it is empty for a call that asks nothing.
    ui: { csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] }, prefersBorder: false },
  };
  return {
    uri: ASK_VIEW_URI,
    name: "ask",
    title: "Open questions",
    mimeType: VIEW_MIME_TYPE,
    size: Buffer.byteLength(text),
    meta,
    read: async () => [{ uri: ASK_VIEW_URI, mimeType: VIEW_MIME_TYPE, text, _meta: meta }],
  };
}

export interface ViewedAsk {
  readonly ask: Ask;
  /** Put to the owner of the task. Of questions to others, the owner sees only what is asked. */
  readonly isOwn: boolean;
  /** Undefined: the address alone would open what a second person has to agree to. */
  readonly page: string | undefined;
}

/** One question, as the view gets it. It has a form if the view takes the answer. */
export function viewedAsk(
  task: Pick<Task, "id">,
  { ask, isOwn, page }: ViewedAsk,
  { tool, takesAnswers }: { readonly tool: Pick<Tool, "annotations"> | undefined; readonly takesAnswers: boolean },
): JsonObject {
  const { key, request, deadlineMs, audience } = ask;
  const question = !("message" in request) ? "" : isOwn ? messageOf({ ...ask, request }).trim() : request.message.trim();
  const isShort = question.length <= QUESTION_CHARS_MAX;
  const form =
    takesAnswers &&
    isOwn &&
    isShort &&
    request.type === "form" &&
    isForModel(ask, tool) &&
    JSON.stringify(request.schema).length <= FORM_CHARS_MAX
      ? { schema: request.schema, ...(request.hints && { hints: request.hints }) }
      : undefined;
  return {
    taskId: task.id,
    key,
    question: cut(question, QUESTION_CHARS_MAX),
    who: audience ? namesOf(ask) : "you",
    deadline: new Date(deadlineMs).toISOString(),
    ...(page !== undefined && { page }),
    ...(form && { form }),
  };
}
