/** Limits of tools in memory: the rules of packages/redis/scripts/limit in readable form. */
import { IN_LINE_MAX, type KeptLimit, SLOT_PATIENCE_MS, SLOT_RETRY_MAX_MS, type Slots, type TakeSlot } from "../ports/slots.ts";

interface Waiting {
  readonly taskId: string;
  readonly run: number;
  readonly createdAtMs: number;
  readonly isNew: boolean;
  untilMs: number;
}

interface State {
  /** By task id. */
  readonly held: Map<string, { readonly token: string; readonly untilMs: number }>;
  line: Waiting[];
  bucket: { tokens: number; atMs: number } | undefined;
}

export function createMemorySlots(): Slots {
  const states = new Map<string, State>();

  function stateOf({ id }: KeptLimit, nowMs: number): State {
    const state: State = states.get(id) ?? { held: new Map(), line: [], bucket: undefined };
    states.set(id, state);
    for (const [taskId, { untilMs }] of state.held) if (untilMs <= nowMs) state.held.delete(taskId);
    return state;
  }

  function tokensOf({ bucket }: State, { rate }: KeptLimit, nowMs: number): number {
    if (!rate) return Infinity;
    if (!bucket) return rate.count;
    return Math.min(rate.count, bucket.tokens + (Math.max(0, nowMs - bucket.atMs) * rate.count) / rate.windowMs);
  }

  const freeOf = ({ held }: State, { concurrency }: KeptLimit) => (concurrency === undefined ? Infinity : concurrency - held.size);

  /** Another run of the task has taken its slot since. */
  function isOfOther({ held }: State, { taskId, token }: Pick<TakeSlot, "taskId" | "token">): boolean {
    const holder = held.get(taskId);
    return holder !== undefined && holder.token !== token;
  }

  /** Tasks that have begun come first, then older ones. */
  function inOrder(a: Waiting, b: Waiting): number {
    return Number(a.isNew) - Number(b.isNew) || a.createdAtMs - b.createdAtMs || (a.taskId < b.taskId ? -1 : 1);
  }

  /** Puts the task in line, and returns how many are ahead of it; undefined if the line is full. */
  function putInLine(state: State, mine: Waiting, nowMs: number): number | undefined {
    state.line = state.line.filter(({ taskId, untilMs }) => taskId !== mine.taskId && untilMs >= nowMs);
    if (state.line.length >= IN_LINE_MAX) return undefined;
    const ahead = state.line.findLastIndex((each) => inOrder(each, mine) < 0) + 1;
    state.line.splice(ahead, 0, mine);
    return ahead;
  }

  return {
    async take(request) {
      const { limit, taskId, token, nextRun, createdAtMs, isNew, nowMs, leaseMs } = request;
      const slot = { token, untilMs: nowMs + leaseMs };
      const { concurrency, rate } = limit;
      const state = stateOf(limit, nowMs);
      if (state.held.has(taskId)) {
        state.held.set(taskId, slot);
        return { type: "taken" };
      }
      const mine = { taskId, run: nextRun, createdAtMs, isNew, untilMs: nowMs };
      const ahead = putInLine(state, mine, nowMs);
      if (ahead === undefined) return { type: "wait", by: concurrency === undefined ? "rate" : "concurrency", retryMs: SLOT_RETRY_MAX_MS };
      const free = freeOf(state, limit);
      const tokens = tokensOf(state, limit, nowMs);
      const lacks = isNew ? state.line.slice(0, ahead + 1).filter((each) => each.isNew).length - tokens : 0;
      if (free > ahead && lacks <= 0) {
        state.line.splice(ahead, 1);
        state.held.set(taskId, slot);
        if (isNew) state.bucket = { tokens: tokens - 1, atMs: nowMs };
        return { type: "taken" };
      }
      // None, if a slot is free.
      const slotMs = leaseMs * (1 + Math.floor((ahead - free) / (concurrency ?? 1)));
      const rateMs = rate ? Math.ceil((lacks * rate.windowMs) / rate.count) : 0;
      const retryMs = Math.min(SLOT_RETRY_MAX_MS, Math.max(slotMs, rateMs));
      mine.untilMs = nowMs + retryMs + SLOT_PATIENCE_MS;
      return { type: "wait", by: slotMs > 0 ? "concurrency" : "rate", retryMs };
    },
    async keep({ limit, taskId, token, nowMs, leaseMs }) {
      const state = stateOf(limit, nowMs);
      if (!isOfOther(state, { taskId, token })) state.held.set(taskId, { token, untilMs: nowMs + leaseMs });
    },
    async give({ limit, taskId, token, nowMs }) {
      const state = stateOf(limit, nowMs);
      if (!isOfOther(state, { taskId, token })) state.held.delete(taskId);
      // Tasks that wait only for the rate know when to retry.
      if (limit.concurrency === undefined) return [];
      state.line = state.line.filter(({ untilMs }) => untilMs >= nowMs);
      let free = freeOf(state, limit);
      let tokens = tokensOf(state, limit, nowMs);
      const runs = [];
      for (const each of state.line) {
        if (free < 1) break;
        if (each.isNew && tokens < 1) break;
        free -= 1;
        if (each.isNew) tokens -= 1;
        each.untilMs = nowMs + SLOT_PATIENCE_MS;
        runs.push({ taskId: each.taskId, run: each.run });
      }
      return runs;
    },
  };
}
