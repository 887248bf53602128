/**
 * The Lua scripts of tasks as typed functions, so that call sites need not count keys or know the order of arguments.
 */
import { ANSWERED_MAX, type Over, type RefusedReason, type TaskQuotas } from "@parley/core";
import type { Redis } from "ioredis";
import type { TaskKeys } from "../keys.ts";
import { type Argument, loadScripts, type ScriptFiles } from "./load-scripts.ts";

/** Scripts with more keys than a task's own, such as the owner's list or the audit stream. */
const KEY_COUNTS: Readonly<Partial<Record<string, number>>> = {
  create: 9,
  answer: 5,
  agree: 5,
  refuse: 5,
  thread: 5,
  cancel: 5,
  reveal: 5,
  note: 5,
};

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
  "thread",
  "finish",
  "settle",
  "cancel",
  "reveal",
  "postpone",
  "note",
  "overdue",
  "journal",
  "recorded",
] as const;

/** What all scripts on tasks are loaded behind. */
export const SHARED_BY_TASKS = ["task", "task/asks", "task/tell", "task/usage", "task/end", "task/entries", "outbox/post"] as const;

/** Key and packed value. */
export type Pair = readonly [key: string, value: string];

/** `names`: digests of the names in its audience, separated by spaces, and `!approval` if a rule asks; `""` for an ask to the owner alone. */
export type PackedOpen = readonly [key: string, digest: string, ask: string, names: string];

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
  thread(keys: TaskKeys, auditKey: string, args: ThreadArguments): Promise<"accepted" | "overtaken" | "late">;
  note(dueKey: string, auditKey: string, args: { audit: AuditRecord; nowMs: number }): Promise<"noted">;
  finish(keys: TaskKeys, args: FinishArguments): Promise<"finished" | "refused" | PackedRun>;
  settle(keys: TaskKeys, args: { taskId: string; token: string; nowMs: number; entries: readonly Pair[] }): Promise<"settled" | "refused">;
  cancel(
    keys: TaskKeys,
    auditKey: string,
    args: { audit: AuditRecord; taskId: string; nowMs: number; message: string | undefined; owes: boolean },
  ): Promise<"cancelled" | "finished" | "unknown" | PackedRun>;
  reveal(
    keys: TaskKeys,
    owner: string,
    args: { taskId: string; before: string; call: string; ownerExpiresAtMs: number | ""; ownerLengthMax: number },
  ): Promise<"revealed" | "overtaken">;
  postpone(keys: TaskKeys, args: { taskId: string; nowMs: number; dueAtMs: number }): Promise<"postponed" | "unchanged">;
  /** Task id, run and share in turn. */
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

export interface ThreadArguments {
  readonly key: string;
  readonly digest: string;
  readonly seen: number | undefined;
  /** Sealed, like `history`. */
  readonly thread: string;
  readonly history: string;
  /** Digests of the names to which it is handed on, separated by spaces. */
  readonly names: string;
  /** What the outbox says, separated by spaces. */
  readonly tells: string;
  /** How long after it was asked it closes, and the words of its place then; empty if that stays. */
  readonly timeoutMs: number | "";
  readonly orders: string;
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
  readonly waits: "1" | "0" | "";
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
  /** Digest of the person in whose list the answer is kept. */
  readonly giver: string | undefined;
  /** What the outbox says of the answer to an approval. */
  readonly answeredAs: "given" | "refused" | "closed";
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

export function defineScripts(
  redis: Redis,
  { encoding, sharded, newsMax, outbox }: Pick<ScriptFiles<string>, "encoding" | "sharded" | "newsMax" | "outbox">,
): Scripts {
  const run = loadScripts(redis, {
    names: SCRIPTS,
    folder: "",
    shared: SHARED_BY_TASKS,
    keyCount: (name) => KEY_COUNTS[name] ?? 4,
    absentKey: absentKeyOf,
    ...(encoding && { encoding }),
    ...(sharded && { sharded }),
    ...(newsMax !== undefined && { newsMax }),
    outbox,
  });

  // Each call lists the keys, then the arguments in the order of ARGV in the script's header. Call sites and replies are typed by `Scripts`;
  // ioredis types neither.
  return {
    create: (keys, beside, args) =>
      run.create([
        ...keys,
        beside.owner,
        beside.audit,
        beside.once,
        ...beside.waitingRuns,
        args.taskId,
        args.facts,
        args.given,
        args.createdAtMs,
        args.retentionMs,
        args.dueAtMs,
        args.ownerExpiresAtMs ?? "",
        args.ownerLengthMax,
        args.notAfterMs ?? "",
        ...record(args.audit),
        args.once?.key ?? "",
        args.once?.fingerprint ?? "",
        args.lane ?? "",
        ...quotasOf(args),
        ...(args.parent ? parentOf(args.parent) : []),
      ]) as never,
    begin: (keys, args) =>
      run.begin([...keys, args.taskId, args.run, args.token, args.nowMs, args.dueAtMs, ...list(args.opening)]) as never,
    release: (keys, args) => run.release([...keys, args.taskId, args.token, args.nowMs]) as never,
    record: (keys, args) =>
      run.record([...keys, args.taskId, args.token, args.nowMs, args.dueAtMs, ...list(args.entries), ...list(args.asks)]) as never,
    report: (keys, args) =>
      run.report([
        ...keys,
        args.token,
        args.nowMs,
        ...list(args.fields),
        args.feedLengthMax,
        args.items.length,
        ...args.items,
        args.waits,
      ]) as never,
    park: (keys, args) =>
      run.park([
        ...keys,
        args.taskId,
        args.token,
        args.nowMs,
        args.dueAtMs,
        args.readyAtMs,
        args.attempt,
        args.restart ?? "",
        ...list(args.fields),
        ...list(args.entries),
        ...list(args.asks),
      ]) as never,
    answer: (keys, auditKey, args) =>
      run.answer([
        ...keys,
        auditKey,
        args.taskId,
        args.key,
        args.digest ?? "",
        args.fingerprint,
        args.outcome,
        args.isTimeout ? 1 : "",
        args.nowMs,
        args.readyAtMs,
        args.token ?? "",
        ...record(args.audit),
        args.deposit ?? "",
        args.lane ?? "",
        args.giver ?? "",
        ANSWERED_MAX,
        args.answeredAs,
        ...(args.quorum ? [args.quorum.seen ?? "", args.quorum.acceptances ?? ""] : []),
      ]) as never,
    agree: (keys, auditKey, args) => run.agree([...keys, auditKey, args.key, args.digest, args.nowMs, ...record(args.audit)]) as never,
    redeposit: (keys, args) => run.redeposit([...keys, args.key, args.before, args.deposit]) as never,
    refuse: (keys, auditKey, args) =>
      run.refuse([...keys, auditKey, args.key, args.digest, args.violations, args.nowMs, ...record(args.audit)]) as never,
    thread: (keys, auditKey, args) =>
      run.thread([
        ...keys,
        auditKey,
        args.key,
        args.digest,
        args.seen ?? "",
        args.thread,
        args.history,
        args.names,
        args.tells,
        args.nowMs,
        ...record(args.audit),
        args.timeoutMs,
        args.orders,
      ]) as never,
    note: (dueKey, auditKey, args) => run.note([...fourTimes(dueKey), auditKey, ...record(args.audit), args.nowMs]) as never,
    finish: (keys, args) =>
      run.finish([
        ...keys,
        args.taskId,
        args.token,
        args.nowMs,
        args.status,
        ...list(args.fields),
        ...list(args.entries),
        args.owes ?? "",
        ...(args.childEnd ? [args.childEnd.answer, args.childEnd.tooLarge, args.childEnd.max] : []),
      ]) as never,
    settle: (keys, args) => run.settle([...keys, args.taskId, args.token, args.nowMs, ...list(args.entries)]) as never,
    cancel: (keys, auditKey, args) =>
      run.cancel([...keys, auditKey, args.taskId, args.nowMs, args.message ?? "", ...record(args.audit), args.owes ? 1 : ""]) as never,
    reveal: (keys, owner, args) =>
      run.reveal([...keys, owner, args.taskId, args.before, args.call, args.ownerExpiresAtMs, args.ownerLengthMax]) as never,
    postpone: (keys, args) => run.postpone([...keys, args.taskId, args.nowMs, args.dueAtMs]) as never,
    overdue: (dueKey, args) => run.overdue([...fourTimes(dueKey), args.nowMs, args.limit, args.taskPrefix]) as never,
    journal: (keys) => run.journal([...keys]) as never,
    recorded: (keys) => run.recorded([...keys]) as never,
  };
}

/** Scripts about one task may use keys of others: of its family, of what its caller uses, of all that are due. */
export function absentKeyOf([, , , due]: readonly Argument[]): string {
  return String(due).replace(/due$/, "absent");
}

/** In place of a task's four keys, for scripts whose tasks are not known in advance: the due set is in the same slot as they are. */
function fourTimes(dueKey: string): string[] {
  return [dueKey, dueKey, dueKey, dueKey];
}

/** A child's place is kept even if it is not counted, because its parent's arguments follow. */
function quotasOf({ quotas, parent }: CreateArguments): Argument[] {
  if (quotas) return [quotas.principal, quotas.tenant].flatMap(({ tasks, bytes, stored }) => [tasks, bytes, stored ?? ""]);
  return parent ? ["", "", "", "", "", ""] : [""];
}

function parentOf({ link, token, leaseUntilMs, open, childrenMax }: NonNullable<CreateArguments["parent"]>): Argument[] {
  return [link, token, leaseUntilMs, open, childrenMax];
}

/** A list as the scripts read it: the number of groups, then the groups. */
function list(groups: readonly (readonly string[])[]): Argument[] {
  return [groups.length, ...groups.flat()];
}

function record(audit: AuditRecord): Argument[] {
  return audit ? [audit.text, audit.lengthMax] : ["", 0];
}
