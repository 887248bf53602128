/**
 * The gate in front of every run of a tool, whoever wrote the tool and wherever it runs. It is a part of the handler, so a wait for approval is an ask
 * like any other: it parks, survives every process, and is answered through any door.
 *
 *   run ─▶ decide ─▶ allow ──────────────────────────────────────────────▶ the tool's own handler
 *                └─▶ deny ─▶ an error for the model
 *                └─▶ approve ─▶ ask ─▶ yes ─▶ decide again ─▶ the same ────▶ the tool's own handler
 *                                   └─▶ no, or too late ─▶ an error for the model
 *
 *   G1  Nothing of the tool runs before the gate lets it pass, and no call leaves for an upstream.
 *   G2  What a run decided is recorded. Later runs of the task keep to it, whatever the rules say then; only a new task meets new rules. A task that
 *       was at work before there was a rule for it goes on.
 *   G3  An approval belongs to one task, and so to one call, and lets it pass once. It counts if the rules still demand the same of the same call when
 *       it arrives (rules.ts, R2).
 *       Where the rule allows it, the approver may let the same call pass for a while; each later call spends one use of that (standing.ts).
 *   G4  A call that passes without being stopped costs no write and no round trip.
 *   G5  Where the rule allows it, the approver may change arguments (edit.ts). The tool then runs with the changed ones, in every run and when it
 *       compensates, if it reads them as a call's, and if the rules allow the changed call or demand of it no more than the approval just given.
 */
import {
  type Answerers,
  type ApprovalEnd,
  type Catalogue,
  describeViolations,
  type Effects,
  type EndedWithout,
  type Json,
  type JsonObject,
  type Membership,
  type Prompt,
  type Settled,
  type Tool,
} from "@parley/core";
import { fromBehind } from "./behind.ts";
import { aboutCall, approvalMessage, askedOf } from "./approval-message.ts";
import { type Comparing, type LastCall, shownArguments } from "./compare.ts";
import { denial } from "./denial.ts";
import { changedBy, type Edited, editForm, readEdited, withEdit } from "./edit.ts";
import { refusedInProposedNames, ranInProposedNames } from "./proposed-names.ts";
import { type Planted, testTool } from "./planted.ts";
import type { GateRecord } from "./record.ts";
import type { Called, Decision, Rules } from "./rules.ts";
import { approvalForm, standingMs } from "./standing.ts";

/** Names that a tool's own asks, steps and patches hardly have; if they do, theirs are counted on. */
const GATE = "parley.gate";
const DECIDED = "parley.rule";
const APPROVAL = "parley.approval";
const AGAIN = "parley.still-approved";
const NOTED = "parley.noted";
const OF_GATE: ReadonlySet<string> = new Set([DECIDED, AGAIN, NOTED]);

export interface GateOptions {
  /** The rules as they are now. */
  readonly rules: () => Rules;
  /** Called when a decision stops a call; with a dry run, in every run of a call that it would have stopped. Never with arguments. */
  readonly stopped: (decision: Decision, at: { readonly taskId: string; readonly tool: string; readonly isDryRun: boolean }) => void;
  /** Absent: nothing is recorded of a call but the call. */
  readonly record?: GateRecord;
  /** See PARLEY_SECRET_NAMES. */
  readonly secretNames?: readonly string[];
  /** See PARLEY_TOOL_APPROVAL. */
  readonly usesProposedNames?: boolean;
}

export const NO_RULES: Rules = {
  version: "",
  isDryRun: false,
  asksForMembership: false,
  names: [],
  tests: () => undefined,
  concerns: () => false,
  decide: () => ({ type: "allow", rule: "no rules" }),
};

/** The same catalogue with the gate in front of its tools and prompts. */
export function gated(catalogue: Catalogue, options: GateOptions): Catalogue {
  return {
    ...catalogue,
    tools: new Map([...catalogue.tools].map(([name, tool]) => [name, gatedTool(tool, options)])),
    prompts: new Map([...catalogue.prompts].map(([name, prompt]) => [name, gatedPrompt(prompt, options)])),
  };
}

export function gatedTool(tool: Tool, options: GateOptions): Tool {
  return { ...tool, ...gatedParts(tool, options), ...(tool.older && { older: tool.older.map((each) => gatedTool(each, options)) }) };
}

function gatedPrompt(prompt: Prompt, options: GateOptions): Prompt {
  return { ...prompt, ...gatedParts(prompt, options) };
}

function gatedParts(tool: Called, options: GateOptions): Pick<Called, "run" | "open" | "callTaskless" | "compensate" | "keepsMembership"> {
  const { rules } = options;
  const { open, callTaskless, compensate } = tool;
  return {
    async run(args, effects) {
      const { refused, edited, wasAsked = false } = await judged(tool, args, effects, options);
      const { usesProposedNames: proposes = false } = options;
      if (refused) return proposes ? refusedInProposedNames(refused, { wasAsked }) : refused;
      const result = fromBehind(await tool.run(edited?.arguments ?? args, effects));
      const told = edited ? withEdit(result, edited) : result;
      return proposes && wasAsked ? ranInProposedNames(told) : told;
    },
    // Of every tool: it may call one that a rule is about.
    keepsMembership: () => rules().asksForMembership,
    // What would be recorded first may be the approval.
    ...(open && { open: () => (rules().concerns(tool) ? undefined : open.call(tool)) }),
    // Without a task nothing can wait, and nothing of a decision is kept.
    ...(callTaskless && {
      async callTaskless(call) {
        const made = rules().concerns(tool) ? undefined : await callTaskless.call(tool, call);
        return made && { ...made, result: fromBehind(made.result) };
      },
    }),
    ...(compensate && {
      async compensate(args: JsonObject, effects: Effects, ended: EndedWithout) {
        const done = ended.done.filter(({ key }) => !OF_GATE.has(key));
        const ran = editIn(ended)?.arguments ?? args;
        if (done.length === ended.done.length || hasPassed(ended)) await compensate.call(tool, ran, effects, { ...ended, done });
      },
    }),
  };
}

/**
 * The tool for a replay of a recorded task. Behind the gate if a rule stopped the task; what it decided is in the journal. Otherwise the tool as it is,
 * so that a replay reports nothing of a gate.
 */
export function replayedBehindGate<C extends Called>(called: C, journal: Readonly<Record<string, unknown>>): C {
  return `patch:${GATE}` in journal ? { ...called, ...gatedParts(called, { rules: () => NO_RULES, stopped: () => undefined }) } : called;
}

/** The catalogue with what runs as a test of each tool. For workers. */
export function withTests(catalogue: Catalogue, options: GateOptions): Catalogue {
  const tests = [...catalogue.tools.values()].map((tool) => asTest(tool, options));
  return { ...catalogue, tools: new Map([...catalogue.tools, ...tests.map((tool) => [tool.name, tool] as const)]) };
}

/** Asks as the gate would, and runs nothing (planted.ts). */
function asTest(tool: Tool, options: GateOptions): Tool {
  return testTool(tool, async (planted, effects) => {
    const { record } = options;
    const { arguments: args, membership, reason } = planted;
    const call = { ...effects.call, ...(membership !== undefined && { membership: membership as Membership }) };
    let last: LastCall | undefined;
    const decide = async () => {
      const now = options.rules().decide(tool, args, call);
      const isOfRule = now.type === "approve" && now.rule === planted.rule && options.rules().tests(now.rule) !== undefined;
      const askedAtMs = record?.now() ?? 0;
      const at = { copyOf: planted.of, askedAtMs, atMs: askedAtMs, by: [] };
      if (!isOfRule || options.rules().isDryRun) {
        const unasked = { taskId: effects.taskId, call: { ...effects.call, name: tool.name }, decided: { rule: planted.rule } };
        await record?.tested(unasked, { ...at, did: "closed" });
        return null;
      }
      const asked = { ...now, askedAtMs };
      const of = { taskId: effects.taskId, call: { ...effects.call, name: tool.name }, decided: asked };
      last = now.diff && (await record?.lastApproved(of));
      await record?.tested(of, { ...at, did: "tested" });
      return asked as unknown as Json;
    };
    const decided = (await effects.step(DECIDED, decide, { isRecordedLater: (found) => found !== null })) as unknown as Approve | null;
    if (!decided) return "The rules would not ask about it any more.";
    const of = { taskId: effects.taskId, call: { ...effects.call, name: tool.name }, decided };
    const compared = last && { last, redact: decided.redact, principal: effects.call.principal };
    const { request, identity } = approvalRequest(
      tool,
      { arguments: args, reason, secretNames: options.secretNames, ...(compared && { compared }) },
      decided,
    );
    const { audience, timeoutMs } = decided;
    const answer = await effects.ask(APPROVAL, request, { audience, timeoutMs, identity });
    const answerers = effects.answeredBy(APPROVAL);
    const did = outcomeOf(answer, planted, request.schema);
    const by = did === "closed" ? [] : decidersOf(answer, answerers);
    const settled = async () => {
      const { askedAtMs = 0 } = decided;
      await record?.tested(of, { did, copyOf: planted.of, askedAtMs, atMs: answerers?.atMs ?? record.now(), by });
      return did;
    };
    await effects.step(NOTED, settled, { isRecordedLater: () => true });
    return `A test: ${did}.`;
  });
}

/** Whoever approves it with all planted arguments changed has seen them. */
function outcomeOf(answer: Settled, { changed }: Planted, form: JsonObject): "caught" | "missed" | "closed" {
  if (answer.action === "decline") return "caught";
  if (answer.action !== "accept") return "closed";
  const edited = changedBy(answer.content, form) ?? {};
  return changed.every((name) => Object.hasOwn(edited, name)) ? "caught" : "missed";
}

/** What to do with a call: return what its caller gets, or run it, with other arguments if the approver changed some. */
interface Judged {
  readonly refused?: JsonObject;
  /** People were asked about it. */
  readonly wasAsked?: true;
  readonly edited?: Edited;
}

async function judged(tool: Called, args: JsonObject, effects: Effects, options: GateOptions): Promise<Judged> {
  const { record } = options;
  /** In the run that asks. The question keeps what it showed. */
  let last: LastCall | undefined;
  const { isDryRun } = options.rules();
  const now = options.rules().decide(tool, args, effects.call);
  const isStopping = now.type !== "allow" && !isDryRun;
  // True if the task was stopped before, or is stopped now. False if it was at work when the rule came.
  const isStopped = isStopping ? effects.patched(GATE) : effects.tookPatch(GATE);
  const report = () => now.type !== "allow" && options.stopped(now, { taskId: effects.taskId, tool: tool.name, isDryRun });
  if (isDryRun) report();
  if (!isStopped) return {};
  const of = { taskId: effects.taskId, call: effects.call };
  const decide = async () => {
    // Only a rule that allows it looks for one.
    const used = now.type === "approve" && now.standing && (await record?.useStanding({ ...of, decided: now }));
    if (used) return { type: "allow", rule: now.rule, standing: used };
    report();
    if (now.type === "deny") await record?.denied({ ...of, decided: now });
    if (now.type !== "approve" || !record) return now as Json;
    const asked = { ...now, askedAtMs: record.now() };
    const tests = tool.kind === "tool" ? options.rules().tests(now.rule) : undefined;
    // Beside it: nothing of the call waits for it, and it never fails.
    if (tests && tool.kind === "tool") void record.plantTest({ ...of, decided: now }, { tool, runs: asTest(tool, options), args, tests });
    [last] = await Promise.all([now.diff && record.lastApproved({ ...of, decided: now }), record.asked({ ...of, decided: asked })]);
    return asked;
  };
  // Recorded with the question, or with the end of the task; at once if the tool runs now.
  const isRecordedLater = (result: Json | undefined) => (result as Decision | undefined)?.type !== "allow";
  const decided = (await effects.step(DECIDED, decide, { isRecordedLater })) as unknown as Decision;
  if (decided.type === "allow") return {};
  if (decided.type === "deny") return { refused: denial(tool, { ...decided, again: decided.isForNow ? "later" : "never" }) };

  const { title, audience, timeoutMs } = decided;
  effects.status(`Waits for approval: ${title}. ${askedOf(audience)}`);
  const { request, identity } = approvalRequest(
    tool,
    {
      arguments: args,
      reason: effects.call.reason,
      secretNames: options.secretNames,
      ...(last && { compared: { last, redact: decided.redact, principal: effects.call.principal } }),
    },
    decided,
  );
  const answer = await effects.ask(APPROVAL, request, { audience, timeoutMs, identity });
  const answerers = effects.answeredBy(APPROVAL);
  const settled = async (end: ApprovalEnd, isVoid = false, edited?: Edited) =>
    await record?.settled(
      { ...of, decided },
      {
        end,
        isVoid,
        edited: edited?.arguments,
        atMs: answerers?.atMs ?? record.now(),
        by: end === "approved" || end === "refused" ? decidersOf(answer, answerers) : [],
      },
    );
  const wasAsked = true;
  const refusedAs = async (end: ApprovalEnd, reason: string, again: "later" | "changed") => {
    // Recorded with the end of the task.
    await effects.step(NOTED, async () => (await settled(end), end), { isRecordedLater: () => true });
    return { refused: denial(tool, { ...decided, reason, again }), wasAsked } as const;
  };
  switch (answer.action) {
    case "accept":
      break;
    case "decline":
      return await refusedAs("refused", refused(answer.reason), "changed");
    case "timeout":
      return await refusedAs("expired", "Nobody approved it in time.", "later");
    default:
      return await refusedAs("closed", "It was not approved.", "later");
  }
  const content = answer.action === "accept" ? answer.content : undefined;
  const by = decidersOf(answer, answerers)[0] ?? effects.call.principal;
  const stillApproved = async (): Promise<Again> => {
    const decideNow = (given: JsonObject) => options.rules().decide(tool, given, effects.call);
    const since = changedSince(decided, decideNow(args));
    if (since !== "" || !decided.edit || tool.kind !== "tool") return since;
    const changed = changedBy(content, request.schema);
    if (!changed) return "It was approved with arguments that cannot be changed.";
    if (Object.keys(changed).length === 0) return "";
    const read = await readEdited(tool, args, changed);
    if (!read.ok) return `It was approved with changes that the tool does not take: ${describeViolations(read.violations)}`;
    return forbiddenEdit(decided, decideNow(read.args)) ?? { arguments: read.args, changed, by };
  };
  let isDecidedHere = false;
  const decideAgain = async () => {
    const found = await stillApproved();
    await settled("approved", isVoid(found), typeof found === "string" ? undefined : found);
    isDecidedHere = true;
    const forMs = standingMs(content, decided.standing);
    if (found === "" && forMs !== undefined) await record?.grantStanding({ ...of, decided }, { by, forMs });
    return found;
  };
  const tells = { ask: APPROVAL, what: (found: unknown) => (isVoid(found) ? "void" : "spent") } as const;
  const again = (await effects.step(AGAIN, decideAgain, { tells })) as Again | undefined;
  if (isVoid(again)) return { refused: denial(tool, { ...decided, reason: again, again: "later" }), wasAsked };
  // Once it is recorded: another worker may have decided otherwise. A worker that dies here has kept nothing to compare with.
  if (decided.diff && isDecidedHere) {
    const shown = shownArguments(tool, typeof again === "object" ? again.arguments : args, decided.redact);
    const noted = { args: shown, atMs: answerers?.atMs ?? record?.now() ?? 0 };
    await effects.ofCtx(record?.noteApproved({ ...of, decided }, noted) ?? Promise.resolve());
  }
  effects.status("Approved.");
  return { wasAsked, ...(typeof again === "object" && { edited: again }) };
}

type Approve = Extract<Decision, { readonly type: "approve" }>;

/** Of the step after a yes: why it does not count, "" if it does, or what was changed. */
type Again = string | Edited;

function isVoid(again: unknown): again is string {
  return typeof again === "string" && again !== "";
}

/** Why a changed call may not run: whoever approved it can give this approval, and no other. */
function forbiddenEdit({ rule, version }: Extract<Decision, { type: "approve" }>, now: Decision): string | undefined {
  if (now.type === "deny") return `It was approved with changes, and a rule refuses the changed call: ${now.reason}`;
  if (now.type === "approve" && (now.rule !== rule || now.version !== version))
    return `It was approved with changes, and the changed call needs another approval (${now.title}).`;
  return undefined;
}

/** One is enough to refuse, whoever had agreed by then. */
function decidersOf({ action }: Settled, answerers: Answerers | undefined): readonly string[] {
  const { accepted, principal } = answerers ?? {};
  if (action === "accept" && accepted && accepted.length > 0) return accepted.map((each) => each.principal);
  return principal === undefined ? [] : [principal];
}

interface Asked {
  readonly arguments: JsonObject;
  readonly secretNames: readonly string[] | undefined;
  readonly reason: string | undefined;
  readonly compared?: Comparing;
}

/** The decision's digest stands for all that is asked (rules.ts, R2), so how it is worded may change while a call waits. */
function approvalRequest(
  tool: Called,
  { arguments: args, reason, compared, secretNames = [] }: Asked,
  decided: Extract<Decision, { type: "approve" }>,
) {
  const message = approvalMessage(tool, decided);
  const { edit } = decided;
  const form = {
    type: "form",
    hints: {
      submitLabel: "Approve",
      cancelLabel: "Refuse",
      ...(decided.risk === "high" && { destructive: true }),
      ...(edit && { filledIn: true }),
    },
  } as const;
  return {
    request: {
      ...form,
      schema:
        edit && tool.kind === "tool" ? editForm(tool, args, { ...decided, edit, message, secretNames }) : approvalForm(decided.standing),
      message,
      about: aboutCall(tool, args, { ...decided, reason, compared }),
    },
    identity: { ...form, schema: { type: "object", properties: {} }, message: decided.digest },
  };
}

function refused(reason: string | undefined): string {
  return reason === undefined ? "The person who was asked refused it." : `The person who was asked refused it: ${reason}`;
}

/** Why an approval no longer counts. Empty if it does: a recorded step has a value. */
function changedSince(then: Extract<Decision, { type: "approve" }>, now: Decision): string {
  if (now.type === "deny") return `It was approved, but a rule refuses it now: ${now.reason}`;
  const isListedAsThen = then.listed === undefined || (now.type === "approve" && now.listed === then.listed);
  if (now.type === "approve" && (now.digest !== then.digest || !isListedAsThen))
    return "It was approved, but the rule or the tool has changed since.";
  return "";
}

function editIn({ done }: EndedWithout): Edited | undefined {
  const value = done.find(({ key }) => key === AGAIN)?.value;
  return typeof value === "object" ? (value as unknown as Edited) : undefined;
}

/** Whether the tool may have begun, as far as its last run recorded. */
function hasPassed({ done }: EndedWithout): boolean {
  return done.some(({ key, value }) =>
    key === AGAIN ? value === "" || typeof value === "object" : key === DECIDED && (value as Decision | undefined)?.type === "allow",
  );
}
