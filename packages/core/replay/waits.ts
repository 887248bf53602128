/**
 * What a run waits for beyond its own work: open asks and sleeps.
 *
 * An ask settles by its answer and a sleep by its time, in this run or in a later one; or by the handler, which withdraws it (P4): then it
 * is shown to nobody any more, and an answer that still comes is late.
 */
import { checkAsk } from "../ask-policy.ts";
import { ANONYMOUS } from "../caller.ts";
import type { Answerers, AskOptions, CallOptions, ChildEnd, Settled, ToolCall, Withdrawable } from "../effects.ts";
import { type ErrorCode, ParleyError } from "../errors.ts";
import type { Entry } from "../journal.ts";
import type { Clock, ValidateSchema } from "../ports.ts";
import { isOnPage, readReply } from "../reply.ts";
import type { Settings } from "../settings.ts";
import { type Answer, type AskRequest, type AwaitedCall, type EventRequest, type Open, openOf, type TaskAtWork } from "../task.ts";
import { childEndOf } from "../child-end.ts";
import type { Pending } from "./effect-promise.ts";
import type { Call, Recorded } from "./recollection.ts";
import type { Records } from "./records.ts";
import type { Settling } from "./settling.ts";

export interface Waits {
  ask(call: Call, pending: Pending<Settled>, asked: Asked): void;
  sleep(call: Call, pending: Pending<void>, slept: Slept): void;
  /** Waits for a child. What it returns is one that is new, and has still to be made; `made` says that it was. */
  call(call: Call, pending: Pending<ChildEnd>, called: Called): NewCall | undefined;
  /** Asks and events that are open, in the order in which they were put. */
  asks(): readonly Open[];
  /** Events that the store does not know yet: they go with the next write. */
  unwrittenEvents(): readonly Open[];
  /** When the first sleep ends, if there is one. */
  wakeAtMs(): number | undefined;
  /** Who gave the answer that settled last for that name, with its branches; undefined where nobody has. */
  answeredBy(scoped: string): Answerers | undefined;
  /** Sleeps so short that they stay on the worker. */
  napping(): number;
  /** Sleeps that were over before the run began, each with the time of its end. */
  overdue(): readonly Recorded[];
}

export interface Asked {
  readonly request: AskRequest | EventRequest;
  readonly options: AskOptions;
}

export interface Called {
  readonly request: ToolCall;
  readonly options: CallOptions;
}

/** A call whose child is not there yet. */
export interface NewCall {
  readonly open: AwaitedCall;
  /** The child is there. */
  made(): void;
}

export interface Slept {
  readonly ms: number;
  readonly options: Withdrawable;
}

export interface WaitsOptions {
  readonly task: TaskAtWork;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly askDigest: (key: string, request: AskRequest | EventRequest) => string;
  /** The id that the child of that call has. */
  readonly childId: (key: string, request: ToolCall) => string;
  readonly validate: ValidateSchema;
  readonly records: Records;
  readonly settling: () => Settling;
  /** Aborted when the run is over: timers end. */
  readonly over: AbortSignal;
  readonly stop: (error: ParleyError) => void;
  readonly diverged: (recorded: string, found: string) => void;
  /** Something of ctx has changed. */
  readonly touched: () => void;
}

export function createWaits({
  task,
  settings,
  clock,
  askDigest,
  childId,
  validate,
  records,
  settling,
  over,
  stop,
  diverged,
  touched,
}: WaitsOptions): Waits {
  const openBefore = new Map(openOf(task).map((ask) => [ask.key, ask]));
  /** By the ids of their calls, in the order in which they were put. */
  const asks = new Map<string, Open>();
  const unwritten = new Set<string>();
  const sleeps = new Map<string, { readonly call: Call; readonly wakeAtMs: number }>();
  /** By the names of asks, with their branches: the principals whose answers have settled. */
  const answerers = new Map<string, Answerers>();
  /** Sleeps that are to settle. */
  const woken = new Set<string>();
  let napping = 0;

  /** Registers what settles the effect, and its withdrawal. */
  function wait(call: Call, { signal, digest: asked }: Withdrawable & { readonly digest: string }, settle: (entry: Entry) => void): void {
    const { id, entry } = call;
    const forget = () => {
      asks.delete(id);
      unwritten.delete(id);
      sleeps.delete(id);
    };
    const withdraw = () => {
      if (over.aborted || !settling().isWaitedFor(id)) return;
      forget();
      // One that has its place settles there, by its answer or as withdrawn.
      if (entry?.place === undefined) {
        settling().drop(id);
        // Clients are to be told before the next side effect.
        records.mustBeSaved();
        const { calledAt } = call;
        settling().add({ id, entry: { ...(entry ?? { digest: asked, calledAt, outcome: { type: "withdrawn" } }), withdrawn: true } });
      }
      touched();
      settling().advance();
    };
    settling().await(id, {
      isWithdrawn: () => signal?.aborted === true,
      settle(settledBy) {
        signal?.removeEventListener("abort", withdraw);
        forget();
        settle(settledBy);
      },
    });
    if (signal?.aborted === true) withdraw();
    // The signal may be the author's own and outlive every run: left behind, a listener would hold the whole run in memory.
    else signal?.addEventListener("abort", withdraw, { once: true, signal: over });
  }

  function answerOf({ outcome, withdrawn: isWithdrawn }: Entry, { onTimeout: policy = "cancel" }: AskOptions): Answer | "fail" {
    if (isWithdrawn || outcome.type !== "answer") return { action: "withdrawn" };
    const { answer } = outcome;
    if (answer.action === "unavailable" && settings.withoutCapability === "default" && typeof policy === "object") {
      return { action: "accept", content: policy.default };
    }
    if (answer.action !== "timeout" || policy === "cancel") return answer;
    if (policy === "decline") return { action: "decline" };
    return policy === "fail" ? "fail" : { action: "accept", content: policy.default };
  }

  function newAsk({ key, calledAt }: Call, asked: string, { request, options }: Asked): Open {
    const askedAtMs = clock.now();
    const timeoutMs = options.timeoutMs ?? Math.min(settings.askTimeoutMs, settings.askTimeoutMaxMs);
    const put = {
      key,
      digest: asked,
      calledAt,
      askedAtMs,
      deadlineMs: askedAtMs + timeoutMs,
      onTimeout: options.onTimeout ?? "cancel",
    };
    return request.type === "event" ? { ...put, request } : { ...put, request, ...(options.audience && { audience: options.audience }) };
  }

  function open(call: Call, asked: string, { request, options }: Asked): void {
    // What came with the call is the caller's word: an ask that is put to others is theirs to answer.
    const early = task.generation === 0 && !options.audience ? task.call.replies?.[call.key] : undefined;
    if (early !== undefined && request.type !== "event") {
      const reply = readReply(request, early, validate);
      // Nobody completes a page in advance.
      const isBeforePage = isOnPage({ request }) && reply.ok && reply.answer.action === "accept";
      if (reply.ok && !isBeforePage) {
        settling().add({
          id: call.id,
          entry: { digest: asked, calledAt: call.calledAt, outcome: { type: "answer", answer: reply.answer } },
        });
        return;
      }
    }
    if (questionsOf(asks) >= settings.openAsksMax) {
      return stop(new ParleyError("JOURNAL_FULL", `more than ${settings.openAsksMax} questions are open at once (PARLEY_OPEN_ASKS_MAX)`));
    }
    asks.set(call.id, newAsk(call, asked, { request, options }));
    if (request.type === "event") {
      unwritten.add(call.id);
      // A step may hand its token to somebody who uses it at once.
      records.mustBeSaved();
    }
    records.checkBounds(asks.size);
  }

  /** Wakes the handler in this run if that lasts long enough; else the run has parked, and the next one finds the sleep over. */
  function wakeInTime({ id, entry: recorded }: Call, sleepEntry: Entry, wakeAtMs: number): void {
    const restMs = wakeAtMs - clock.now();
    // What was over before the run went live settles by its time, with the answers that came: see `overdue`.
    if (restMs <= 0 && recorded) return;
    const isNap = restMs <= settings.inlineSleepMaxMs;
    if (isNap) napping += 1;
    void clock.sleep(Math.max(0, restMs), over).then(() => {
      if (isNap) napping -= 1;
      if (!over.aborted && sleeps.has(id) && !woken.has(id)) {
        woken.add(id);
        settling().add({ id, entry: sleepEntry });
      }
      touched();
    });
  }

  return {
    ask(call, { resolve }, asked) {
      const { entry } = call;
      const { audience: { quorum } = {} } = asked.options;
      // How many must accept is a part of what was asked: changed code takes no approval of one for that of two.
      const wanted = askDigest(call.key, quorum === undefined ? asked.request : Object.assign({ quorum }, asked.request));
      const before = entry ?? openBefore.get(call.key);
      if (before && before.digest !== wanted)
        return diverged(`${call.id} with digest ${before.digest}`, `${call.id} with digest ${wanted}`);
      if (!before) {
        if (asked.request.type !== "event") checkAsk(call.key, { ...asked.options, request: asked.request }, settings);
        checkTimeout(call.key, asked.options, settings);
        checkQuorum(call.key, asked.options, task.call.principal);
      }
      wait(call, { ...asked.options, digest: wanted }, (settledBy) => {
        const answer = answerOf(settledBy, asked.options);
        const name = nameOf(call.key);
        const by = answererOf(settledBy, task.call.principal);
        if (by === undefined) answerers.delete(name);
        else answerers.set(name, by);
        if (answer === "fail") stop(new ParleyError("ASK_TIMEOUT", `nobody answered ${call.id} in time`));
        else resolve(withAcceptances(answer, settledBy));
      });
      if (asked.options.signal?.aborted === true) return;
      const known = openBefore.get(call.key);
      if (!entry && known) asks.set(call.id, known);
      else if (!entry) open(call, wanted, asked);
    },
    sleep(call, { resolve, reject }, { ms, options }) {
      const { entry, id } = call;
      const recorded = entry?.outcome.type === "value" ? entry.outcome.value : undefined;
      const wakeAtMs = typeof recorded === "number" ? recorded : clock.now() + ms;
      const sleepEntry: Entry = entry ?? { digest: "", calledAt: call.calledAt, outcome: { type: "value", value: wakeAtMs } };
      wait(call, { ...options, digest: "" }, (settledBy) => (settledBy.withdrawn ? reject(options.signal?.reason) : resolve()));
      if (entry?.place !== undefined || options.signal?.aborted === true) return;
      if (!entry) records.note({ key: id, entry: sleepEntry });
      sleeps.set(id, { call, wakeAtMs });
      wakeInTime(call, sleepEntry, wakeAtMs);
    },
    call(call, { resolve, reject }, { request, options }) {
      const { entry, id, key, calledAt } = call;
      const wanted = childId(key, request);
      const before = entry ?? openBefore.get(key);
      if (before && before.digest !== wanted) {
        diverged(`${id} with digest ${before.digest}`, `${id} with digest ${wanted}, of ${request.tool}`);
        return undefined;
      }
      if (!before) checkTimeout(key, options, settings);
      wait(call, { ...options, digest: wanted }, ({ outcome, withdrawn: isWithdrawn }) => {
        if (isWithdrawn) resolve({ type: "withdrawn" });
        else if (outcome.type === "error") reject(new ParleyError(outcome.name as ErrorCode, outcome.message));
        else resolve(childEndOf(outcome));
      });
      if (options.signal?.aborted === true || entry) return undefined;
      const known = openBefore.get(key);
      if (known) asks.set(id, known);
      if (known) return undefined;
      records.checkBounds(asks.size);
      const askedAtMs = clock.now();
      const deadlineMs = askedAtMs + (options.timeoutMs ?? settings.askTimeoutMaxMs);
      const open: AwaitedCall = {
        key,
        digest: wanted,
        calledAt,
        askedAtMs,
        deadlineMs,
        onTimeout: "cancel",
        request: { type: "call", tool: request.tool },
      };
      return { open, made: () => void (settling().isWaitedFor(id) && asks.set(id, open)) };
    },
    asks: () => [...asks.values()],
    unwrittenEvents() {
      const events = [...unwritten].flatMap((id) => asks.get(id) ?? []);
      unwritten.clear();
      return events;
    },
    wakeAtMs: () => (sleeps.size === 0 ? undefined : Math.min(...[...sleeps.values()].map(({ wakeAtMs }) => wakeAtMs))),
    answeredBy: (scoped) => answerers.get(scoped),
    napping: () => napping,
    overdue() {
      const nowMs = clock.now();
      return [...sleeps.values()].flatMap(({ call: { id, entry }, wakeAtMs }) => {
        if (!entry || wakeAtMs > nowMs || woken.has(id)) return [];
        woken.add(id);
        return [{ id, entry: { ...entry, arrived: { atMs: wakeAtMs, revision: 0 } } }];
      });
    },
  };
}

/** Children have a bound of their own. */
function questionsOf(asks: ReadonlyMap<string, Open>): number {
  return [...asks.values()].filter(({ request }) => request.type !== "call").length;
}

/** A shorter wait than the tool wants would end its questions early, and nobody would know why. */
function checkTimeout(key: string, { timeoutMs = 0 }: AskOptions, { askTimeoutMaxMs }: Settings): void {
  if (timeoutMs <= askTimeoutMaxMs) return;
  const message = `is ${timeoutMs} ms, and may be ${askTimeoutMaxMs} (PARLEY_ASK_TIMEOUT_MAX)`;
  throw new ParleyError("INVALID_ASK", `the ask "${key}" cannot be put: /timeout ${message}`, {
    violations: [{ path: "/timeout", message }],
  });
}

/** One caller who is everybody cannot be several people, and a default would stand for people whom nobody has asked. */
function checkQuorum(key: string, { audience, onTimeout }: AskOptions, principal: string): void {
  if (audience?.quorum === undefined) return;
  const refused = (path: string, message: string) =>
    new ParleyError("INVALID_ASK", `the ask "${key}" cannot be put: ${path} ${message}`, { violations: [{ path, message }] });
  if (principal === ANONYMOUS)
    throw refused("/quorum", "needs people who can be told apart, and here every caller is the same one (PARLEY_AUTH=required)");
  if (typeof onTimeout === "object")
    throw refused("/onTimeout", "must not have a default: it would stand for people who have not accepted");
}

/** Of an ask that was withdrawn nobody's acceptance counts, whenever it came: the run that withdrew it knew of none. */
function withAcceptances(answer: Answer, { outcome, withdrawn }: Entry): Settled {
  return outcome.type === "answer" && outcome.accepted && !withdrawn ? { ...answer, accepted: [...outcome.accepted] } : answer;
}

/** The name of an ask with its branches, of any occurrence and generation. No name has these characters. */
function nameOf(key: string): string {
  return key.replace(/(@\d+)?(#\d+)?$/, "");
}

/** A person's answer alone: what a deadline, a default or a front end wrote is nobody's, and who had accepted by then had all the same. */
function answererOf({ outcome, withdrawn }: Entry, owner: string): Answerers | undefined {
  if (withdrawn || outcome.type !== "answer") return undefined;
  const { action } = outcome.answer;
  const isNobodys = action === "timeout" || action === "unavailable" || action === "withdrawn";
  if (isNobodys && !outcome.accepted) return undefined;
  return {
    ...(!isNobodys && { principal: outcome.by ?? owner }),
    ...(outcome.accepted && { accepted: outcome.accepted.map(({ by }) => by ?? owner) }),
  };
}
