/**
 * What becomes of the calls that rules stop: an audit record of each step, figures for each rule, and what a process counts itself.
 *
 *   asked ──▶ approved ──▶ spent               it ran
 *     │           └──────▶ void                it did not: the rules had changed
 *     └─────▶ refused · expired · closed
 *   granted, then used for each later call     a standing approval
 *   denied                                     by a rule
 *
 * A standing approval passes later calls without a question (standing.ts).
 *
 * A worker that dies may write an audit record of a call twice; figures count it once. Neither stops a call: if they cannot be written, the log says so.
 */
import {
  type ApprovalEnd,
  type ApprovalRecord,
  type Audit,
  type AuditFact,
  bindingOfCall,
  type Call,
  type CallFacts,
  DEFAULT_TENANT,
  type Digest,
  describeError,
  type JsonObject,
  type LastApproved,
  type Log,
  type StandingApprovals,
  type Tool,
  toolOf,
} from "@parley/core";
import { kindOf, type LastCall } from "./compare.ts";
import { plantedCaller, plantedCopy, type PlantTest, type Tests, TESTS_A_DAY_MAX, testKey, testsOf } from "./planted.ts";
import type { Decision } from "./rules.ts";
import { grantStanding, standingId, type StoppedToAsk, useStanding } from "./standing.ts";

export interface Stopped {
  readonly taskId: string;
  readonly call: CallFacts & Pick<Call, "reason">;
  readonly decided: Exclude<Decision, { readonly type: "allow" }>;
}

interface OfRule extends Pick<Stopped, "taskId" | "call"> {
  readonly decided: { readonly rule: string; readonly version?: string };
}

interface Noted {
  readonly principal?: string | undefined;
  /** Of a standing approval. */
  readonly id?: string;
  readonly edited?: JsonObject | undefined;
}

/** How the question of a stopped call ended. `by`: the principals who decided. */
export interface Settlement {
  readonly end: ApprovalEnd;
  readonly atMs: number;
  readonly by: readonly string[];
  /** All arguments, if the approver changed some. */
  readonly edited?: JsonObject | undefined;
  /** Approved, but the rules have changed. */
  readonly isVoid: boolean;
}

/** Never throws. */
export interface GateRecord {
  now(): number;
  denied(stopped: Stopped): Promise<void>;
  asked(stopped: Stopped): Promise<void>;
  settled(stopped: Stopped, settlement: Settlement): Promise<void>;
  /** The id of the standing approval by which the call passes, which has one use less now; undefined if it has to ask. */
  useStanding(stopped: StoppedToAsk): Promise<string | undefined>;
  grantStanding(stopped: StoppedToAsk, granted: { readonly by: string; readonly forMs: number }): Promise<void>;
  /** The last approved call of its kind. */
  lastApproved(stopped: StoppedToAsk): Promise<LastCall>;
  /** Has the call followed by a test, now and then. `tool`: what runs as a test. */
  plantTest(
    stopped: StoppedToAsk,
    plant: { readonly tool: Tool; readonly runs: Tool; readonly args: JsonObject; readonly tests: Tests },
  ): Promise<void>;
  /** A test was asked, or has ended: `caught` was refused, `missed` approved, `closed` neither, also if nobody was asked. */
  tested(stopped: OfRule, tested: Tested): Promise<void>;
  /** `args`: what the rule shows of them, undefined if nobody can say. */
  noteApproved(stopped: StoppedToAsk, noted: { readonly args: JsonObject | undefined; readonly atMs: number }): Promise<void>;
}

export interface Tested {
  readonly did: "tested" | "caught" | "missed" | "closed";
  /** The task of the call that the test copies. */
  readonly copyOf: string;
  readonly askedAtMs: number;
  readonly atMs: number;
  readonly by: readonly string[];
}

export interface Recorders {
  readonly approvals?: ApprovalRecord;
  readonly standing?: StandingApprovals;
  /** For rules that compare a call with the last one. */
  readonly lastApproved?: LastApproved;
  /** Makes the task of a test. Without it there are no tests. */
  readonly plant?: (planted: PlantTest) => Promise<unknown>;
  /** In [0, 1). */
  readonly random?: () => number;
  readonly audit?: Audit;
  /** For what the audit has a digest of. */
  readonly digest?: Digest;
  readonly now: () => number;
  readonly log: Log;
  /** For metrics. `waitedMs` is absent if no person decided. */
  readonly count?: (counted: { readonly rule: string; readonly did: Did; readonly waitedMs?: number }) => void;
}

export const DID = [
  "denied",
  "asked",
  "approved",
  "refused",
  "expired",
  "closed",
  "withdrawn",
  "spent",
  "void",
  "granted",
  "used",
  "tested",
  "caught",
  "missed",
] as const;
export type Did = (typeof DID)[number];

/** The call asks a person then. */
const NOT_STANDING = "standing approval was not read or written";

export function createGateRecord({
  approvals,
  standing,
  lastApproved,
  plant,
  random = Math.random,
  audit,
  digest,
  now,
  log,
  count,
}: Recorders): GateRecord {
  async function note({ taskId, call, decided }: OfRule, did: Did, { principal, id, edited }: Noted): Promise<void> {
    const { tenant = DEFAULT_TENANT, binding, reason } = call;
    await audit?.note({
      action: "approval",
      did,
      taskId,
      ...(principal !== undefined && { principal }),
      ...(tenant !== DEFAULT_TENANT && { tenant }),
      ...toolOf(call),
      ...(binding !== undefined && { call: binding }),
      ...(digest && edited && { edited: bindingOfCall({ digest }, taskId, call, edited) }),
      ...(digest && reason !== undefined && { reason: digest(reason, taskId) }),
      rule: decided.rule,
      ...(id !== undefined && { standing: id }),
      ...(decided.version !== undefined && { ruleVersion: decided.version }),
    } satisfies AuditFact);
  }

  async function figure(stopped: OfRule, write: () => Promise<void> | undefined): Promise<void> {
    try {
      await write();
    } catch (error) {
      log.warn({ taskId: stopped.taskId, rule: stopped.decided.rule, ...describeError(error) }, "figures of an approval were not written");
    }
  }

  async function attempt<T>({ taskId, decided }: Stopped, work: () => Promise<T>, failed: string): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      log.warn({ taskId, rule: decided.rule, ...describeError(error) }, failed);
      return undefined;
    }
  }

  const kindIn = (stopped: StoppedToAsk) => ({ tenant: stopped.call.tenant ?? DEFAULT_TENANT, id: kindOf(stopped) });

  return {
    now,
    async lastApproved(stopped) {
      if (!lastApproved) return "unknown";
      const read = async () => (await lastApproved.read({ ...kindIn(stopped), nowMs: now() })) ?? "none";
      return (await attempt(stopped, read, "the last approved call was not read")) ?? "unknown";
    },
    async plantTest(stopped, { tool, runs, args, tests: { share, change } }) {
      if (!plant || !approvals || random() >= share) return;
      const { taskId, call, decided } = stopped;
      const { tenant = DEFAULT_TENANT } = call;
      const rule = testsOf(decided.rule);
      const drawn = change[Math.floor(random() * change.length)];
      if (!drawn) return;
      const work = async () => {
        const copy = await plantedCopy(tool, args, { stopped, change: drawn });
        if ("problem" in copy) {
          log.info({ taskId, rule: decided.rule, problem: copy.problem }, "a test of a rule was not made");
          return;
        }
        const { rules } = await approvals.read({ tenant, days: 1, nowMs: now() });
        if ((rules.find((each) => each.rule === rule)?.asked ?? 0) >= TESTS_A_DAY_MAX) return;
        const asked = { tenant, rule, taskId, askedAtMs: now() };
        await approvals.asked(asked);
        const { retentionMs } = call;
        try {
          await plant({ tool: runs, caller: plantedCaller(stopped), arguments: copy, idempotencyKey: testKey(taskId), retentionMs });
        } catch (error) {
          // There is nobody who would settle it. On the same day, since a report of one day takes these from those that were asked.
          await approvals.settled({ ...asked, end: "withdrawn", atMs: asked.askedAtMs, by: [] });
          throw error;
        }
      };
      await attempt(stopped, work, "a test of a rule was not made");
    },
    async tested(stopped, { did, copyOf, askedAtMs, atMs, by }) {
      const { rule } = stopped.decided;
      const { tenant = DEFAULT_TENANT } = stopped.call;
      if (did !== "closed") {
        count?.({ rule, did });
        for (const principal of by.length > 0 ? by : [undefined]) await note(stopped, did, { principal });
      }
      if (did === "tested") return;
      const end = did === "caught" ? "refused" : did === "missed" ? "approved" : "closed";
      await figure(stopped, () => approvals?.settled({ tenant, rule: testsOf(rule), taskId: copyOf, askedAtMs, end, atMs, by }));
    },
    async noteApproved(stopped, { args, atMs }) {
      const { taskId, call } = stopped;
      const noted = { ...kindIn(stopped), taskId, principal: call.principal, approvedAtMs: atMs };
      const note = async () => await lastApproved?.note({ ...noted, ...(args && { arguments: JSON.stringify(args) }) });
      await attempt(stopped, note, "the last approved call was not written");
    },
    async useStanding(stopped) {
      const used = standing && (await attempt(stopped, () => useStanding(standing, stopped, now()), NOT_STANDING));
      if (!used) return undefined;
      count?.({ rule: stopped.decided.rule, did: "used" });
      await note(stopped, "used", { principal: stopped.call.principal, id: used.id });
      return used.id;
    },
    async grantStanding(stopped, { by, forMs }) {
      const granted = { by, forMs, grantedAtMs: now() };
      const isGranted = standing && (await attempt(stopped, () => grantStanding(standing, stopped, granted), NOT_STANDING));
      const { rule } = stopped.decided;
      if (isGranted === false) log.warn({ taskId: stopped.taskId, rule }, "standing approval was not given: the tenant has too many");
      if (!isGranted) return;
      count?.({ rule, did: "granted" });
      await note(stopped, "granted", { principal: by, id: standingId(stopped.decided) });
    },
    async denied(stopped) {
      count?.({ rule: stopped.decided.rule, did: "denied" });
      await note(stopped, "denied", { principal: stopped.call.principal });
    },
    async asked(stopped) {
      count?.({ rule: stopped.decided.rule, did: "asked" });
      const asked = askedOf(stopped);
      await Promise.all([
        note(stopped, "asked", { principal: stopped.call.principal }),
        figure(stopped, () => asked && approvals?.asked(asked)),
      ]);
    },
    async settled(stopped, { end, atMs, by, isVoid, edited }) {
      const { rule } = stopped.decided;
      const asked = askedOf(stopped);
      count?.({ rule, did: end, ...(asked && by.length > 0 && { waitedMs: Math.max(0, atMs - asked.askedAtMs) }) });
      const then = end === "approved" ? (isVoid ? "void" : "spent") : undefined;
      if (then) count?.({ rule, did: then });
      await Promise.all([
        (async () => {
          for (const principal of by.length > 0 ? by : [undefined]) await note(stopped, end, { principal, edited });
          if (then) await note(stopped, then, { principal: stopped.call.principal, edited });
        })(),
        figure(stopped, () => asked && approvals?.settled({ ...asked, end, atMs, by, ...(isVoid && { isVoid }) })),
      ]);
    },
  };
}

/** Undefined for a question that an earlier version asked: it was not counted. */
function askedOf({ taskId, call: { tenant = DEFAULT_TENANT }, decided }: Stopped) {
  if (decided.type !== "approve" || decided.askedAtMs === undefined) return undefined;
  return { tenant, rule: decided.rule, taskId, askedAtMs: decided.askedAtMs };
}
