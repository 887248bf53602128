/**
 * Rules: which calls of tools run at once, which are refused, and which wait until a person agrees. The first rule that fits a call decides; if none
 * does, the file's `default` does.
 *
 *   R1  A rule whose condition cannot be evaluated refuses the call: what nobody can judge does not run.
 *   R2  A decision names everything that it rests on by a digest: the rule, the tool as it is listed, its version, the exact arguments and the
 *       caller. An approval counts for that digest alone. A tool's `_meta` is not in it: servers put there what changes by itself, nobody is shown it,
 *       and the conditions that read it are evaluated again after the approval.
 */
import { hash } from "node:crypto";
import {
  type Addressees,
  ALLOWANCES,
  type AskAbout,
  assuranceProblems,
  type Audience,
  type Call,
  canonicalJson,
  checkPrompts,
  type Duration,
  ESCALATIONS_MAX,
  type Json,
  type JsonObject,
  ParleyError,
  parseDuration,
  type Prompt,
  QUORUM_MAX,
  REMINDERS_MAX,
  type RequiredAssurance,
  type Tool,
} from "@parley/core";
import { z } from "zod";
import { COMPARED_WITH, type ComparedWith } from "./compare.ts";
import { withDefaults } from "./defaults.ts";
import { type Tests, TESTS_SHARE_MAX } from "./planted.ts";
import { CONDITION_CHARS_MAX, type Condition, type ConditionInput, readCondition } from "./condition.ts";
import { namesIn, unreached } from "./unreached.ts";

/** What a rule can stop. */
export type Called = Tool | Prompt;

export type Caller = Pick<Call, "principal" | "person" | "tenant" | "membership">;

/** For how long, and for how many calls, whoever approves a call may let the same call pass. */
export type Standing = { readonly forMs: number; readonly uses: number };

/** What is to happen with a call. Recorded with it, so it is plain JSON. */
export type Decision =
  | {
      readonly type: "allow";
      readonly rule: string;
      /** The standing approval that it passes by. */
      readonly standing?: string;
    }
  | {
      readonly type: "deny";
      readonly rule: string;
      readonly version?: string;
      readonly title: string;
      readonly reason: string;
      /** The same call may succeed later. */
      readonly isForNow?: true;
    }
  | {
      readonly type: "approve";
      readonly rule: string;
      /** Of the rule; absent in a decision that an earlier version recorded. */
      readonly version?: string;
      readonly title: string;
      /** When it was asked, by the gate's clock. */
      readonly askedAtMs?: number;
      /** See R2. */
      readonly digest: string;
      /** Of the tool's title and annotations. Apart, as decisions of earlier versions do not have it, and their approvals still count. */
      readonly listed?: string;
      readonly audience: Audience & Json;
      readonly timeoutMs: number;
      /** JSON Pointers (RFC 6901) to arguments that the approver is not shown. */
      readonly redact: readonly string[];
      readonly risk: Risk;
      /** What else is asked with the question: how people must be identified, reminders, further people, and what those who are asked may do. */
      readonly about?: RuleAbout;
      /** Absent: an approval is for one call. */
      readonly standing?: Standing;
      /** Arguments that whoever approves may change: all, or those with these names. */
      readonly edit?: true | readonly string[];
      /** Whose last approved call is shown beside this one. */
      readonly diff?: ComparedWith;
    };

export type RuleAbout = Pick<AskAbout, "allow" | "assurance" | "remindMs" | "escalate">;

/** Of a yes that should have been a no. Approvals of high risk are asked for first, and marked as what cannot be undone. */
export type Risk = z.output<typeof risk>;

export interface Rules {
  /** Identifies the file's content. */
  readonly version: string;
  /** Nothing is stopped; what would have been is only reported. */
  readonly isDryRun: boolean;
  /** Whether some rule may ask for groups or roles of the caller. */
  readonly asksForMembership: boolean;
  /** What the rules name, each with at most one star. */
  readonly names: readonly { readonly rule: string; readonly kind: Called["kind"]; readonly name: string }[];
  /** What the rule of that name says of tests; undefined for no tests. */
  tests(rule: string): Tests | undefined;
  /** Whether some call of that tool or prompt might not run at once. */
  concerns(called: Called): boolean;
  /** `tried` is told of each rule whose condition was looked at: whether it held, or why it could not be evaluated. */
  decide(
    called: Called,
    args: JsonObject,
    caller: Caller,
    tried?: (rule: string, found: boolean | { readonly problem: string }) => void,
  ): Decision;
}

export const RULES_MAX = 1_000;
export const STANDING_FOR_MAX_MS = 31 * 86_400_000;
export const STANDING_USES_MAX = 10_000;
const STANDING_USES = 100;
const STANDING_FOR_MIN_MS = 60_000;
const TIMEOUT_MIN_MS = 1_000;
const names = z.array(z.string().min(1).max(256)).min(1).max(100);
const people = z.strictObject({ people: names.optional(), groups: names.optional(), roles: names.optional() });
const pattern = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9_.\-/]*\*?$|^\*[A-Za-z0-9_.\-/]+$/, "must be a tool's name, with one * at its beginning or its end at most");

const time = z.string().max(32);
const step = z.strictObject({ after: time, to: z.union([z.literal("tenant"), people]) });
const risk = z.enum(["low", "medium", "high"]);

const rule = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/, "must be 1 to 64 of a-z 0-9 - and must not begin with a hyphen"),
  title: z.string().min(1).max(200).optional(),
  tools: z.array(pattern).min(1).max(1_000).optional(),
  prompts: z.array(pattern).min(1).max(1_000).optional(),
  annotations: z.record(z.string().max(64), z.boolean()).optional(),
  when: z.string().min(1).max(CONDITION_CHARS_MAX).optional(),
  action: z.enum(["allow", "deny", "approve"]),
  reason: z.string().min(1).max(500).optional(),
  by: z.union([z.literal("tenant"), people]).optional(),
  not: z.literal("caller").optional(),
  quorum: z.number().int().min(2).max(QUORUM_MAX).optional(),
  timeout: z.string().max(32).optional(),
  redact: z
    .array(z.string().regex(/^(\/([^/~]|~[01])*)+$/, "must be a JSON Pointer such as /password"))
    .max(100)
    .optional(),
  risk: risk.optional(),
  standing: z
    .strictObject({ for: z.string().max(32), uses: z.number().int().min(1).max(STANDING_USES_MAX).default(STANDING_USES) })
    .optional(),
  remind: z.union([time, z.array(time).min(1).max(REMINDERS_MAX)]).optional(),
  escalate: z.union([step, z.array(step).min(1).max(ESCALATIONS_MAX)]).optional(),
  allow: z.array(z.enum(ALLOWANCES)).min(1).max(ALLOWANCES.length).optional(),
  assurance: z
    .union(
      [
        z.enum(["token", "login"]),
        z.strictObject({ within: time.optional(), acr: z.array(z.string()).optional(), amr: z.array(z.string()).optional() }),
      ],
      { error: "must be token, login, or an object with within, acr or amr" },
    )
    .optional(),
  diff: z.enum(COMPARED_WITH).optional(),
  tests: z
    .strictObject({
      share: z.number().gt(0).max(TESTS_SHARE_MAX),
      change: z
        .array(z.record(z.string().max(64), z.json()))
        .min(1)
        .max(20),
    })
    .optional(),
  edit: z.union([z.boolean(), z.array(z.string().min(1).max(64)).min(1).max(100)]).optional(),
});
const shape = z.strictObject({
  dryRun: z.boolean().optional(),
  default: z.enum(["allow", "deny"]),
  rules: z.array(rule).max(RULES_MAX),
});

/** The content of the file. */
export type RulesConfig = z.input<typeof shape>;

export interface ReadRules {
  /** The longest time that a question may wait in the deployment; by default any. */
  readonly askTimeoutMaxMs?: number;
}

/** How long an approval waits if its rule does not say. */
const TIMEOUT_MS = 86_400_000;

interface Read {
  readonly name: string;
  readonly digest: string;
  fits(called: Called): boolean;
  readonly when: Condition | undefined;
  readonly tests: Tests | undefined;
  decide(bound: Bound): Decision;
  readonly isAllowing: boolean;
}

/** Reads what a file contains. Returns all problems, each with where it is, if there are any. */
export function readRules(
  content: unknown,
  { askTimeoutMaxMs = Infinity }: ReadRules = {},
): Rules | { readonly problems: readonly string[] } {
  const parsed = shape.safeParse(content);
  if (!parsed.success) return { problems: parsed.error.issues.map(problemOf) };
  const problems: string[] = [];
  const seen = new Set<string>();
  const rules = parsed.data.rules.map((given, index): Read => {
    const say = (field: string, what: string) => problems.push(`rules[${index}].${field} (${given.name}): ${what}`);
    if (seen.has(given.name)) say("name", "another rule has this name");
    seen.add(given.name);
    return readRule(given, { say, askTimeoutMaxMs });
  });
  for (const { at, by } of unreached(parsed.data.rules))
    problems.push(
      `rules[${at}] (${parsed.data.rules[at]?.name}): never decides, because ${by.name} before it fits every call that it fits`,
    );
  if (problems.length > 0) return { problems };
  const byDefault: Decision =
    parsed.data.default === "allow"
      ? { type: "allow", rule: "default" }
      : { type: "deny", rule: "default", title: "No rule allows this call", reason: "Only calls that a rule allows are made here." };
  // It is about tools: servers were written for prompts that no rule knew.
  const defaultOf = ({ kind }: Called): Decision => (kind === "prompt" ? { type: "allow", rule: "default" } : byDefault);

  return {
    version: versionOf(parsed.data),
    isDryRun: parsed.data.dryRun ?? false,
    names: parsed.data.rules.flatMap(({ name: of, ...given }) =>
      (["tool", "prompt"] as const).flatMap((kind) => namesIn(given)[kind].map((name) => ({ rule: of, kind, name }))),
    ),
    tests: (name) => rules.find((each) => each.name === name)?.tests,
    asksForMembership: rules.some(({ when }) => when?.asksForMembership),
    concerns(called) {
      for (const each of rules) {
        if (!each.fits(called)) continue;
        if (!each.isAllowing) return true;
        // A condition that cannot be evaluated refuses the call.
        if (each.when) return true;
        return false;
      }
      return defaultOf(called).type !== "allow";
    },
    decide(called, args, caller, tried) {
      let input: Input | undefined;
      for (const each of rules) {
        if (!each.fits(called)) continue;
        const fits = each.when ? judged(each.when, (input ??= inputOf(called, args, caller))) : true;
        if (each.when) tried?.(each.name, fits);
        if (fits === false) continue;
        if (fits !== true) return { type: "deny", rule: each.name, title: `Rule ${each.name}`, ...unjudged(each.when, caller) };
        return each.decide(boundTo(each.digest, { called, args, caller }));
      }
      return defaultOf(called);
    },
  };
}

interface Reading {
  readonly say: (field: string, what: string) => void;
  readonly askTimeoutMaxMs: number;
}

type Given = z.output<typeof rule>;

function readRule(given: Given, { say, askTimeoutMaxMs }: Reading): Read {
  const {
    name,
    title = `Rule ${name}`,
    prompts,
    annotations,
    action,
    by,
    not,
    quorum,
    timeout,
    redact = [],
    risk = "medium",
    reason,
  } = given;
  let when: Condition | undefined;
  try {
    when = given.when === undefined ? undefined : readCondition(given.when);
  } catch (error) {
    say("when", (error as Error).message);
  }
  const onlyApprove = {
    by,
    not,
    quorum,
    timeout,
    redact: given.redact,
    risk: given.risk,
    standing: given.standing,
    edit: given.edit,
    diff: given.diff,
    tests: given.tests,
    remind: given.remind,
    escalate: given.escalate,
    allow: given.allow,
    assurance: given.assurance,
  };
  if (action !== "approve") {
    for (const [field, value] of Object.entries(onlyApprove)) if (value !== undefined) say(field, 'belongs to `action: "approve"`');
  } else if (by === undefined) {
    say("by", 'is missing: who may approve, such as { "groups": ["operations"] }, or "tenant"');
  } else if (by !== "tenant" && Object.keys(by).length === 0) {
    say("by", "names nobody");
  }
  for (const key of Object.keys(annotations ?? {})) {
    const meant = misspelt(key);
    if (meant !== undefined) say("annotations", `has ${JSON.stringify(key)}, which no tool says of itself; it is written ${meant}`);
  }
  if (prompts && annotations) say("annotations", "cannot be combined with `prompts`, which have none");
  if (action !== "deny" && reason !== undefined) say("reason", 'belongs to `action: "deny"`');
  let timeoutMs = Math.min(TIMEOUT_MS, askTimeoutMaxMs);
  try {
    if (timeout !== undefined) timeoutMs = parseDuration(timeout as Duration);
    if (timeoutMs < TIMEOUT_MIN_MS) say("timeout", "must be at least 1s");
    if (timeoutMs > askTimeoutMaxMs) say("timeout", "is longer than a question may wait (PARLEY_ASK_TIMEOUT_MAX)");
  } catch (error) {
    say("timeout", (error as Error).message);
  }
  const standing = given.standing && readStanding(given.standing, say);
  if (standing && quorum !== undefined)
    say("standing", "cannot be combined with `quorum`: each of several people would have to agree to it");
  if (given.tests) {
    if (prompts) say("tests", "is about arguments of tools, and this rule names prompts");
    if (given.tests.change.some((each) => Object.keys(each).length === 0)) say("tests.change", "has an entry that changes nothing");
    const unseen = given.tests.change
      .flatMap((each) => Object.keys(each))
      .find((name) => redact.includes(`/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`));
    if (unseen !== undefined)
      say("tests.change", `changes ${JSON.stringify(unseen)}, which \`redact\` hides: nobody could see it and refuse`);
  }
  if (given.edit) {
    if (quorum !== undefined) say("edit", "cannot be combined with `quorum`: people would approve different calls");
    if (standing) say("edit", "cannot be combined with `standing`, which is about one call with exactly its arguments");
    if (prompts) say("edit", "is about arguments of tools, and this rule names prompts");
  }
  const audience = { to: by as "tenant" | Addressees, ...(not && { not }), ...(quorum !== undefined && { quorum }) } as Audience & Json;
  const about = readAbout(given, { audience, timeoutMs, say });
  const names = namesIn(given);
  const matchers = { tool: names.tool.map(matcherOf), prompt: names.prompt.map(matcherOf) };
  const version = versionOf(given);
  return {
    name,
    digest: canonicalJson(given),
    when,
    tests: given.tests as Tests | undefined,
    isAllowing: action === "allow",
    fits: (called) =>
      matchers[called.kind].some((matches) => matches(called.name)) &&
      Object.entries(annotations ?? {}).every(([key, value]) => called.kind === "tool" && hintOf(called, key) === value),
    decide(bound) {
      if (action === "allow") return { type: "allow", rule: name };
      if (action === "deny") return { type: "deny", rule: name, version, title, reason: reason ?? "A rule of this deployment refuses it." };
      const more = {
        ...(standing && { standing }),
        ...(given.edit && { edit: given.edit }),
        ...(given.diff && { diff: given.diff }),
        ...(about && { about }),
      };
      return { type: "approve", rule: name, version, title, ...bound, audience, timeoutMs, redact, risk, ...more };
    },
  };
}

interface ReadAbout {
  readonly audience: Audience;
  readonly timeoutMs: number;
  readonly say: Reading["say"];
}

/** By the rules for questions of tools, which the ask would break otherwise when it is asked. */
function readAbout(
  { remind, escalate, allow, assurance }: z.output<typeof rule>,
  { audience, timeoutMs, say }: ReadAbout,
): RuleAbout | undefined {
  if (remind === undefined && escalate === undefined && allow === undefined && assurance === undefined) return undefined;
  let isReadable = true;
  const msOf = (field: string, text: string) => {
    try {
      return parseDuration(text as Duration);
    } catch (error) {
      isReadable = false;
      say(field, (error as Error).message);
      return Number.NaN;
    }
  };
  const about: RuleAbout = {
    ...(allow && { allow }),
    ...(assurance !== undefined && { assurance: readAssurance(assurance, { say, msOf }) }),
    ...(remind !== undefined && { remindMs: [remind].flat().map((text) => msOf("remind", text)) }),
    ...(escalate !== undefined && {
      escalate: [escalate].flat().map(({ after, to }) => ({ afterMs: msOf("escalate", after), to: to as Audience["to"] })),
    }),
  };
  // As every question (core's asks/about.ts), but before a call waits for it in vain.
  if (allow?.includes("pause") && !allow.includes("askBack"))
    say("allow", "must have askBack if it has pause: the deadline stands still until somebody replies");
  try {
    if (isReadable) checkPrompts("", { type: "form", message: "", schema: {}, about }, { audience, timeoutMs });
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    for (const { path, message } of error.violations ?? []) say(path.slice(1).split("/")[0] ?? "", message);
  }
  return about;
}

function readAssurance(
  given: NonNullable<z.output<typeof rule>["assurance"]>,
  { say, msOf }: Pick<Reading, "say"> & { readonly msOf: (field: string, text: string) => number },
): RequiredAssurance {
  if (typeof given === "string") return { by: given };
  const { within, acr, amr } = given;
  if (within === undefined && acr === undefined && amr === undefined)
    say("assurance", 'must have within, acr or amr; for any login, "login"');
  const withinMs = within === undefined ? Number.NaN : msOf("assurance.within", within);
  const required = { by: "login" as const, ...(!Number.isNaN(withinMs) && { withinMs }), ...(acr && { acr }), ...(amr && { amr }) };
  for (const { path, message } of assuranceProblems(required)) say(path.slice(1).replaceAll("/", "."), message);
  return required;
}

function readStanding({ for: given, uses }: { readonly for: string; readonly uses: number }, say: Reading["say"]): Standing {
  let forMs = STANDING_FOR_MIN_MS;
  try {
    forMs = parseDuration(given as Duration);
    if (forMs < STANDING_FOR_MIN_MS || forMs > STANDING_FOR_MAX_MS) say("standing.for", "must be from 1m to 31d");
  } catch (error) {
    say("standing.for", (error as Error).message);
  }
  return { forMs, uses };
}

/** A tool without the annotation counts as the specification says (2025-11-25, schema); two of them say something only of tools that are not read-only. */
function hintOf({ annotations }: Tool, key: string): unknown {
  return annotations?.[key] ?? (annotations?.["readOnlyHint"] === true ? OF_READS : HINTS)[key];
}
const HINTS: Readonly<Record<string, boolean>> = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
const OF_READS: typeof HINTS = { ...HINTS, destructiveHint: false, idempotentHint: true };

/** The name that somebody has misspelt, such as `readonly`: such a rule would fit no tool. */
function misspelt(key: string): string | undefined {
  const bare = (text: string) => text.toLowerCase().replaceAll(/[^a-z]|hint$/g, "");
  return Object.hasOwn(HINTS, key) ? undefined : Object.keys(HINTS).find((hint) => bare(hint) === bare(key));
}

function matcherOf(text: string): (name: string) => boolean {
  if (text.endsWith("*")) return (name) => name.startsWith(text.slice(0, -1));
  if (text.startsWith("*")) return (name) => name.endsWith(text.slice(1));
  return (name) => name === text;
}

/** Why a condition said neither yes nor no, as far as the caller is concerned. */
function unjudged(when: Condition | undefined, { membership }: Caller): { readonly reason: string; readonly isForNow?: true } {
  if (!when?.asksForMembership || typeof membership === "object")
    return { reason: "The condition of a rule could not be evaluated for these arguments." };
  if (membership) return { reason: "The caller is in more groups than a rule can look at." };
  // Made before there was such a rule, or before its front end had read it.
  return { reason: "A rule asks for groups or roles of the caller, which were not noted when this call was made.", isForNow: true };
}

type Input = Omit<ConditionInput, "args"> & { readonly args: JsonObject | undefined };

function inputOf(called: Called, args: JsonObject, { principal, person = "", tenant = "", membership }: Caller): Input {
  const { name, version = "", meta = {} } = called;
  const annotations = called.kind === "tool" ? (called.annotations ?? {}) : {};
  return {
    args: withDefaults(called, args),
    tool: { name, version, annotations, meta },
    caller: { id: principal, person, tenant, ...(typeof membership === "object" && membership) },
  };
}

function judged(condition: Condition, { args, ...input }: Input): ReturnType<Condition> {
  return args ? condition({ args, ...input }) : { problem: "the tool fills in too much of the arguments by its schema" };
}

type Bound = Required<Pick<Extract<Decision, { readonly type: "approve" }>, "digest" | "listed">>;

/** What the tool takes says which defaults it has, so they are bound with it. */
function boundTo(
  ruled: string,
  { called, args, caller }: { readonly called: Called; readonly args: JsonObject; readonly caller: Caller },
): Bound {
  const { principal, person, tenant } = caller;
  const { name, version, title, description } = called;
  const [takes, annotations] = called.kind === "tool" ? [called.inputSchema, called.annotations] : [called.arguments];
  return {
    digest: digestOf([ruled, name, version, description, takes, args, principal, person, tenant]),
    listed: digestOf([title, annotations]),
  };
}

function digestOf(content: readonly unknown[]): string {
  return hash("sha256", canonicalJson(content), "base64url");
}

function versionOf(content: unknown): string {
  return hash("sha256", canonicalJson(content), "base64url").slice(0, 16);
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  const where = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return `${where.replace(/^\./, "") || "the file"}: ${message}`;
}
