/** The page's state, and everything that can be done on it. Views read the signals and call these functions. */
import { computed, signal } from "@preact/signals";
import type { JsonObject } from "@parley/core/form";
import type { TaskTimeline } from "@parley/core/timeline";
import { dialectsOf } from "../mcp/dialects.ts";
import { wordsOf } from "../mcp/shared.ts";
import type { Dialect, End, Question, Reply, Running, Status, Taken, Told, Tool } from "../mcp/types.ts";
import { createWireLog } from "../wire/wire-log.ts";
import { type Activity, type Item, itemOf, NO_ACTIVITY, withItems } from "./activity.ts";
import { forgetDraft, forgetDrafts } from "./drafts.ts";
import { keepCall, keepToken, keptCall, keptToken, placeNow, showPlace } from "./kept.ts";
import { perFrame } from "./per-frame.ts";
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
/** The server wants a token, or another one. */
export const wantsToken = signal(false);
export const notices = signal<readonly Notice[]>([]);
/** Grows with the wire log. */
export const wireVersion = signal(0);
/** Questions that the person has put aside. */
export const aside = signal<ReadonlySet<string>>(new Set());

export const wire = createWireLog({ now: Date.now, onChange: perFrame(() => (wireVersion.value += 1)) });

const dialects = dialectsOf({
  url: new URL("../mcp", document.baseURI).href,
  log: wire,
  token: () => token.value || undefined,
  refused: () => (wantsToken.value = true),
});
const [FIRST] = dialects as [Dialect];
export { dialects };
export const dialect = signal<Dialect>(dialects.find(({ id }) => id === placeNow().dialect) ?? FIRST);

export const tool = computed(() => {
  const { value } = tools;
  return value.state === "ready" ? value.tools.find(({ name }) => name === chosen.value) : undefined;
});
/** The one that is put to the person now. */
export const asked = computed(() => run.value?.questions.find(({ id }) => !aside.value.has(id)));

const TIMELINE_WORKING_MS = 500;
const TIMELINE_WAITING_MS = 2_500;
const NOTICES_MAX = 4;

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
  // Another dialect was chosen meanwhile.
  if (load === loads) tools.value = loaded;
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
  token.value = given.trim();
  keepToken(token.value);
  forgetDrafts();
  wantsToken.value = false;
  void loadTools();
}

export function callTool(args: JsonObject): void {
  const called = tool.value;
  if (!called) return;
  wire.clear();
  forgetDrafts(called.name);
  follow(called.name, dialect.value, (told) => dialect.value.call({ tool: called, args }, told));
}

/** Takes up what the address names, or what this tab held. */
export function takeUp(): void {
  const place = placeNow();
  chosen.value = place.tool;
  if (place.task !== undefined && dialect.value.hasTasks) return followTask(place.task, place.tool);
  const kept = keptCall();
  const of = dialects.find(({ id }) => id === kept?.dialect);
  if (!kept || !of) return;
  dialect.value = of;
  chosen.value = kept.tool;
  follow(kept.tool, of, (told) => of.resume(kept.state, told));
}

/** Until the timeline names its tool. */
const UNNAMED = "task";

export function followTask(taskId: string, name = UNNAMED): void {
  follow(name, dialect.value, (told) => {
    told.handle(taskId);
    return dialect.value.follow(taskId, told);
  });
}

/** Another task, by an address that was pasted or by Back. */
export function placeChanged(): void {
  const { task, dialect: named } = placeNow();
  if (task === undefined || task === run.value?.taskId) return;
  dialect.value = dialects.find(({ id }) => id === named) ?? dialect.value;
  takeUp();
}

export async function answer(question: Question, reply: Reply): Promise<Taken> {
  return await running.answer(question, reply);
}

export async function cancelRun(): Promise<void> {
  await running.cancel();
}

export function putAside(question: Question): void {
  aside.value = new Set([...aside.value, question.id]);
}

export function takeUpQuestion(question: Question): void {
  // It comes before the others that wait.
  aside.value = new Set((run.value?.questions ?? []).map(({ id }) => id).filter((id) => id !== question.id));
}

export function close(): void {
  leave();
  run.value = undefined;
  keepCall(undefined);
  showPlace({ dialect: dialect.value.id, ...(chosen.value !== undefined && { tool: chosen.value }) });
}

interface Handle {
  answer(question: Question, reply: Reply): Promise<Taken>;
  cancel(): Promise<void>;
}

const NOBODY: Handle = { answer: async () => ({ type: "late" }), cancel: async () => undefined };
let running: Handle = NOBODY;

/** Everything of one call, from its start or from where it is taken up. */
function follow(name: string, of: Dialect, start: (told: Told) => Running): void {
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
  let isCancelled = false;

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

  const told: Told = {
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
        notify(`“${shortened(wordsOf(question.message))}” was answered elsewhere, or is no longer open.`);
      }
      change({ questions: open });
    },
    notice(notification) {
      const item = itemOf(notification);
      if (!item) return;
      items.push(item);
      publish();
    },
    connected: (isConnected) => change({ isConnected }),
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
      try {
        const timeline = await readTimeline({ taskId, after: cursor, token: token.value, signal: left.signal });
        cursor = timeline.feed.cursor ?? cursor;
        items.push(...timeline.feed.items);
        change({ timeline, timelineProblem: undefined, tool: timeline.task.name });
        if (timeline.feed.more) continue;
      } catch (error) {
        if (left.signal.aborted) return;
        change({ timelineProblem: error instanceof Error ? error.message : String(error) });
      }
      // Once more behind the end, so that what was told last is there.
      if (isLast) return;
      isLast = hadEnded;
      await changed(state.status === "input_required" ? TIMELINE_WAITING_MS : TIMELINE_WORKING_MS);
    }
  }

  /** Waits, and no longer than until the call asks, is answered or ends. */
  async function changed(ms: number): Promise<void> {
    const { status, end, questions } = state;
    const until = Date.now() + ms;
    while (!left.signal.aborted && Date.now() < until && status === state.status && end === state.end && questions === state.questions) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  aside.value = new Set();
  notices.value = [];
  keepCall(undefined);
  run.value = state;
  const call = start(told);
  leave = () => {
    left.abort();
    call.leave();
    running = NOBODY;
  };
  running = {
    async answer(question, reply) {
      answeredHere.add(question.id);
      const taken = await call.answer(question.id, reply).catch((error: unknown): Taken => {
        answeredHere.delete(question.id);
        return { type: "refused", message: error instanceof Error ? error.message : String(error), violations: [] };
      });
      if (taken.type === "refused") answeredHere.delete(question.id);
      else {
        forgetDraft(draftsOf(state), question);
        change({ questions: state.questions.filter(({ id }) => id !== question.id) });
      }
      if (taken.type === "late")
        notify(`Too late: another person answered “${shortened(wordsOf(question.message))}” first, or it is no longer open.`);
      return taken;
    },
    async cancel() {
      isCancelled = true;
      await call.cancel().catch((error: unknown) => notify(error instanceof Error ? error.message : String(error)));
    },
  };
}

/** What is typed into its questions is kept by: see drafts.ts. */
export function draftsOf({ taskId, tool: name }: Pick<Run, "taskId" | "tool">): string {
  return taskId ?? name;
}

function shortened(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
