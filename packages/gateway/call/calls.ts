/**
 * The calls of this process, by task. A task parks while people think; its call stays here, with the connection that it waits on.
 *
 *   step open      a permit: this process alone may make the call. Recorded before the call is made, either together with `begin` or by the step
 *   step call      makes the call, once per permit, and follows it to the next event
 *   step continue  hands answers on and follows the call to the next event
 *
 *   G1  A call is made only with a permit of this process, or if the tool may be repeated. If a worker dies between making a call and recording its
 *       outcome, no other worker makes the call again (never twice), and the task fails with an error that says so (never silently).
 *   G2  Before a held call asks its question, this process is named as the task's holder, so that the run that the answer causes is sent here.
 *   G3  The outcome of a call is kept until its task has ended or was dropped here: a run that could not record it finds it again.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { describeError, type Log } from "@parley/core";
import { type Gate, gate } from "../gate.ts";
import type { CallRequest } from "../wire/call-request.ts";
import type { RefusedQuestion } from "./questions.ts";
import { type CallDeps, type Leading, startCall, type UpstreamCall } from "./upstream-call.ts";
import type { StateOwner } from "../connection/upstream-session.ts";
import type { Given, UpstreamEvent } from "../wire/upstream-event.ts";

/** `isFinal`: without its holder, the call cannot be repeated. */
interface Claim {
  readonly isFinal: boolean;
  readonly ttlMs: number;
}

/** Which process holds the call of a task, for as long as that process renews its name. */
export interface CallHolders {
  /** Names this process as the holder. The write is sent before this returns, so it takes effect before any later write on the task. */
  claim(taskId: string, claim: Claim): Promise<void>;
  release(taskId: string): Promise<void>;
}

export interface Lead extends Leading {
  readonly taskId: string;
  readonly callId: string;
  readonly mayRepeat: boolean;
  readonly request: CallRequest;
  readonly given: readonly Given[];
}

export interface Once extends Leading {
  /** Follows the end of a call that the upstream has not ended. */
  readonly inBackground: (work: Promise<void>) => void;
}

/**
 * `finished`: the task has ended, so nothing asks for its holder any more. `lost`: this process counts as dead, and stays named until its calls have
 * been followed up on.
 */
export type DropReason = "finished" | "lost";

export interface Calls {
  /** Issues a permit to make one call for the task. `callId`: of a permit that is recorded already. */
  permit(taskId: string, callId?: string): string;
  lead(request: Lead): Promise<UpstreamEvent>;
  /** Makes a call that belongs to no task, and ends it after its first event. Resolves to undefined if `signal` was aborted before. */
  callOnce(request: CallRequest, leading: Once): Promise<UpstreamEvent | undefined>;
  /** The caller learns that this state is lost: the next call starts without any. */
  told(state: StateOwner): Promise<void>;
  give(taskId: string, callId: string, given: readonly Given[]): void;
  /** Keys of the task's questions that the upstream no longer waits for. */
  abandoned(taskId: string): ReadonlySet<string>;
  has(taskId: string): boolean;
  /** Whether the end of the task requires work here: an upstream waits for it, or has a task of its own for it. */
  isNeeded(taskId: string): boolean;
  /** The tasks whose upstream is working or waiting: their calls are lost with this process. */
  taskIds(): readonly string[];
  /** Drops the call of a task that no longer needs it, or that another process holds. */
  drop(taskId: string, why?: DropReason): Promise<void>;
  /** The number of calls that wait for an answer, and of all calls here. */
  counts(): { readonly waiting: number; readonly all: number };
}

export interface CallsDeps {
  readonly call: Omit<CallDeps, "onAbandoned" | "onRefused">;
  readonly holders: CallHolders;
  readonly callsMax: number;
  /** Reports a call that ended, with its duration. */
  readonly onEnded?: (upstream: string, ms: number) => void;
  readonly log: Log;
  readonly onAbandoned: (taskId: string) => void;
  /** A question of the task's call was refused. */
  readonly onRefused?: (taskId: string, question: RefusedQuestion) => void;
}

interface Held {
  readonly call: UpstreamCall;
  /** Frees the place among open calls. Later calls have no effect. */
  readonly leave: () => void;
  isClaimed: boolean;
}

/** A holder stays named this much longer than its question may be open, because the run that closes the question at its deadline needs it. */
const CLAIM_MARGIN_MS = 60 * 60 * 1_000;
/** When a call that was refused because too many were open may be tried again. */
const RETRY_AFTER_MS = 1_000;
/** Permits of runs that were stopped before they made their call. Without one, a call that may not be repeated counts as lost (G1). */
const PERMITS_MAX = 10_000;
const BUSY = { type: "busy", message: `has reached its limit of open calls; try again after ${RETRY_AFTER_MS} ms` } as const;
const NONE: ReadonlySet<string> = new Set();

export function createCalls({ call: deps, holders, callsMax, onEnded, log, onAbandoned, onRefused }: CallsDeps): Calls {
  const { whenQuiet = (work) => void work() } = deps;
  const held = new Map<string, Held>();
  /** A call outlives the run that made it, so what it waits on must not keep the run's async context, and the run with it, in memory. */
  const outside = AsyncLocalStorage.snapshot();
  const permits = new Map<string, string>();
  const all = gate(callsMax);
  const ofUpstream = new Map<string, Gate>();

  function enter({ name, concurrency }: CallRequest["upstream"]): (() => void) | undefined {
    // The file can change the number later.
    const key = `${name} ${concurrency}`;
    const own = ofUpstream.get(key) ?? gate(concurrency);
    ofUpstream.set(key, own);
    const leaveOwn = own.enter();
    const leave = leaveOwn && all.enter();
    if (!leave) leaveOwn?.();
    return (
      leave &&
      (() => {
        leave();
        leaveOwn();
      })
    );
  }

  async function drop(taskId: string, why?: DropReason): Promise<void> {
    permits.delete(taskId);
    await end(taskId, { why });
  }

  async function end(
    taskId: string,
    { continues = false, why }: { continues?: boolean; why?: DropReason | undefined } = {},
  ): Promise<void> {
    const one = held.get(taskId);
    if (!one) return;
    held.delete(taskId);
    one.leave();
    if (why === "finished") whenQuiet(() => release(taskId, one));
    await Promise.all([one.call.close({ continues }), why === undefined ? release(taskId, one) : undefined]);
  }

  /** If this fails, the name expires with its question. */
  async function release(taskId: string, { isClaimed }: Held): Promise<void> {
    if (isClaimed) await holders.release(taskId).catch(() => undefined);
  }

  /** Outcomes are small, but tasks that never end must not accumulate them without bound. */
  function forgetOldest(): void {
    for (const [taskId, one] of held) {
      if (held.size <= 2 * callsMax) return;
      if (!one.call.isOver()) continue;
      held.delete(taskId);
      void release(taskId, one);
    }
  }

  async function start({ taskId, callId, mayRepeat, request }: Lead): Promise<Held | UpstreamEvent> {
    const isPermitted = permits.get(taskId) === callId;
    permits.delete(taskId);
    // G1
    if (!isPermitted && !mayRepeat) return { type: "lost", message: "the worker that held the call is gone" };
    const freePlace = enter(request.upstream);
    if (!freePlace) return BUSY;
    if (!isPermitted) log.info({ taskId, upstream: request.upstream.name, tool: request.tool }, "call of an upstream repeated");
    const call = outside(() =>
      startCall(callId, request, {
        ...deps,
        onAbandoned: () => onAbandoned(taskId),
        onRefused: (question) => onRefused?.(taskId, question),
      }),
    );
    const startedMs = performance.now();
    let isPlaceFree = false;
    const one = {
      call,
      isClaimed: false,
      leave() {
        if (isPlaceFree) return;
        isPlaceFree = true;
        freePlace();
        onEnded?.(request.upstream.name, performance.now() - startedMs);
      },
    };
    held.set(taskId, one);
    return one;
  }

  let once = 0;

  async function callOnce(request: CallRequest, { inBackground, ...leading }: Once): Promise<UpstreamEvent | undefined> {
    const leave = enter(request.upstream);
    if (!leave) return BUSY;
    once += 1;
    const startedMs = performance.now();
    const call = startCall(randomUUID(), request, { ...deps, onAbandoned: () => undefined });
    try {
      return await call.next([], leading);
    } catch (error) {
      if (leading.signal.aborted) return undefined;
      throw error;
    } finally {
      once -= 1;
      leave();
      onEnded?.(request.upstream.name, performance.now() - startedMs);
      inBackground(call.close());
    }
  }

  /** G2. The run does not await the reply: the name is sent before the question on the same connection. If it fails, no answer could reach this process. */
  function claim(taskId: string, one: Held, named: Claim): void {
    one.isClaimed = true;
    holders.claim(taskId, named).catch(async (error: unknown) => {
      log.warn({ taskId, ...describeError(error) }, "holder of a call could not be named, call ended");
      await one.call.close();
    });
  }

  return {
    permit(taskId, callId = randomUUID()) {
      permits.set(taskId, callId);
      const [oldest] = permits.size > PERMITS_MAX ? permits.keys() : [];
      if (oldest !== undefined) permits.delete(oldest);
      return callId;
    },
    async lead(lead) {
      const { taskId, callId, mayRepeat, request, given } = lead;
      // The call of an earlier round has ended, and its outcome is what this round starts from.
      if (held.has(taskId) && held.get(taskId)?.call.callId !== callId) await end(taskId, { continues: true });
      const one = held.get(taskId) ?? (await start(lead));
      if ("type" in one) return one;
      const event = await one.call.next(given, lead);
      // The outcome is kept (G3); it does not count as an open call.
      if (event.type !== "asked") {
        one.leave();
        forgetOldest();
      }
      if (event.type === "asked") {
        const longestMs = Math.max(...event.questions.map(({ timeoutMs }) => timeoutMs));
        claim(taskId, one, { isFinal: !mayRepeat, ttlMs: longestMs + CLAIM_MARGIN_MS });
      }
      log.debug({ taskId, upstream: request.upstream.name, event: event.type }, "upstream");
      return event;
    },
    callOnce,
    told: async (state) => await deps.connector.told?.(state),
    give(taskId, callId, given) {
      const one = held.get(taskId);
      if (one?.call.callId === callId) one.call.give(given);
    },
    abandoned: (taskId) => held.get(taskId)?.call.abandoned() ?? NONE,
    has: (taskId) => held.has(taskId),
    isNeeded: (taskId) => held.get(taskId)?.call.isNeeded() ?? false,
    taskIds: () => [...held].flatMap(([taskId, { call }]) => (call.isOver() ? [] : [taskId])),
    drop,
    counts: () => ({
      waiting: [...held.values()].filter(({ call }) => call.isWaiting()).length,
      all: [...held.values()].filter(({ call }) => !call.isOver()).length + once,
    }),
  };
}
