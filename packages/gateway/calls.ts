/**
 * The calls of this process, by their tasks. A task parks while people think; its call stays here, with the connection that it waits on.
 *
 *   step open      a permit: this process, and no other, may make the call. Recorded before the call is made
 *   step call      made, once for each permit, and followed to what happens next
 *   step continue  answers handed on, followed to what happens next
 *
 *   G1  A call is made only with a permit of this process, or where the tool may be repeated. So a worker that died between making a call and
 *       recording what came of it is never followed by one that makes it again (never twice), and what is not made again is told (never silently).
 *   G2  Before a question of a held call is put, this process is named as the task's holder: the run that the answer leads to is sent here.
 *   G3  What came of a call is kept until its task has ended or gone: a run that could not record it finds it again.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { describeError, type Log } from "@parley/core";
import { type Gate, gate } from "./gate.ts";
import type { CallRequest } from "./call-request.ts";
import { type CallDeps, type Leading, startCall, type UpstreamCall } from "./upstream-call.ts";
import type { Given, UpstreamEvent } from "./upstream-event.ts";

/** `isFinal`: the call cannot be made again without its holder. */
interface Claim {
  readonly isFinal: boolean;
  readonly ttlMs: number;
}

/** Which process holds the call of a task, for as long as that process says that it lives. */
export interface CallHolders {
  /** Names this process. The name is sent before this returns, so it takes effect before any later write on the task. */
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

export interface Calls {
  /** A permit to make one call for the task. */
  permit(taskId: string): string;
  lead(request: Lead): Promise<UpstreamEvent>;
  give(taskId: string, callId: string, given: readonly Given[]): void;
  /** Keys of questions that were put for the task and that nobody waits for any more. */
  abandoned(taskId: string): ReadonlySet<string>;
  has(taskId: string): boolean;
  /** Whether something has to be done when the task ends: an upstream waits for it, or has a task of its own for it. */
  isNeeded(taskId: string): boolean;
  /** Those whose upstream is at work or waits: they are lost with this process. */
  taskIds(): readonly string[];
  /** The task needs its call no more, or is another's. */
  drop(taskId: string): Promise<void>;
  /** Calls that wait for an answer, and all that are here. */
  counts(): { readonly waiting: number; readonly all: number };
}

export interface CallsDeps {
  readonly call: Omit<CallDeps, "onAbandoned">;
  readonly holders: CallHolders;
  readonly callsMax: number;
  /** A call was let go, so long after its start. */
  readonly onEnded?: (upstream: string, ms: number) => void;
  readonly log: Log;
  readonly onAbandoned: (taskId: string) => void;
}

interface Held {
  readonly call: UpstreamCall;
  readonly leaves: () => void;
  isClaimed: boolean;
}

/** How much longer than its question a holder is named: it must outlive the run that closes the question at its deadline. */
const CLAIM_MARGIN_MS = 60 * 60 * 1_000;
/** When a caller may try again that came while there were too many. */
const RETRY_AFTER_MS = 1_000;
const NONE: ReadonlySet<string> = new Set();

export function createCalls({ call: deps, holders, callsMax, onEnded, log, onAbandoned }: CallsDeps): Calls {
  const held = new Map<string, Held>();
  /** A call outlives the run that made it: what it waits on must not keep the run's context, and with it the run. */
  const outside = AsyncLocalStorage.snapshot();
  const permits = new Map<string, string>();
  const all = gate(callsMax);
  const ofUpstream = new Map<string, Gate>();

  function enter({ name, concurrency }: CallRequest["upstream"]): (() => void) | undefined {
    // The file may say another number one day.
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

  async function drop(taskId: string): Promise<void> {
    permits.delete(taskId);
    await end(taskId);
  }

  async function end(taskId: string, continues = false): Promise<void> {
    const one = held.get(taskId);
    if (!one) return;
    held.delete(taskId);
    one.leaves();
    await Promise.all([one.call.close({ continues }), one.isClaimed ? holders.release(taskId).catch(() => undefined) : undefined]);
  }

  /** What calls came to is small, and still bounded: those of tasks that nobody ends. */
  function forgetOldest(): void {
    for (const [taskId, { call }] of held) {
      if (held.size <= 2 * callsMax) return;
      if (call.isOver()) held.delete(taskId);
    }
  }

  async function start({ taskId, callId, mayRepeat, request }: Lead): Promise<Held | UpstreamEvent> {
    const isPermitted = permits.get(taskId) === callId;
    permits.delete(taskId);
    // G1
    if (!isPermitted && !mayRepeat) return { type: "lost", message: "the worker that held the call is gone" };
    const leaves = enter(request.upstream);
    if (!leaves) return { type: "busy", message: `has as many calls open as it may; try again after ${RETRY_AFTER_MS} ms` };
    if (!isPermitted) log.info({ taskId, upstream: request.upstream.name, tool: request.tool }, "call of an upstream repeated");
    const call = outside(() => startCall(callId, request, { ...deps, onAbandoned: () => onAbandoned(taskId) }));
    const startedMs = performance.now();
    let hasLeft = false;
    const one = {
      call,
      isClaimed: false,
      leaves() {
        if (hasLeft) return;
        hasLeft = true;
        leaves();
        onEnded?.(request.upstream.name, performance.now() - startedMs);
      },
    };
    held.set(taskId, one);
    return one;
  }

  /** G2. The run does not wait for the reply: the name is sent ahead of the question on the same connection. If it fails, no answer could reach this process. */
  function claim(taskId: string, one: Held, named: Claim): void {
    one.isClaimed = true;
    holders.claim(taskId, named).catch(async (error: unknown) => {
      log.warn({ taskId, ...describeError(error) }, "holder of a call could not be named, call ended");
      await one.call.close();
    });
  }

  return {
    permit(taskId) {
      const callId = randomUUID();
      permits.set(taskId, callId);
      return callId;
    },
    async lead(lead) {
      const { taskId, callId, mayRepeat, request, given } = lead;
      // That of an earlier round has ended, and came to what this one begins with.
      if (held.has(taskId) && held.get(taskId)?.call.callId !== callId) await end(taskId, true);
      const one = held.get(taskId) ?? (await start(lead));
      if ("type" in one) return one;
      const event = await one.call.next(given, lead);
      // What it came to is kept (G3), and takes no room of others.
      if (event.type !== "asked") {
        one.leaves();
        forgetOldest();
      }
      if (event.type === "asked") {
        const longestMs = Math.max(...event.questions.map(({ timeoutMs }) => timeoutMs));
        claim(taskId, one, { isFinal: !mayRepeat, ttlMs: longestMs + CLAIM_MARGIN_MS });
      }
      log.debug({ taskId, upstream: request.upstream.name, event: event.type }, "upstream");
      return event;
    },
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
      all: [...held.values()].filter(({ call }) => !call.isOver()).length,
    }),
  };
}
