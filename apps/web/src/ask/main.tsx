/**
 * The view of open questions in hosts of MCP Apps (`ui://parley/ask`).
 *
 *   result of the call ─▶ questions ──answer──▶ parley_answer ─▶ receipt, problems, or who was first
 *                            ▲                        │
 *                            └── parley_task (polls) ◀┘ ─▶ next question, or the end
 */
import { cut } from "@parley/core/cut";
import { render } from "preact";
import { filled } from "../../texts/words.ts";
import { languageNow, speak } from "../language.ts";
import { followTranslation } from "../translated.ts";
import { AskCard, type Reply } from "./ask-card.tsx";
import { connect, type Host, type HostContext, type ToolResult } from "./host.ts";
import { contextText, messageText, refusal, texts } from "./texts.ts";
import { type Became, becameIn, type Waiting, waitingIn } from "./waiting.ts";

const CONNECT_MS = 10_000;
const ANSWER_MS = 30_000;
/** The server holds a poll for 50 seconds. */
const POLL_MS = 75_000;
/** A view that nobody closes takes a place among the held calls. After this, the person has to ask for more. */
const FOLLOW_MS = 30 * 60_000;
const RETRY_MS = { shortest: 2_000, longest: 60_000 };
const QUESTION_CHARS = 80;

let host: Host | undefined;
let context: HostContext = {};
let early: ToolResult | undefined;
let waiting: Waiting | undefined;
/** Keys of questions that were settled here. */
const settled = new Set<string>();
/** Keys of questions whose answers are on their way. A poll may tell of their effect first. */
const sending = new Set<string>();
const receipts: string[] = [];
let end: string | undefined;
let following: "yes" | "no" | "gone" = "no";
/** What the person answered here, and the model has not been sent a message of. */
let isUntold = false;

const root = document.querySelector<HTMLElement>("#view") ?? document.body;
followTranslation(root);

function show(): void {
  render(<View />, root);
}

function View() {
  if (!waiting) return null;
  const { called, asks, more, tools, taskId } = waiting;
  const open = end === undefined ? asks.filter(({ key }) => !settled.has(key)) : [];
  const answerTool = host?.capabilities.serverTools && tools.answer;
  const state = end ?? (open.length === 0 ? filled(texts().working, { tool: called }) : undefined);
  return (
    <>
      <h1 dir="auto">{filled(texts().asks, { tool: called })}</h1>
      <div role="status">
        {receipts.map((receipt) => (
          <p key={receipt} class="receipt" dir="auto">
            {receipt}
          </p>
        ))}
        {state !== undefined && <p>{state}</p>}
      </div>
      {open.map((ask) => (
        <AskCard
          key={ask.key}
          scope={`ask-${asks.indexOf(ask)}`}
          ask={ask}
          when={when}
          onReply={answerTool ? (reply) => send(answerTool, { taskId, ask, reply }) : undefined}
          onOpen={async (url) => (host?.capabilities.openLinks ? await host.openLink(url) : false)}
        />
      ))}
      {more > 0 && end === undefined && <p class="quiet">{more === 1 ? texts().oneMore : filled(texts().more, { count: more })}</p>}
      {following === "gone" && end === undefined && (
        <p class="quiet">
          {texts().notFollowed}{" "}
          <button type="button" class="link" onClick={() => void follow()}>
            {texts().look}
          </button>
        </p>
      )}
    </>
  );
}

function when(iso: string): string {
  const options = { dateStyle: "medium", timeStyle: "short" } as const;
  try {
    return new Intl.DateTimeFormat(context.locale, { ...options, ...(context.timeZone && { timeZone: context.timeZone }) }).format(
      new Date(iso),
    );
  } catch {
    // The host's locale or time zone may be one that this browser does not know.
    return new Intl.DateTimeFormat(undefined, options).format(new Date(iso));
  }
}

interface Sent {
  readonly taskId: string;
  readonly ask: Waiting["asks"][number];
  readonly reply: Reply;
}

async function send(tool: string, { taskId, ask, reply }: Sent): Promise<Became> {
  if (!host) throw new Error("no host");
  const { callTool, capabilities, updateModelContext } = host;
  const { key, question } = ask;
  sending.add(key);
  const became = await callTool(tool, { taskId, question: key, ...reply }, ANSWER_MS)
    .then(becameIn, () => undefined)
    .finally(() => sending.delete(key));
  if (became?.receipt === "accepted" || became?.receipt === "duplicate") {
    receipts.push(
      reply.action === "accept"
        ? filled(texts().answered, { question: brief(question) })
        : filled(texts().declined, { question: brief(question) }),
    );
    settled.add(key);
    isUntold = true;
    show();
    focusFirst();
    if (capabilities.updateModelContext) updateModelContext(contextText(waiting?.called ?? "", taskId));
    if (following !== "yes") tellModel();
    return became;
  }
  if (end !== undefined || !waiting?.asks.some((each) => each.key === key)) {
    // Its card, which would say so, is gone.
    receipts.push(became ? refusal(became, when) : filled(texts().gone, { question: brief(question) }));
    show();
  }
  if (!became) throw new Error("nobody knows what became of it");
  return became;
}

/** Where the focus waits for the next question. */
function isAtHeading(): boolean {
  return document.activeElement?.tagName === "H1";
}

/** The control that was focused is gone. */
function focusFirst(): void {
  const next = root.querySelector<HTMLElement>(".ask input, .ask select, .ask textarea") ?? root.querySelector<HTMLElement>("h1");
  if (next?.tagName === "H1") next.tabIndex = -1;
  next?.focus();
}

/** Once nothing more is asked here: a message begins a turn of the model. */
function tellModel(): void {
  if (!isUntold || !host?.capabilities.message || !waiting) return;
  isUntold = false;
  host.sendMessage(messageText(waiting.called, waiting.taskId, waiting.tools.wait));
}

function isAllSettled({ asks }: Waiting): boolean {
  return asks.every(({ key }) => settled.has(key));
}

/** Polls until the task has ended. The server holds each poll until there is news. */
async function follow(): Promise<void> {
  const { wait } = waiting?.tools ?? {};
  if (following === "yes" || !host?.capabilities.serverTools || wait === undefined) return;
  following = "yes";
  show();
  const untilMs = Date.now() + FOLLOW_MS;
  let retryMs = RETRY_MS.shortest;
  while (following === "yes" && waiting && Date.now() < untilMs) {
    try {
      const { taskId, seen } = waiting;
      const result = await host.callTool(wait, { taskId, seen }, POLL_MS);
      if (following !== "yes") return;
      const now = waitingIn(result, taskId);
      retryMs = RETRY_MS.shortest;
      noteGone(waiting, now);
      if (now) waiting = now;
      else
        end = result.isError === true ? filled(texts().failed, { tool: waiting.called }) : filled(texts().done, { tool: waiting.called });
      show();
      if (isAtHeading()) focusFirst();
      if (!now || isAllSettled(now)) tellModel();
      if (!now) following = "no";
    } catch {
      // Nobody tells the view what is asked next, if anything is.
      if (isAllSettled(waiting)) tellModel();
      await new Promise((resolve) => setTimeout(resolve, retryMs));
      retryMs = Math.min(retryMs * 2, RETRY_MS.longest);
    }
  }
  if (following === "yes") following = "gone";
  show();
}

/** Questions that are gone without an answer here: settled elsewhere, or their time was over. */
function noteGone(before: Waiting, now: Waiting | undefined): void {
  for (const { key, question } of before.asks) {
    if (settled.has(key) || sending.has(key) || now?.asks.some((ask) => ask.key === key)) continue;
    settled.add(key);
    receipts.push(filled(texts().gone, { question: brief(question) }));
  }
}

function brief(question: string): string {
  return cut(question, QUESTION_CHARS);
}

function begin(result: ToolResult): void {
  const given = waitingIn(result);
  // A result without open questions is the tool's own: the host shows it.
  if (!given || waiting) return;
  waiting = given;
  show();
  void follow();
}

function inContext(changed: HostContext): void {
  context = { ...context, ...changed };
  const { theme, locale, safeAreaInsets: safe } = context;
  speak(typeof locale === "string" ? [locale] : navigator.languages);
  document.documentElement.lang = languageNow();
  document.title = texts().title;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = theme ?? (dark ? "dark" : "light");
  for (const side of ["top", "right", "bottom", "left"] as const) {
    document.documentElement.style.setProperty(`--safe-${side}`, `${Number(safe?.[side]) || 0}px`);
  }
  show();
}

inContext({});
try {
  if (window.parent === window) throw new Error("no host");
  host = await connect(
    {
      result: (result) => (host ? begin(result) : (early = result)),
      cancelled: () => undefined,
      context: inContext,
      teardown: () => void (following = "gone"),
    },
    CONNECT_MS,
  );
  const { resized } = host;
  new ResizeObserver(() => resized({ width: root.scrollWidth, height: Math.ceil(root.getBoundingClientRect().height) })).observe(root);
  inContext(host.context);
  if (early) begin(early);
} catch {
  root.textContent = texts().noHost;
}
