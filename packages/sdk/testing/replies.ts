/** What a person replies in a test, given as a client or a page would give it. */
import { hash } from "node:crypto";
import {
  type Ask,
  type AskRequest,
  type Caller,
  type FileRef,
  type FilesWanted,
  type Json,
  type JsonObject,
  type LeavePage,
  ParleyError,
  type Services,
  type Task,
  answerTask,
  assuranceText,
  declareUnavailable,
  describeProblems,
  fieldsOf,
  isOnPage,
  leavePage,
} from "@parley/core";
import { type Answerer, answerer, answererOf, ownerOf } from "./people.ts";

/** The person accepts a question that has no content: visiting a page (url mode). */
export const accept: unique symbol = Symbol("accept");
/** The person declines. */
export const decline: unique symbol = Symbol("decline");
/** The person goes back to the page before, on a page of `ctx.wizard` that has one. */
export const back: unique symbol = Symbol("back");
/** The person closes the question. */
export const cancel: unique symbol = Symbol("cancel");
/** The question is not answered before its deadline. */
export const timeout: unique symbol = Symbol("timeout");
/** The client cannot be asked this. */
export const unavailable: unique symbol = Symbol("unavailable");

/**
 * The content of a form, the text of the model's completion, the URIs of roots, or one of the symbols. For a form
 * with one field, such as those of `ctx.text` and its siblings, the bare value is enough. For a page, what the person
 * leaves there: `{ secret: "…" }`, `{ grant: "an access token" }`, `{ returned: { … } }`.
 */
export type Reply =
  | JsonObject
  | string
  | number
  | boolean
  | readonly string[]
  | typeof accept
  | typeof decline
  | typeof back
  | typeof cancel
  | typeof timeout
  | typeof unavailable;

/** Throws an Error with the reason if a reply is refused. Without `as`, each question is answered by someone who may answer it. */
export async function giveReplies(
  services: Services,
  task: Task,
  replies: { readonly [askKey: string]: Reply },
  as: Answerer | undefined,
): Promise<void> {
  const { id: taskId } = task;
  const open = new Map(task.asks.map((ask) => [ask.key, ask]));
  const raw = new Map<string, JsonObject>();
  const onPages = new Map<string, Reply>();
  const impossible: string[] = [];
  for (const [key, reply] of Object.entries(replies)) {
    const ask = open.get(key);
    if (!ask) throw new Error(`"${key}" is not asked; open are: ${[...open.keys()].join(", ") || "none"}`);
    if (reply === unavailable) impossible.push(key);
    else if (isOnPage(ask) && typeof reply !== "symbol" && !isCompletedElsewhere(ask)) onPages.set(key, reply);
    else if (isOnPage(ask) && reply === accept && !isCompletedElsewhere(ask))
      throw new Error(`"${key}" is answered on its page: { secret: "…" }, { grant: "…" }, { returned: { … } } or { file: { name, text } }`);
    else raw.set(key, rawReply(ask, reply));
  }
  for (const key of impossible) await declareUnavailable(services, { taskId, caller: ownerOf(task), key });
  const answererTo = (key: string) => (as ? answerer(as) : answererOf(task, open.get(key), services.clock.now()));
  const receipts = await Promise.all([
    ...[...raw].map(async ([key, reply]) => {
      const answered = await orNotTheirs(answerTask(services, { taskId, caller: answererTo(key), replies: { [key]: reply } }));
      return [key, answered?.receipts.get(key)] as const;
    }),
    ...[...onPages].map(async ([key, reply]) => {
      const ask = open.get(key);
      if (!ask) throw new Error(`"${key}" is not asked`);
      // A page belongs to the task that asks.
      const at = ask.route ?? { taskId, key };
      const answer = await pageAnswer(services, at.taskId, { ...ask, key: at.key }, reply);
      return [key, await orNotTheirs(leavePage(services, { ...at, caller: answererTo(key), digest: ask.digest, answer }))] as const;
    }),
  ]);
  for (const [key, receipt] of receipts) {
    if (!receipt || receipt.type === "forbidden") throw new Error(whyNot(key, { task, ask: open.get(key), by: answererTo(key) }));
    if (receipt.type === "login_required") throw new Error(`the answer to "${key}" needs ${assuranceText(receipt.assurance)}`);
    if (receipt.type === "invalid") throw new Error(`the answer to "${key}" is refused: ${describeProblems(receipt.violations)}`);
    if (receipt.type !== "accepted") throw new Error(`the answer to "${key}" is ${receipt.type}`);
  }
}

/** Undefined for somebody to whom the task does not exist: a test may know that it does. */
async function orNotTheirs<T>(answering: Promise<T>): Promise<T | undefined> {
  try {
    return await answering;
  } catch (error) {
    if (error instanceof ParleyError && error.code === "TASK_NOT_FOUND") return undefined;
    throw error;
  }
}

/** Who may answer, and who this person is. */
function whyNot(key: string, { task, ask, by }: { readonly task: Task; readonly ask: Ask | undefined; readonly by: Caller }): string {
  const { principal, names, groups, roles } = by;
  const whom = ask?.audience ? `other people: ${JSON.stringify(ask.audience)}` : `the caller alone, "${task.call.principal}"`;
  return `"${key}" is for ${whom}; "${principal}" has ${JSON.stringify({ names, groups, roles })}`;
}

/** Completed by an event instead of a page of Parley's own. */
function isCompletedElsewhere({ request }: Ask): boolean {
  return request.type === "url" && request.completedBy !== undefined;
}

/** The answer that the page would have produced. */
async function pageAnswer(services: Services, taskId: string, { key, request }: Ask, reply: Reply): Promise<LeavePage["answer"]> {
  const given = typeof reply === "object" && !Array.isArray(reply) ? (reply as JsonObject) : {};
  const page = request.type === "url" ? request.page : undefined;
  if (page?.kind === "secret") {
    if (typeof given["secret"] !== "string") throw new Error(`"${key}" asks for a secret: answer { secret: "…" }`);
    return { action: "accept", content: { deposit: key }, deposit: given["secret"] };
  }
  if (page?.kind === "visit") {
    const { returned } = given;
    if (typeof returned !== "object" || returned === null || Array.isArray(returned))
      throw new Error(`"${key}" asks to visit a page and come back: answer { returned: { … } }, with the parameters`);
    return { action: "accept", content: { query: returned } };
  }
  if (page?.kind === "oauth") {
    const { grant: accessToken, scopes = [...page.scopes] } = given;
    if (typeof accessToken !== "string")
      throw new Error(`"${key}" asks for access at ${page.provider}: answer { grant: "an access token" }`);
    const tokens = { provider: page.provider, accessToken, refreshToken: "refresh", scopes };
    return { action: "accept", content: { deposit: key, provider: page.provider, scopes }, deposit: JSON.stringify(tokens) };
  }
  const files = (given["files"] ?? (given["file"] === undefined ? undefined : [given["file"]])) as readonly TestFile[] | undefined;
  if (!files || files.length === 0) throw new Error(`"${key}" asks for files: answer { file: { name, text } } or { files: […] }`);
  if (page?.kind === "files") checkFiles(key, files, page);
  const kept = await Promise.all(files.map(async (file) => await keepFile(services, taskId, file)));
  return { action: "accept", content: { files: kept.map((file) => ({ ...file })) } };
}

/** A file that a test uploads. */
export interface TestFile {
  readonly name: string;
  readonly text: string;
  /** `text/plain` by default. */
  readonly type?: string;
}

/** As the page would, except that the bytes of a test's file do not have to be of the type that it declares. */
function checkFiles(key: string, files: readonly TestFile[], { accept, bytesMax, countMax }: FilesWanted): void {
  if (files.length > countMax) throw new Error(`"${key}" takes at most ${countMax} ${countMax === 1 ? "file" : "files"}`);
  for (const { name, text, type = TEXT_TYPE } of files) {
    if (new TextEncoder().encode(text).length > bytesMax) throw new Error(`"${key}": ${name} is larger than ${bytesMax} bytes`);
    const isAccepted = (wanted: string) =>
      wanted.startsWith(".")
        ? name.toLowerCase().endsWith(wanted)
        : wanted.endsWith("/*")
          ? type.startsWith(wanted.slice(0, -1))
          : type === wanted;
    if (accept.length > 0 && !accept.some((wanted) => isAccepted(wanted.toLowerCase())))
      throw new Error(`"${key}" takes ${accept.join(", ")}, and ${name} is ${type}`);
  }
}

const TEXT_TYPE = "text/plain";

async function keepFile({ files, ids }: Services, taskId: string, { name, text, type = TEXT_TYPE }: TestFile): Promise<FileRef> {
  const id = ids.uuid();
  const bytes = new TextEncoder().encode(text);
  await files?.put(taskId, id, new Blob([bytes]).stream() as unknown as AsyncIterable<Uint8Array>);
  return { id, name, type, size: bytes.length, sha256: hash("sha256", bytes) };
}

function rawReply({ key, request }: Ask, reply: Exclude<Reply, typeof unavailable>): JsonObject {
  if (reply === timeout) throw new Error(`"${key}" cannot be answered with timeout: advance the clock`);
  if (reply === back) {
    const hasWay = request.type === "form" && request.hints?.["back"] === true;
    if (!hasWay) throw new Error(`"${key}" has no page before it: back is for pages of ctx.wizard behind the first`);
    return { action: "decline" };
  }
  if (reply === accept || reply === decline || reply === cancel) return { action: reply.description ?? "" };
  if (request.type === "sampling") {
    return typeof reply === "string" ? { role: "assistant", content: { type: "text", text: reply }, model: "test" } : (reply as JsonObject);
  }
  if (request.type === "roots") return { roots: (reply as readonly string[]).map((uri) => ({ uri })) };
  return { action: "accept", content: contentOf(request, reply) };
}

function contentOf(request: AskRequest, reply: JsonObject | string | number | boolean | readonly string[]): JsonObject {
  if (typeof reply === "object" && !Array.isArray(reply)) return reply as JsonObject;
  const fields = request.type === "form" ? fieldsOf(request.schema) : [];
  const [field] = fields;
  if (!field || fields.length > 1) throw new Error(`${JSON.stringify(reply)} is not an answer to a form with ${fields.length} fields`);
  return { [field.name]: reply as Json };
}
