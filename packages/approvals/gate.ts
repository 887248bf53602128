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
 */
import type { Answerers, ApprovalEnd, Catalogue, Effects, EndedWithout, Json, JsonObject, Prompt, Tool } from "@parley/core";
import { aboutCall, approvalMessage, askedOf } from "./approval-message.ts";
import { denial } from "./denial.ts";
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
}

export const NO_RULES: Rules = {
  version: "",
  isDryRun: false,
  asksForMembership: false,
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
    run: async (args, effects) => (await stoppedBy(tool, args, effects, options)) ?? (await tool.run(args, effects)),
    // Of every tool: it may call one that a rule is about.
    keepsMembership: () => rules().asksForMembership,
    // What would be recorded first may be the approval.
    ...(open && { open: () => (rules().concerns(tool) ? undefined : open.call(tool)) }),
    // Without a task nothing can wait, and nothing of a decision is kept.
    ...(callTaskless && { callTaskless: async (call) => (rules().concerns(tool) ? undefined : await callTaskless.call(tool, call)) }),
    ...(compensate && {
      async compensate(args: JsonObject, effects: Effects, ended: EndedWithout) {
        const done = ended.done.filter(({ key }) => !OF_GATE.has(key));
        if (done.length === ended.done.length || hasPassed(ended)) await compensate.call(tool, args, effects, { ...ended, done });
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

/** Undefined if the call may run. */
async function stoppedBy(tool: Called, args: JsonObject, effects: Effects, options: GateOptions): Promise<JsonObject | undefined> {
  const { record } = options;
  const { isDryRun } = options.rules();
  const now = options.rules().decide(tool, args, effects.call);
  const isStopping = now.type !== "allow" && !isDryRun;
  // True if the task was stopped before, or is stopped now. False if it was at work when the rule came.
  const isStopped = isStopping ? effects.patched(GATE) : effects.tookPatch(GATE);
  const report = () => now.type !== "allow" && options.stopped(now, { taskId: effects.taskId, tool: tool.name, isDryRun });
  if (isDryRun) report();
  if (!isStopped) return undefined;
  const of = { taskId: effects.taskId, call: effects.call };
  const decide = async () => {
    // Only a rule that allows it looks for one.
    const used = now.type === "approve" && now.standing && (await record?.useStanding({ ...of, decided: now }));
    if (used) return { type: "allow", rule: now.rule, standing: used };
    report();
    if (now.type === "deny") await record?.denied({ ...of, decided: now });
    if (now.type !== "approve" || !record) return now as Json;
    const asked = { ...now, askedAtMs: record.now() };
    await record.asked({ ...of, decided: asked });
    return asked;
  };
  // Recorded with the question, or with the end of the task; at once if the tool runs now.
  const isRecordedLater = (result: Json | undefined) => (result as Decision | undefined)?.type !== "allow";
  const decided = (await effects.step(DECIDED, decide, { isRecordedLater })) as unknown as Decision;
  if (decided.type === "allow") return undefined;
  if (decided.type === "deny") return denial(tool, { ...decided, again: decided.isForNow ? "later" : "never" });

  const { title, audience, timeoutMs } = decided;
  effects.status(`Waits for approval: ${title}. ${askedOf(audience)}`);
  const { request, identity } = approvalRequest(tool, { arguments: args, reason: effects.call.reason }, decided);
  const answer = await effects.ask(APPROVAL, request, { audience, timeoutMs, identity });
  const answerers = effects.answeredBy(APPROVAL);
  const settled = async (end: ApprovalEnd, isVoid = false) =>
    await record?.settled(
      { ...of, decided },
      { end, isVoid, atMs: answerers?.atMs ?? record.now(), by: end === "approved" || end === "refused" ? decidersOf(answerers) : [] },
    );
  const refusedAs = async (end: ApprovalEnd, reason: string, again: "later" | "changed") => {
    // Recorded with the end of the task.
    await effects.step(NOTED, async () => (await settled(end), end), { isRecordedLater: () => true });
    return denial(tool, { ...decided, reason, again });
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
  const changed = (await effects.step(AGAIN, async () => {
    const found = changedSince(decided, options.rules().decide(tool, args, effects.call));
    await settled("approved", found !== "");
    const forMs = standingMs(answer.action === "accept" ? answer.content : undefined, decided.standing);
    if (found === "" && forMs !== undefined)
      await record?.grantStanding({ ...of, decided }, { by: decidersOf(answerers)[0] ?? effects.call.principal, forMs });
    return found;
  })) as string | undefined;
  if (changed) return denial(tool, { ...decided, reason: changed, again: "later" });
  effects.status("Approved.");
  return undefined;
}

function decidersOf(answerers: Answerers | undefined): readonly string[] {
  const { accepted, principal } = answerers ?? {};
  if (accepted && accepted.length > 0) return accepted.map((each) => each.principal);
  return principal === undefined ? [] : [principal];
}

interface Asked {
  readonly arguments: JsonObject;
  readonly reason: string | undefined;
}

/** The decision's digest stands for all that is asked (rules.ts, R2), so how it is worded may change while a call waits. */
function approvalRequest(tool: Called, { arguments: args, reason }: Asked, decided: Extract<Decision, { type: "approve" }>) {
  const form = {
    type: "form",
    hints: { submitLabel: "Approve", cancelLabel: "Refuse", ...(decided.risk === "high" && { destructive: true }) },
  } as const;
  return {
    request: {
      ...form,
      schema: approvalForm(decided.standing),
      message: approvalMessage(tool, decided),
      about: aboutCall(tool, args, { ...decided, reason }),
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
  if (now.type === "approve" && now.digest !== then.digest) return "It was approved, but the rule or the tool has changed since.";
  return "";
}

/** Whether the tool may have begun, as far as its last run recorded. */
function hasPassed({ done }: EndedWithout): boolean {
  return done.some(({ key, value }) =>
    key === AGAIN ? value === "" : key === DECIDED && (value as Decision | undefined)?.type === "allow",
  );
}
