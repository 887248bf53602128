/**
 * What a run waits for beyond its own work: open asks, events, calls of tools, and sleeps.
 *
 * An ask settles when it is answered and a sleep when its time has come, in this run or a later one. The handler can withdraw either by a signal:
 * clients then no longer show the question, and an answer that still arrives is late.
 */
import { aboutOf, identityOf } from "../asks/about.ts";
import { canBeAsked, isForClientOnly } from "../asks/can-be-asked.ts";
import { checkPrompts } from "../asks/prompts.ts";
import { checkAsk, checkAssurance, checkDue, checkOnTimeout, checkQuorum, checkTimeout } from "../asks/ask-policy.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { childEndOf } from "./child-end.ts";
import { childId } from "./child-id.ts";
import type { Answerers, AskOptions, CallOptions, ChildEnd, Settled, ToolCall, Withdrawable } from "../effects.ts";
import { type ErrorCode, ParleyError } from "../errors.ts";
import { type Entry, readingKey } from "../journal.ts";
import { isOnPage, readReply } from "../asks/reply.ts";
import { type Answer, type AskRequest, type AwaitedCall, type EventRequest, type Open, openOf } from "../task.ts";
import type { Pending } from "./effect-promise.ts";
import type { Call } from "./recollection.ts";
import type { Recorded } from "./recorded-calls.ts";
import type { Records } from "./records.ts";
import type { Run } from "./run.ts";
import type { Settling } from "./settling.ts";

export interface Waits {
  ask(call: Call, pending: Pending<Settled>, asked: Asked): void;
  sleep(call: Call, pending: Pending<void>, slept: Slept): void;
  /** Waits for a child. Returns the call if it is new: its child is still to be made. */
  call(call: Call, pending: Pending<ChildEnd>, called: Called): NewCall | undefined;
  /** Everything that is open except sleeps, in the order of the calls. */
  asks(): readonly Open[];
  /** Removes and returns the events that the store does not know yet. They go out with the next write. */
  unwrittenEvents(): readonly Open[];
  /** When the first open sleep ends; undefined if none is open. */
  wakeAtMs(): number | undefined;
  /** Who gave the last settled answer to the asks of that name, prefixed by its branches; undefined if no person did. */
  answeredBy(scoped: string): Answerers | undefined;
  /** The key of the ask of that name, prefixed by its branches, that settled last. */
  settledLast(scoped: string): string | undefined;
  /** Whether an open sleep is short enough to be waited for on this worker. */
  isNapping(): boolean;
  /** Recorded sleeps that have ended since, each with the time of its end. To be called once, when the run goes live. */
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

/** A call whose child does not exist yet. */
export interface NewCall {
  readonly open: AwaitedCall;
  /** Reports that the child exists and the store holds the call as open. */
  made(): void;
}

export interface Slept {
  readonly ms: number;
  readonly options: Withdrawable;
}

export interface WaitsOptions {
  readonly records: Records;
  /** A function, because settling needs the waits in turn. */
  readonly settling: () => Settling;
}

export function createWaits(run: Run, { records, settling }: WaitsOptions): Waits {
  const { task, journal, settings, ports, over, stop, diverged, touched } = run;
  const { clock, digest, validate } = ports;
  const openBefore = new Map(openOf(task).map((ask) => [ask.key, ask]));
  /** Everything open, by the id of its call, in the order of the calls. */
  const asks = new Map<string, Open>();
  const unwritten = new Set<string>();
  /** Calls whose child is still to be made. */
  const making = new Set<string>();
  const sleeps = new Map<string, { readonly call: Call; readonly wakeAtMs: number; readonly isNap: boolean }>();
  /** By name and branch of an ask: who gave the answer that settled last; undefined if no person did. */
  const answerers = new Map<string, Answerers | undefined>();
  /** By name and branch of an ask: the key of the one that settled last. */
  const settledLast = new Map<string, string>();
  /** Sleeps that were handed over to settle, although their timer may still run. */
  const handedOver = new Set<string>();

  /** Waits for the effect to settle, and withdraws it when its signal is aborted. Returns whether it was aborted already: nothing is to be opened. */
  function wait(
    call: Call,
    promise: object,
    { signal, digest: digestAsked }: Withdrawable & { readonly digest: string },
    settle: (entry: Entry) => void,
  ): boolean {
    const { id, entry } = call;
    const forget = () => {
      asks.delete(id);
      making.delete(id);
      sleeps.delete(id);
    };
    const withdraw = () => {
      if (over.aborted || !settling().isWaitedFor(id)) return;
      forget();
      // An effect that has its place settles there, with its answer or as withdrawn.
      if (entry?.place === undefined) {
        settling().drop(id);
        // Clients must learn of it before the next side effect.
        records.mustBeSaved();
        const { calledAt } = call;
        settling().add({ id, entry: { ...(entry ?? { digest: digestAsked, calledAt, outcome: { type: "withdrawn" } }), withdrawn: true } });
      }
      touched();
      settling().advance();
    };
    settling().await(id, {
      promise,
      isWithdrawn: () => signal?.aborted === true,
      settle(settledBy) {
        signal?.removeEventListener("abort", withdraw);
        forget();
        settle(settledBy);
      },
    });
    const isWithdrawn = signal?.aborted === true;
    if (isWithdrawn) withdraw();
    // The signal may belong to the author and outlive every run. A listener left on it would keep the whole run in memory.
    else signal?.addEventListener("abort", withdraw, { signal: over });
    return isWithdrawn;
  }

  function digestOf(key: string, request: AskRequest | EventRequest): string {
    return ports.askDigest?.(key, request) ?? digest(canonicalJson(request));
  }

  function childOf(key: string, request: ToolCall): string {
    return ports.childId?.(key, request) ?? childId(digest, { id: task.id, seed: task.call.seed }, key, request);
  }

  function answerOf({ outcome, withdrawn: isWithdrawn }: Entry, { onTimeout: policy = "cancel" }: AskOptions): Answer | "fail" {
    if (isWithdrawn || outcome.type !== "answer") return { action: "withdrawn" };
    const { answer } = outcome;
    if (answer.action === "unavailable" && settings.withoutCapability === "default" && typeof policy === "object") {
      return { action: "accept", content: policy.default };
    }
    if (answer.action !== "timeout") return answer;
    if (policy === "decline") return { action: "decline" };
    if (policy === "fail") return "fail";
    // Only a default is an answer: nobody gave another one.
    return typeof policy === "object" ? { action: "accept", content: policy.default } : answer;
  }

  /** What an ask, an event and a call have in common. */
  function awaited({ key, calledAt }: Call, digestAsked: string, timeoutMs: number) {
    const askedAtMs = clock.now();
    return { key, digest: digestAsked, calledAt, askedAtMs, deadlineMs: askedAtMs + timeoutMs };
  }

  function newAsk(call: Call, digestAsked: string, { request, options }: Asked): Open {
    const timeoutMs = options.timeoutMs ?? Math.min(settings.askTimeoutMs, settings.askTimeoutMaxMs);
    const common = { ...awaited(call, digestAsked, timeoutMs), onTimeout: options.onTimeout ?? "cancel" };
    return request.type === "event"
      ? { ...common, request }
      : { ...common, request, ...(options.audience && { audience: options.audience }) };
  }

  /** Whether nobody would answer. The front end says so for a client that waits for its call: it knows the dialect. */
  function isInVain(request: AskRequest): boolean {
    const { capabilities, hidden, parent } = task.call;
    if ((hidden && !parent) || canBeAsked(request, capabilities)) return false;
    // A client that shows pages is sent to the page of a form.
    if (request.type === "form" && capabilities.elicitation?.url === true) return false;
    return isForClientOnly(request) || settings.taskWithoutCapability === "end";
  }

  function open(call: Call, digestAsked: string, { request, options }: Asked): void {
    const required = aboutOf(request)?.assurance;
    // Early replies are the caller's, and come with a model's call. An ask that is addressed to others is theirs to answer.
    const early = task.generation === 0 && !options.audience && !required ? task.call.replies?.[call.key] : undefined;
    if (early !== undefined && request.type !== "event") {
      const reply = readReply(request, early, validate);
      // A page cannot be completed in advance.
      const isBeforePage = isOnPage({ request }) && reply.ok && reply.answer.action === "accept";
      if (reply.ok && !isBeforePage) {
        settling().add({
          id: call.id,
          entry: { digest: digestAsked, calledAt: call.calledAt, outcome: { type: "answer", answer: reply.answer } },
        });
        ports.answeredEarly?.(newAsk(call, digestAsked, { request, options }), reply.answer);
        return;
      }
    }
    // What needs a login is answered on a page, whatever the client can show.
    if (request.type !== "event" && !options.audience && required?.by !== "login" && isInVain(request)) {
      return settling().add({
        id: call.id,
        entry: { digest: digestAsked, calledAt: call.calledAt, outcome: { type: "answer", answer: { action: "unavailable" } } },
      });
    }
    if (questionsOf(asks) >= settings.openAsksMax) {
      return stop(new ParleyError("JOURNAL_FULL", `more than ${settings.openAsksMax} questions are open at once (PARLEY_OPEN_ASKS_MAX)`));
    }
    asks.set(call.id, newAsk(call, digestAsked, { request, options }));
    if (request.type === "event") {
      unwritten.add(call.id);
      // A step may pass on its token, and the receiver may use it at once.
      records.mustBeSaved();
    }
    checkBounds();
  }

  /** A call that is refused once its child has ended would have worked in vain. */
  function checkBounds(): void {
    records.checkBounds(asks.size + making.size);
  }

  /** Ends the sleep in this run if the run lasts that long. Otherwise a later run finds that it is over. */
  function sleepUntil(call: Call, sleepEntry: Entry, wakeAtMs: number): void {
    const { id, entry: recorded } = call;
    const restMs = wakeAtMs - clock.now();
    // A recorded sleep that is over already settles with the answers that arrived, in the order of time (`overdue`).
    const isOverdue = restMs <= 0 && recorded !== undefined;
    sleeps.set(id, { call, wakeAtMs, isNap: !isOverdue && restMs <= settings.inlineSleepMaxMs });
    if (isOverdue) return;
    void clock.sleep(Math.max(0, restMs), over).then(() => {
      if (!over.aborted && sleeps.has(id) && !handedOver.has(id)) settling().add({ id, entry: sleepEntry });
    });
  }

  return {
    ask(call, { promise, resolve }, asked) {
      const { entry } = call;
      const { audience: { quorum } = {}, identity: given = asked.request } = asked.options;
      const identity = identityOf(given === "any" ? asked.request : given);
      const before = entry ?? openBefore.get(call.key);
      // The digest covers the quorum: changed code must not take the approval of one person for that of two.
      const own = () => digestOf(call.key, quorum === undefined ? identity : Object.assign({ quorum }, identity));
      const wanted = given === "any" && before ? before.digest : own();
      if (before && before.digest !== wanted)
        return diverged(`${call.id} with digest ${before.digest}`, `${call.id} with digest ${wanted}`);
      if (!before) {
        if (asked.request.type !== "event") checkAsk(call.key, { ...asked.options, request: asked.request }, settings);
        checkTimeout(call.key, asked.options, settings);
        const timeoutMs = asked.options.timeoutMs ?? Math.min(settings.askTimeoutMs, settings.askTimeoutMaxMs);
        checkDue(call.key, asked.request, timeoutMs);
        checkPrompts(call.key, asked.request, { ...asked.options, timeoutMs });
        checkOnTimeout(call.key, asked.options, asked.request);
        checkQuorum(call.key, asked.options, task.call.principal);
        checkAssurance(call.key, asked.request, task.call.principal);
      }
      const isWithdrawn = wait(call, promise, { ...asked.options, digest: wanted }, (settledBy) => {
        const answer = answerOf(settledBy, asked.options);
        settledLast.set(call.scoped, call.key);
        answerers.set(call.scoped, answererOf(settledBy, task.call.principal));
        if (answer === "fail") stop(new ParleyError("ASK_TIMEOUT", `${call.id} was not answered in time`));
        // An early reply is written later, and the handler may change what it receives.
        else resolve(withAcceptances(entry ? answer : structuredClone(answer), settledBy));
      });
      if (isWithdrawn) return;
      const known = openBefore.get(call.key);
      if (!entry && known) asks.set(call.id, known);
      else if (!entry) open(call, wanted, asked);
    },
    sleep(call, { promise, resolve, reject }, { ms, options }) {
      const { entry, id } = call;
      // A run that was thrown away may have begun it: it ends when that said.
      const outcome = (entry ?? journal.get(readingKey(id)))?.outcome;
      const wakeAtMs = outcome?.type === "value" && typeof outcome.value === "number" ? outcome.value : clock.now() + ms;
      const sleepEntry: Entry = entry ?? { digest: "", calledAt: call.calledAt, outcome: { type: "value", value: wakeAtMs } };
      const isWithdrawn = wait(call, promise, { ...options, digest: "" }, ({ withdrawn }) =>
        withdrawn ? reject(options.signal?.reason) : resolve(),
      );
      // A recorded withdrawal waits for the handler alone, although the sleep may end before.
      if (entry?.place !== undefined || isWithdrawn) return;
      if (!entry) records.note({ key: id, entry: sleepEntry });
      sleepUntil(call, sleepEntry, wakeAtMs);
    },
    call(call, { promise, resolve, reject }, { request, options }) {
      const { entry, id, key } = call;
      const wanted = childOf(key, request);
      const before = entry ?? openBefore.get(key);
      if (before && before.digest !== wanted) {
        diverged(`${id} with digest ${before.digest}`, `${id} with digest ${wanted}, of ${request.tool}`);
        return undefined;
      }
      if (!before) checkTimeout(key, options, settings);
      const isWithdrawn = wait(call, promise, { ...options, digest: wanted }, ({ outcome, withdrawn }) => {
        if (withdrawn) resolve({ type: "withdrawn" });
        else if (outcome.type === "error") reject(new ParleyError(outcome.name as ErrorCode, outcome.message));
        else resolve(childEndOf(outcome));
      });
      if (isWithdrawn || entry) return undefined;
      const known = openBefore.get(key);
      if (known) {
        asks.set(id, known);
        return undefined;
      }
      making.add(id);
      checkBounds();
      const open: AwaitedCall = {
        ...awaited(call, wanted, options.timeoutMs ?? settings.askTimeoutMaxMs),
        onTimeout: "cancel",
        request: { type: "call", tool: request.tool },
      };
      return {
        open,
        made() {
          if (making.delete(id)) asks.set(id, open);
        },
      };
    },
    asks: () => [...asks.values()],
    unwrittenEvents() {
      const events = [...unwritten].flatMap((id) => asks.get(id) ?? []);
      unwritten.clear();
      return events;
    },
    wakeAtMs: () => (sleeps.size === 0 ? undefined : Math.min(...[...sleeps.values()].map(({ wakeAtMs }) => wakeAtMs))),
    answeredBy: (scoped) => answerers.get(scoped),
    settledLast: (scoped) => settledLast.get(scoped),
    isNapping: () => [...sleeps.values()].some(({ isNap }) => isNap),
    overdue() {
      const nowMs = clock.now();
      return [...sleeps.values()].flatMap(({ call: { id, entry }, wakeAtMs }) => {
        if (!entry || wakeAtMs > nowMs) return [];
        handedOver.add(id);
        return [{ id, entry: { ...entry, arrived: { atMs: wakeAtMs, revision: 0 } } }];
      });
    },
  };
}

/** Open asks and events. Calls of tools have a bound of their own. */
function questionsOf(asks: ReadonlyMap<string, Open>): number {
  return [...asks.values()].filter(({ request }) => request.type !== "call").length;
}

/** Acceptances of a withdrawn ask do not count, whenever they arrived: the run that withdrew it did not see them. */
function withAcceptances(answer: Answer, { outcome, withdrawn }: Entry): Settled {
  return outcome.type === "answer" && outcome.accepted && !withdrawn ? { ...answer, accepted: [...outcome.accepted] } : answer;
}

/**
 * Who gave an answer. What a deadline, a default or a front end wrote was given by no person, but the people who had accepted by then count as
 * having accepted.
 */
function answererOf({ outcome, withdrawn }: Entry, owner: string): Answerers | undefined {
  if (withdrawn || outcome.type !== "answer") return undefined;
  const { action } = outcome.answer;
  const isAutomatic = action === "timeout" || action === "unavailable" || action === "withdrawn";
  if (isAutomatic && !outcome.accepted) return undefined;
  const reason = outcome.answer.action === "decline" ? outcome.answer.reason : undefined;
  return {
    ...(!isAutomatic && { principal: outcome.by ?? owner, ...outcome.given, ...(reason !== undefined && { reason }) }),
    ...(outcome.accepted && {
      accepted: outcome.accepted.map(({ by, name, assurance, login, delegatedBy }) => ({
        principal: by ?? owner,
        ...(name !== undefined && { name }),
        ...(assurance && { assurance }),
        ...(login && { login }),
        ...(delegatedBy && { delegatedBy }),
      })),
    }),
  };
}
