/**
 * The Lua scripts of tasks as typed functions, so that call sites need not count keys or know the order of arguments.
 */
import type { Over, RefusedReason, TaskQuotas } from "@parley/core";
import type { Redis } from "ioredis";
import type { TaskKeys } from "./keys.ts";
import { type Argument, loadScripts, type ScriptFiles } from "./load-scripts.ts";

/** Scripts with more keys than a task's own, such as the owner's list or the audit stream. */
const KEY_COUNTS: Readonly<Partial<Record<string, number>>> = { create: 9, answer: 5, agree: 5, refuse: 5, cancel: 5, note: 5 };

const SCRIPTS = [
  "create",
  "begin",
  "release",
  "record",
  "report",
  "park",
  "answer",
  "agree",
  "redeposit",
  "refuse",
  "finish",
  "settle",
  "cancel",
  "postpone",
  "note",
  "overdue",
  "journal",
  "recorded",
] as const;

/** Key and packed value. */
export type Pair = readonly [key: string, value: string];

export type PackedOpen = readonly [key: string, digest: string, ask: string];

export interface Scripts {
  create(keys: TaskKeys, beside: CreateKeys, args: CreateArguments): Promise<CreateReply>;
  begin(
    keys: TaskKeys,
    args: { taskId: string; run: number; token: string; nowMs: number; dueAtMs: number; opening: readonly Pair[] },
  ): Promise<BeginReply>;
  release(keys: TaskKeys, args: { taskId: string; token: string; nowMs: number }): Promise<"released" | "refused">;
  record(
    keys: TaskKeys,
    args: { taskId: string; token: string; nowMs: number; dueAtMs: number; entries: readonly Pair[]; asks: readonly PackedOpen[] },
  ): Promise<"recorded" | "cancelled" | "refused">;
  report(keys: TaskKeys, args: ReportArguments): Promise<"reported" | "cancelled" | "refused">;
  park(keys: TaskKeys, args: ParkArguments): Promise<[type: "parked" | "refused"] | [type: "due", run: number]>;
  answer(
    keys: TaskKeys,
    auditKey: string,
    args: AnswerArguments,
  ): Promise<[receipt: "accepted" | "duplicate" | "late" | "unknown" | "overtaken", nextRun?: number]>;
  agree(keys: TaskKeys, auditKey: string, args: AgreeArguments): Promise<"accepted" | "duplicate" | "late">;
  redeposit(keys: TaskKeys, args: { key: string; before: string; deposit: string }): Promise<"replaced" | "refused">;
  refuse(keys: TaskKeys, auditKey: string, args: RefuseArguments): Promise<number | null>;
  /** `dueKey` stands in for the keys of a task, because it is in the same slot. */
  note(dueKey: string, auditKey: string, args: { audit: AuditRecord; nowMs: number }): Promise<"noted">;
  finish(keys: TaskKeys, args: FinishArguments): Promise<"finished" | "refused" | PackedRun>;
  settle(keys: TaskKeys, args: { taskId: string; token: string; entries: readonly Pair[] }): Promise<"settled" | "refused">;
  cancel(
    keys: TaskKeys,
    auditKey: string,
    args: { audit: AuditRecord; taskId: string; nowMs: number; message: string | undefined; owes: boolean },
  ): Promise<"cancelled" | "finished" | "unknown" | PackedRun>;
  postpone(keys: TaskKeys, args: { taskId: string; nowMs: number; dueAtMs: number }): Promise<"postponed" | "unchanged">;
  /** Alternating task ids and runs. */
  overdue(dueKey: string, args: { nowMs: number; limit: number; taskPrefix: string }): Promise<readonly (string | number)[]>;
  /** Alternating keys and first words of entries. */
  journal(keys: TaskKeys): Promise<readonly string[]>;
  recorded(keys: TaskKeys): Promise<readonly [task: readonly string[], journal: readonly string[]]>;
}

/** A parent whose child has ended, and its due run. */
export type PackedRun = readonly [taskId: string, run: number];

export type BeginReply = [type: "begun", task: readonly string[], journal: readonly string[]] | [type: RefusedReason];

export type CreateReply =
  /** How many tasks of its share never ran, if it is counted, and whether a worker received the run. */
  | [type: "created", waiting: number | null, isDelivered?: 1 | null]
  | [type: "exists" | "expired" | "settled" | "crowded" | "cancelled" | "refused"]
  | [type: "known", taskId: string, fingerprint: string]
  | [type: "over", what: Over["over"], of: Over["of"]];

/** The stored text, and how many records the stream keeps; undefined: no record is written. */
export type AuditRecord = { readonly text: string; readonly lengthMax: number } | undefined;

export interface AgreeArguments {
  readonly key: string;
  readonly digest: string;
  readonly nowMs: number;
  readonly audit: AuditRecord;
}

export interface RefuseArguments {
  readonly key: string;
  readonly digest: string;
  readonly violations: string;
  readonly nowMs: number;
  readonly audit: AuditRecord;
}

export interface CreateKeys {
  readonly owner: string;
  readonly audit: string;
  /** Unused without an idempotency key. */
  readonly once: string;
  readonly waitingRuns: readonly [wait: string, prioritized: string];
}

export interface CreateArguments {
  readonly once: { readonly key: string; readonly fingerprint: string } | undefined;
  readonly audit: AuditRecord;
  readonly taskId: string;
  readonly facts: string;
  readonly given: string;
  readonly createdAtMs: number;
  readonly retentionMs: number;
  readonly dueAtMs: number;
  /** Undefined keeps the task out of its owner's list. */
  readonly ownerExpiresAtMs: number | undefined;
  readonly ownerLengthMax: number;
  /** By Redis' clock; undefined: no limit. */
  readonly notAfterMs: number | undefined;
  /** Undefined: the task is not counted. */
  readonly quotas: TaskQuotas | undefined;
  readonly lane: string | undefined;
  /** For a child. */
  readonly parent:
    | { readonly link: string; readonly token: string; readonly leaseUntilMs: number; readonly open: string; readonly childrenMax: number }
    | undefined;
}

export interface ReportArguments {
  readonly token: string;
  readonly nowMs: number;
  readonly fields: readonly Pair[];
  readonly items: readonly string[];
  readonly feedLengthMax: number;
}

export interface ParkArguments {
  readonly taskId: string;
  readonly token: string;
  readonly nowMs: number;
  readonly dueAtMs: number;
  readonly readyAtMs: number;
  readonly attempt: number;
  /** Packed arguments, if the task restarts. */
  readonly restart: string | undefined;
  readonly fields: readonly Pair[];
  readonly entries: readonly Pair[];
  readonly asks: readonly PackedOpen[];
}

export interface AnswerArguments {
  readonly audit: AuditRecord;
  readonly taskId: string;
  readonly key: string;
  readonly digest: string | undefined;
  /** Of the outcome. */
  readonly fingerprint: string;
  readonly outcome: string;
  /** No person answered: the answer is dated at the ask's deadline. */
  readonly isTimeout: boolean;
  readonly nowMs: number;
  readonly readyAtMs: number;
  readonly token: string | undefined;
  /** Sealed. */
  readonly deposit: string | undefined;
  readonly lane: string | undefined;
  /** `acceptances` are packed; undefined if the answer settles the ask. */
  readonly quorum: { readonly seen: number | undefined; readonly acceptances: string | undefined } | undefined;
}

export interface FinishArguments {
  readonly taskId: string;
  readonly token: string;
  readonly nowMs: number;
  readonly status: "completed" | "failed";
  readonly fields: readonly Pair[];
  readonly entries: readonly Pair[];
  readonly owes: string | undefined;
  /** For a child: what its parent receives, mark and outcome; undefined for any other task. */
  readonly childEnd:
    | { readonly answer: string; /** In place of it, where there is no room for it. */ readonly tooLarge: string; readonly max: number }
    | undefined;
}

export function defineScripts(redis: Redis, { encoding, sharded }: Pick<ScriptFiles<string>, "encoding" | "sharded">): Scripts {
  const run = loadScripts(redis, {
    names: SCRIPTS,
    folder: "",
    shared: "task",
    keyCount: (name) => KEY_COUNTS[name] ?? 4,
    ...(encoding && { encoding }),
    ...(sharded && { sharded }),
  });

  return {
    create: (
      keys,
      { owner, audit: auditKey, once: onceKey, waitingRuns },
      {
        audit,
        once,
        taskId,
        facts,
        given,
        createdAtMs,
        retentionMs,
        dueAtMs,
        ownerExpiresAtMs,
        ownerLengthMax,
        notAfterMs,
        quotas,
        lane,
        parent,
      },
    ) =>
      run.create([
        ...keys,
        owner,
        auditKey,
        onceKey,
        ...waitingRuns,
        taskId,
        facts,
        given,
        createdAtMs,
        retentionMs,
        dueAtMs,
        ownerExpiresAtMs ?? "",
        ownerLengthMax,
        notAfterMs ?? "",
        ...record(audit),
        once?.key ?? "",
        once?.fingerprint ?? "",
        lane ?? "",
        ...(quotas
          ? [quotas.principal.tasks, quotas.principal.bytes, quotas.tenant.tasks, quotas.tenant.bytes]
          : parent
            ? ["", "", "", ""]
            : [""]),
        ...(parent ? [parent.link, parent.token, parent.leaseUntilMs, parent.open, parent.childrenMax] : []),
      ]) as never,
    begin: (keys, { taskId, run: number, token, nowMs, dueAtMs, opening }) =>
      run.begin([...keys, taskId, number, token, nowMs, dueAtMs, ...list(opening)]) as never,
    release: (keys, { taskId, token, nowMs }) => run.release([...keys, taskId, token, nowMs]) as never,
    record: (keys, { taskId, token, nowMs, dueAtMs, entries, asks }) =>
      run.record([...keys, taskId, token, nowMs, dueAtMs, ...list(entries), ...list(asks)]) as never,
    report: (keys, { token, nowMs, fields, items, feedLengthMax }) =>
      run.report([...keys, token, nowMs, ...list(fields), feedLengthMax, items.length, ...items]) as never,
    park: (keys, { taskId, token, nowMs, dueAtMs, readyAtMs, attempt, restart, fields, entries, asks }) => {
      const lists = [...list(fields), ...list(entries), ...list(asks)];
      return run.park([...keys, taskId, token, nowMs, dueAtMs, readyAtMs, attempt, restart ?? "", ...lists]) as never;
    },
    answer: (
      keys,
      auditKey,
      { audit, taskId, key, digest, fingerprint, outcome, isTimeout, nowMs, readyAtMs, token, deposit, lane, quorum },
    ) =>
      run.answer([
        ...keys,
        auditKey,
        taskId,
        key,
        digest ?? "",
        fingerprint,
        outcome,
        isTimeout ? 1 : "",
        nowMs,
        readyAtMs,
        token ?? "",
        ...record(audit),
        deposit ?? "",
        lane ?? "",
        ...(quorum ? [quorum.seen ?? "", quorum.acceptances ?? ""] : []),
      ]) as never,
    agree: (keys, auditKey, { key, digest, nowMs, audit }) => run.agree([...keys, auditKey, key, digest, nowMs, ...record(audit)]) as never,
    redeposit: (keys, { key, before, deposit }) => run.redeposit([...keys, key, before, deposit]) as never,
    refuse: (keys, auditKey, { key, digest, violations, nowMs, audit }) =>
      run.refuse([...keys, auditKey, key, digest, violations, nowMs, ...record(audit)]) as never,
    note: (dueKey, auditKey, { audit, nowMs }) => run.note([dueKey, dueKey, dueKey, dueKey, auditKey, ...record(audit), nowMs]) as never,
    finish: (keys, { taskId, token, nowMs, status, fields, entries, owes, childEnd }) => {
      const end = [owes ?? "", ...(childEnd ? [childEnd.answer, childEnd.tooLarge, childEnd.max] : [])];
      return run.finish([...keys, taskId, token, nowMs, status, ...list(fields), ...list(entries), ...end]) as never;
    },
    settle: (keys, { taskId, token, entries }) => run.settle([...keys, taskId, token, ...list(entries)]) as never,
    cancel: (keys, auditKey, { taskId, nowMs, message, owes, audit }) =>
      run.cancel([...keys, auditKey, taskId, nowMs, message ?? "", ...record(audit), owes ? 1 : ""]) as never,
    postpone: (keys, { taskId, nowMs, dueAtMs }) => run.postpone([...keys, taskId, nowMs, dueAtMs]) as never,
    // The partition's task keys are not known in advance; the due set stands in for them, because it is in the same
    // slot.
    overdue: (dueKey, { nowMs, limit, taskPrefix }) => run.overdue([dueKey, dueKey, dueKey, dueKey, nowMs, limit, taskPrefix]) as never,
    journal: (keys) => run.journal([...keys]) as never,
    recorded: (keys) => run.recorded([...keys]) as never,
  };
}

/** A list as the scripts read it: the number of groups, then the groups. */
function list(groups: readonly (readonly string[])[]): Argument[] {
  return [groups.length, ...groups.flat()];
}

function record(audit: AuditRecord): Argument[] {
  return audit ? [audit.text, audit.lengthMax] : ["", 0];
}
