/** The state of the page and its actions. Views read the signals and call these functions. */
import { cut } from "@parley/core/cut";
import { computed, signal } from "@preact/signals";
import type { JsonObject } from "@parley/core/form";
import type { TaskTimeline } from "@parley/core/timeline";
import { filled } from "../../texts/words.ts";
import { dialectsOf } from "../mcp/dialects.ts";
import { wordsOf } from "../mcp/shared.ts";
import type { Dialect, End, Question, Reply, Running, Status, ReplyOutcome, CallListener, Tool } from "../mcp/types.ts";
import { TEXTS } from "../play-texts.ts";
import { isWayBack } from "../wizard.ts";
import { RpcError } from "../wire/endpoint.ts";
import { createWireLog } from "../wire/wire-log.ts";
import { account, FROM_PAGE, loadAccount } from "./account.ts";
import { type Activity, type Item, itemOf, NO_ACTIVITY, withItems } from "./activity.ts";
import { forgetDraft, forgetDrafts } from "./drafts.ts";
import { keepCall, keepToken, keptCall, keptToken, placeNow, showPlace } from "./tab-state.ts";
import { perFrame } from "./per-frame.ts";
import { subjectOf } from "./token-subject.ts";
import { readTimeline } from "./timeline.ts";

export interface Run {
  readonly tool: string;
  readonly dialect: Dialect;
  readonly taskId: string | undefined;
  readonly status: Status;
  readonly message: string | undefined;
  readonly isConnected: boolean;
  readonly questions: readonly Question[];
  readonly activity: Activity;
  readonly timeline: TaskTimeline | undefined;
  readonly timelineProblem: string | undefined;
  readonly end: End | undefined;
}

export type Tools =
  | { readonly state: "loading" }
  | { readonly state: "ready"; readonly tools: readonly Tool[] }
  | { readonly state: "failed"; readonly problem: string };

export interface Notice {
  readonly id: number;
  readonly text: string;
}

export const tools = signal<Tools>({ state: "loading" });
export const chosen = signal<string | undefined>(undefined);
export const run = signal<Run | undefined>(undefined);
export const token = signal(keptToken());
/** The server requires a token or refused the current one. */
export const wantsToken = signal(false);
/** Whether requests come from the login of the browser, and not from whom a token names. */
export const usesLogin = computed(() => account.value !== undefined && token.value === "");
export const notices = signal<readonly Notice[]>([]);
/** Increases when the wire log changes. */
export const wireVersion = signal(0);
/** Questions that the person has postponed. */
export const postponed = signal<ReadonlySet<string>>(new Set());

export const wire = createWireLog({ now: Date.now, onChange: perFrame(() => (wireVersion.value += 1)) });

const dialects = dialectsOf({
  url: new URL("../mcp", document.baseURI).href,
  log: wire,
  token: () => token.value || undefined,
  who: whoAsks,
  refused,
  permitted,
});

/** Headers that say who sends a request. */
export function whoAsks(): Readonly<Record<string, string>> {
  return token.value ? { authorization: `Bearer ${token.value}` } : FROM_PAGE;
}

/** A request that was on its way when the person set another token says nothing about that one. */
function refused(by: string | undefined): void {
  if (by === (token.value || undefined)) wantsToken.value = true;
}

async function permitted(signal: AbortSignal): Promise<void> {
  if (!wantsToken.value || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = wantsToken.subscribe((isWanted) => isWanted || resolve());
  signal.addEventListener("abort", () => resolve());
  await promise;
  stop();
}

const [FIRST] = dialects as [Dialect];
export { dialects };
export const dialect = signal<Dialect>(dialects.find(({ id }) => id === placeNow().dialect) ?? FIRST);

export const tool = computed(() => {
  const { value } = tools;
  return value.state === "ready" ? value.tools.find(({ name }) => name === chosen.value) : undefined;
});
/** The question that is shown now. */
export const asked = computed(() => run.value?.questions.find(({ id }) => !postponed.value.has(id)));

const TIMELINE_WORKING_MS = 500;
const TIMELINE_WAITING_MS = 2_500;
const NOTICES_MAX = 4;
/** How long a connection holds before it counts as one. */
const STEADY_MS = 1_000;

let noticeIds = 0;
let leave: () => void = () => undefined;

export function notify(text: string): void {
  notices.value = [...notices.value, { id: (noticeIds += 1), text }].slice(-NOTICES_MAX);
}

export function dismiss(notice: Notice): void {
  notices.value = notices.value.filter(({ id }) => id !== notice.id);
}

let loads = 0;
export async function loadTools(): Promise<void> {
  const load = (loads += 1);
  tools.value = { state: "loading" };
  const loaded = await dialect.value.listTools().then(
    (found): Tools => ({ state: "ready", tools: found }),
    (error: unknown): Tools => ({ state: "failed", problem: error instanceof Error ? error.message : String(error) }),
  );
  // Otherwise, a later load has replaced this one, for example after the person chose another dialect.
  if (load === loads) tools.value = loaded;
}

/** Reads the tools again: the person may have changed them meanwhile. If that fails, those that are shown stay. */
async function refreshTools(): Promise<void> {
  if (wantsToken.value || tools.value.state === "loading") return;
  const load = (loads += 1);
  const found = await dialect.value.listTools().catch(() => undefined);
  if (found === undefined || load !== loads) return;
  const { value: shown } = tools;
  if (shown.state !== "ready" || JSON.stringify(shown.tools) !== JSON.stringify(found)) tools.value = { state: "ready", tools: found };
}

export function chooseDialect(id: string): void {
  dialect.value = dialects.find((each) => each.id === id) ?? FIRST;
  if (!run.value || run.value.end) showPlace({ dialect: dialect.value.id, ...(chosen.value !== undefined && { tool: chosen.value }) });
  void loadTools();
}

export function chooseTool(name: string): void {
  chosen.value = name;
  if (!run.value || run.value.end) showPlace({ dialect: dialect.value.id, tool: name });
}

export function setToken(given: string): void {
  const before = subjectOf(token.value);
  token.value = given.trim();
  keepToken(token.value);
  // A token that expired in the middle of a form is replaced by the same person.
  if (before === undefined || before !== subjectOf(token.value)) forgetDrafts();
  wantsToken.value = false;
  void loadTools();
}

/** From one attempt to the next, twice as long each time. */
const ACCOUNT_AGAIN_MS = 3_000;
const ACCOUNT_AGAIN_MS_MAX = 30_000;

/** What somebody else has left in this tab is not shown: then it resolves to `another`. Never rejects. */
async function findAccount(): Promise<"same" | "another" | "unknown"> {
  const found = await loadAccount();
  if (found === "another") {
    forgetDrafts();
    keepCall(undefined);
  }
  return found;
}

/** Resolves before anything is asked of the server, or shown. If the server cannot say yet who is logged in, it is asked again later. */
export async function findFirstAccount(): Promise<void> {
  if ((await findAccount()) === "unknown") findAccountAfter(ACCOUNT_AGAIN_MS);
}

function findAccountAfter(ms: number): void {
  setTimeout(async () => {
    const found = await findAccount();
    if (found === "unknown") findAccountAfter(Math.min(2 * ms, ACCOUNT_AGAIN_MS_MAX));
    else if (found === "another") location.reload();
    // The server may have refused them to nobody. Those that are shown stay, with the form that the person may be filling in.
    else if (usesLogin.value) await (tools.value.state === "ready" ? refreshTools() : loadTools());
  }, ms);
}

/** The person comes back to the page. In another tab, somebody else may have logged in meanwhile. */
export async function comeBack(): Promise<void> {
  if (usesLogin.value && (await findAccount()) === "another") return location.reload();
  await refreshTools();
}

export function callTool(args: JsonObject): void {
  const called = tool.value;
  if (!called) return;
  wire.clear();
  forgetDrafts(called.name);
  follow(called.name, dialect.value, (listener) => dialect.value.call({ tool: called, args }, listener));
}

/** Follows the task that the address names, or resumes the call that this tab kept. */
export function resumeFromAddress(): void {
  const place = placeNow();
  chosen.value = place.tool;
  if (place.task !== undefined && dialect.value.hasTasks) return followTask(place.task, place.tool);
  const kept = keptCall();
  const of = dialects.find(({ id }) => id === kept?.dialect);
  if (!kept || !of) return;
  dialect.value = of;
  chosen.value = kept.tool;
  follow(kept.tool, of, (listener) => of.resume(kept.state, listener));
}

/** The name that is shown until the timeline names the tool. */
const UNNAMED = "task";

export function followTask(taskId: string, name = UNNAMED): void {
  follow(name, dialect.value, (listener) => {
    listener.handle(taskId);
    return dialect.value.follow(taskId, listener);
  });
}

/** In whichever dialect it was called: this page follows it in one that has tasks. */
export function followOwn({ taskId, tool: name }: { readonly taskId: string; readonly tool: string }): void {
  if (!dialect.value.hasTasks) dialect.value = dialects.find(({ hasTasks }) => hasTasks) ?? FIRST;
  followTask(taskId, name);
}

/** Follows another task after the address changed, by pasting or Back. */
export function placeChanged(): void {
  const { task, dialect: named } = placeNow();
  if (task === undefined || task === run.value?.taskId) return;
  dialect.value = dialects.find(({ id }) => id === named) ?? dialect.value;
  resumeFromAddress();
}

export async function answer(question: Question, reply: Reply): Promise<ReplyOutcome> {
  return await running.answer(question, reply);
}

export async function cancelRun(): Promise<void> {
  await running.cancel();
}

export function postpone(question: Question): void {
  postponed.value = new Set([...postponed.value, question.id]);
}

export function postponeAll(): void {
  postponed.value = new Set([...postponed.value, ...(run.value?.questions ?? []).map(({ id }) => id)]);
}

export function reopenQuestion(question: Question): void {
  // Postpone the others, so that this question is shown.
  postponed.value = new Set((run.value?.questions ?? []).map(({ id }) => id).filter((id) => id !== question.id));
}

export function close(): void {
  leave();
  run.value = undefined;
  keepCall(undefined);
  showPlace({ dialect: dialect.value.id, ...(chosen.value !== undefined && { tool: chosen.value }) });
}

interface Handle {
  answer(question: Question, reply: Reply): Promise<ReplyOutcome>;
  cancel(): Promise<void>;
}

const NOBODY: Handle = { answer: async () => ({ type: "late" }), cancel: async () => undefined };
let running: Handle = NOBODY;

/** Follows one call, from its start or from where it resumes. */
function follow(name: string, of: Dialect, start: (listener: CallListener) => Running): void {
  leave();
  const left = new AbortController();
  let state: Run = {
    tool: name,
    dialect: of,
    taskId: undefined,
    status: "working",
    message: undefined,
    isConnected: true,
    questions: [],
    activity: NO_ACTIVITY,
    timeline: undefined,
    timelineProblem: undefined,
    end: undefined,
  };
  let items: Item[] = [];
  const answeredHere = new Set<string>();
  /** Accepted answers whose questions the server has not yet left out. It may still refuse one, after a long way, and ask again. */
  const sent = new Map<string, Question>();
  /** Pages that are shown again later, and should then have what was typed. */
  const wentBack = new Set<string>();
  let isCancelled = false;
  let steady = 0;

  const publish = perFrame(() => {
    if (left.signal.aborted) return;
    if (items.length > 0) state = { ...state, activity: withItems(state.activity, items) };
    items = [];
    run.value = state;
  });
  const change = (part: Partial<Run>) => {
    state = { ...state, ...part };
    publish();
  };

  const listener: CallListener = {
    handle(taskId) {
      change({ taskId });
      showPlace({ dialect: of.id, ...(name !== UNNAMED && { tool: name }), task: taskId });
      void watchTimeline(taskId);
    },
    state: (status, message) => change({ status, message }),
    questions(open) {
      for (const question of state.questions) {
        if (open.some(({ id }) => id === question.id) || answeredHere.has(question.id) || isCancelled) continue;
        forgetDraft(draftsOf(state), question);
        notify(filled(TEXTS.elsewhere, { question: shortened(wordsOf(question.message)) }));
      }
      for (const question of sent.values()) {
        if (open.some(({ id }) => id === question.id)) continue;
        sent.delete(question.id);
        if (!wentBack.delete(question.id)) forgetDraft(draftsOf(state), question);
      }
      change({ questions: open });
    },
    notice(notification) {
      const item = itemOf(notification);
      if (!item) return;
      items.push(item);
      publish();
    },
    connected(isConnected) {
      clearTimeout(steady);
      // Each attempt begins as if it would succeed. What is said would come and go with it.
      if (isConnected && !state.isConnected) steady = setTimeout(() => change({ isConnected }), STEADY_MS) as unknown as number;
      else change({ isConnected });
    },
    keep: (kept) => keepCall(kept && { dialect: of.id, tool: name, state: kept }),
    ended(end) {
      forgetDrafts(draftsOf(state));
      const status =
        end.type === "result" ? (end.result["isError"] === true ? "failed" : "completed") : end.type === "error" ? "failed" : "cancelled";
      change({ end, status, questions: [], isConnected: true });
    },
  };

  async function watchTimeline(taskId: string): Promise<void> {
    let cursor: string | undefined;
    let isLast = false;
    while (!left.signal.aborted) {
      const hadEnded = state.end !== undefined;
      const sent = token.value || undefined;
      try {
        const timeline = await readTimeline({ taskId, after: cursor, who: whoAsks(), signal: left.signal });
        cursor = timeline.feed.cursor ?? cursor;
        items.push(...timeline.feed.items);
        change({ timeline, timelineProblem: undefined, tool: timeline.task.name });
        if (timeline.feed.more) continue;
      } catch (error) {
        if (left.signal.aborted) return;
        change({ timelineProblem: error instanceof Error ? error.message : String(error) });
        const { httpStatus } = error instanceof RpcError ? error : {};
        if (httpStatus === 401) refused(sent);
        // The timeline is the owner's: to ask again changes nothing.
        if (httpStatus === 403) return;
      }
      // Read once more after the end, for the last items of the feed.
      if (isLast) return;
      isLast = hadEnded;
      await changed(state.status === "input_required" ? TIMELINE_WAITING_MS : TIMELINE_WORKING_MS);
      await permitted(left.signal);
    }
  }

  /** Waits for `ms`, or until the call asks, is answered or ends. */
  async function changed(ms: number): Promise<void> {
    const { status, end, questions } = state;
    const until = Date.now() + ms;
    while (!left.signal.aborted && Date.now() < until && status === state.status && end === state.end && questions === state.questions) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  postponed.value = new Set();
  notices.value = [];
  keepCall(undefined);
  run.value = state;
  const call = start(listener);
  leave = () => {
    left.abort();
    call.leave();
    running = NOBODY;
  };
  running = {
    async answer(question, reply) {
      answeredHere.add(question.id);
      const outcome = await call.answer(question.id, reply).catch((error: unknown): ReplyOutcome => {
        answeredHere.delete(question.id);
        return { type: "refused", message: error instanceof Error ? error.message : String(error), violations: [] };
      });
      if (outcome.type === "refused") answeredHere.delete(question.id);
      else {
        const isListed = state.questions.some(({ id }) => id === question.id);
        const isBack = outcome.type === "accepted" && reply.action === "decline" && isWayBack(question);
        if (isBack && isListed) wentBack.add(question.id);
        if (outcome.type === "accepted" && isListed) sent.set(question.id, question);
        else if (!isBack) forgetDraft(draftsOf(state), question);
        change({ questions: state.questions.filter(({ id }) => id !== question.id) });
      }
      if (outcome.type === "late") notify(filled(TEXTS.late, { question: shortened(wordsOf(question.message)) }));
      return outcome;
    },
    async cancel() {
      isCancelled = true;
      await call.cancel().catch((error: unknown) => notify(error instanceof Error ? error.message : String(error)));
    },
  };
}

/** The place under which drafts of the call are kept (drafts.ts). */
export function draftsOf({ taskId, tool: name }: Pick<Run, "taskId" | "tool">): string {
  return taskId ?? name;
}

function shortened(text: string): string {
  return cut(text, 80);
}
