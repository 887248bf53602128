/**
 * Audit facts: who did what to which task, through which door, and with what result. Facts hold digests instead of
 * content, so an auditor who has the texts can prove what was said, and no one else learns it.
 *
 * A fact is written in the same change of the store as the event it describes (`audit` of a store's requests), so
 * neither exists without the other. Events that change no task are noted separately (`Audit.note`).
 */
import { assuranceOf, type Caller, DEFAULT_TENANT } from "./caller.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { codeOf, type ParleyError } from "../errors.ts";
import type { Digest } from "../values/digest.ts";
import type { Addressees, Ask, Assurance, Audience, CallFacts, Escalation, JsonObject, LoginFacts, Open, Task } from "../task.ts";

export interface AuditFact {
  /**
   * `claim`, `release`, `comment`, `delegate`: what people do around a question. `askBack`, `reply`: a question to the person who made the call, and their reply. `snooze`, `unsnooze`: a person put it aside for themselves, or brought it back. `remind`, `escalate`: what its tool asked for while nobody answers; `escalate` also where people are reminded at the same time. `refuse`: an invalid reply, or a question of an upstream that nobody was asked. `shown`: a question was sent to a client. `keys`: an operator changed keys, of
   * content or of machines. `end`: a call at an upstream ended. `export`: an operator exported tasks. `grant`: a grant for later tasks was kept, used by a
   * task, or removed. `quota`: a caller reached a quota. `purge`: an operator deleted tasks that were over. `approval`: what became of a call that a rule stopped.
   * `subscribe`, `unsubscribe`: a caller has events posted to an address, or no longer; without a principal if nobody ended it.
   */
  readonly action:
    | "call"
    | "shown"
    | "answer"
    | "claim"
    | "release"
    | "comment"
    | "delegate"
    | "askBack"
    | "reply"
    | "snooze"
    | "unsnooze"
    | "remind"
    | "escalate"
    | "refuse"
    | "end"
    | "cancel"
    | "keys"
    | "export"
    | "grant"
    | "quota"
    | "purge"
    | "approval"
    | "subscribe"
    | "unsubscribe";
  readonly taskId?: string;
  readonly tenant?: string;
  readonly principal?: string;
  /** Dialect and route of the request. */
  readonly door?: string;
  /** Kind and name of what was called. */
  readonly tool?: string;
  /** The version of the tool that the task runs on. */
  readonly toolVersion?: string;
  /** For a child: the parent's id. */
  readonly parent?: string;
  /** Whose question was refused. */
  readonly upstream?: string;
  /** The key of the ask. */
  readonly ask?: string;
  /** The action: `accept`, `decline`, `cancel`, `reply`, `timeout` if nobody answered in time, or `withdrawn` if its tool or upstream gave the question up or its task ended; never the content. */
  readonly did?: string;
  /** The rule that stopped the call, and its version. */
  readonly rule?: string;
  readonly ruleVersion?: string;
  /** Digest of the called tool and its arguments as whoever approved the call changed them. */
  readonly edited?: string;
  /** The standing approval that was given, used or revoked. */
  readonly standing?: string;
  /** Of an answer: how the person was identified, and what the provider stated of their login. */
  readonly assurance?: Assurance;
  readonly login?: LoginFacts;
  /** Of an answer in the place of somebody else: whose part it was, as a principal. Of a delegation: the same, if it is not the caller's. */
  readonly delegatedBy?: string;
  /** To whom a question was handed on. */
  readonly to?: Addressees;
  /** To whom it was escalated, a step each. */
  readonly escalatedTo?: readonly Audience["to"][];
  /** Digest of the reason of a decline or a delegation, or of a call that waits for approval. */
  readonly reason?: string;
  /** Digest of a comment, of a question to the person who made the call, or of their reply. */
  readonly comment?: string;
  /** For an ask with a quorum: how many people have accepted, including this answer, such as `1 of 2`. */
  readonly accepted?: string;
  /** What a grant allows. */
  readonly grant?: { readonly upstream: string; readonly provider: string; readonly scopes: readonly string[] };
  /** What is heard, and to whom it is posted: the origin of the address, whose path may be as good as a password. */
  readonly subscription?: { readonly id: string; readonly event: string; readonly origin: string };
  /** The result, if no change of the store determines it. */
  readonly verdict?: string;
  /** Digest of the called tool and its arguments. The facts of a call and of the answers to its asks have the same. */
  readonly call?: string;
  /** Digest of the question as it was asked. */
  readonly question?: string;
  /** Digest of the form's schema. */
  readonly schema?: string;
  /** The task's revision when the ask was asked or last refused: which version of it was answered. */
  readonly version?: number;
  /** When the question was asked, in milliseconds since the Unix epoch. */
  readonly asked?: number;
}

export interface Audit {
  /** Does not throw. A failed write is logged. */
  note(fact: AuditFact): Promise<void>;
}

/** Who acts, and through which door. */
export interface Actor {
  readonly caller: Caller;
  /** Dialect and route. */
  readonly door?: string;
}

interface Audited {
  readonly audit?: Audit;
  readonly digest: Digest;
}

/** The `audit` part of a request to the store; empty without an audit. */
export function withAudit({ audit }: Audited, actor: Actor, fact: () => AuditFact): { readonly audit?: AuditFact } {
  return audit ? { audit: { ...actorOf(actor), ...fact() } } : {};
}

function actorOf({ caller: { principal, tenant }, door }: Actor): Pick<AuditFact, "principal" | "tenant" | "door"> {
  return { principal, ...(tenant !== DEFAULT_TENANT && { tenant }), ...(door !== undefined && { door }) };
}

/** How whoever answers is identified. Never their token. */
export function identifiedAs({ caller }: Actor): Pick<AuditFact, "assurance" | "login"> {
  const assurance = assuranceOf(caller);
  return { ...(assurance && { assurance }), ...(caller.login && { login: caller.login }) };
}

/**
 * The `audit` part of a request that closes an ask without an answer. Nobody acts, so no principal is named. Empty for a child, whose own audit tells
 * what became of it.
 */
export function withNobody(
  services: Audited,
  { id: taskId, call }: Pick<Task, "id" | "call">,
  { ask, ...closed }: { readonly ask: Open; readonly door: string; readonly did: "timeout" | "withdrawn" },
): { readonly audit?: AuditFact } {
  if (!services.audit || ask.request.type === "call") return {};
  const { tenant = DEFAULT_TENANT } = call;
  const of = { ...(tenant !== DEFAULT_TENANT && { tenant }), taskId, ...toolOf(call), ...boundTo(services, taskId, call, ask) };
  return { audit: { action: "answer", ...closed, ...of } };
}

/** The `audit` part of a reminder or an escalation. Nobody acts, so no principal is named. */
export function withPrompt(
  services: Audited,
  { id: taskId, call }: Pick<Task, "id" | "call">,
  ask: Ask,
  escalations: readonly Escalation[],
): { readonly audit?: AuditFact } {
  if (!services.audit) return {};
  const { tenant = DEFAULT_TENANT } = call;
  const of = { ...(tenant !== DEFAULT_TENANT && { tenant }), taskId, ...toolOf(call), ...boundTo(services, taskId, call, ask) };
  if (escalations.length === 0) return { audit: { action: "remind", door: "schedule", ...of } };
  return { audit: { action: "escalate", door: "schedule", ...of, escalatedTo: escalations.map(({ to }) => to) } };
}

/** Notes that the gateway refused a question of an upstream, and why. Nobody acts and nobody is asked, so no principal is named. */
export function noteRefused(
  { audit }: Audited,
  { id: taskId, call }: Pick<Task, "id" | "call">,
  { upstream, reason }: { readonly upstream: string; readonly reason: string },
): void {
  const { tenant, binding } = call;
  const of = { ...(tenant !== undefined && { tenant }), taskId, ...toolOf(call), ...(binding !== undefined && { call: binding }) };
  void audit?.note({ action: "refuse", door: "gateway", ...of, upstream, verdict: reason });
}

/**
 * Notes how a call at an upstream ended: `result`, `error` (a result that says so), or the code of the failure. The end is the upstream's, so no
 * principal is named.
 */
export function noteEnded({ audit }: Audited, { id: taskId, call, outcome }: Task, code: string | undefined): void {
  const { tenant, binding } = call;
  const isError = outcome?.type === "result" && outcome.result["isError"] === true;
  const verdict = outcome?.type === "error" ? (code ?? String(outcome.error.code)) : isError ? "error" : "result";
  const of = { ...(tenant !== undefined && { tenant }), taskId, ...toolOf(call), ...(binding !== undefined && { call: binding }) };
  void audit?.note({ action: "end", door: "gateway", ...of, verdict });
}

/**
 * Notes that a subscription is over that its owner has not ended: its time has run out, or there is nothing to hear any more. Nobody acts, so no principal is
 * named.
 */
export function noteSubscriptionOver(
  { audit }: Pick<Audited, "audit">,
  { caller: { tenant }, ...subscription }: SubscriptionFacts & { readonly caller: Pick<Caller, "tenant"> },
  why: { readonly door: "deadline" | "gateway"; readonly verdict: string },
): void {
  const of = { ...(tenant !== DEFAULT_TENANT && { tenant }), subscription: aboutSubscription(subscription) };
  void audit?.note({ action: "unsubscribe", ...why, ...of });
}

interface SubscriptionFacts {
  readonly id: string;
  readonly type: string;
  readonly url: string;
}

export function aboutSubscription({ id, type, url }: SubscriptionFacts): AuditFact["subscription"] & object {
  return { id, event: type, origin: new URL(url).origin };
}

/** Notes an event that changes no task, after its reply has been sent. */
export function noteAudit({ audit }: Audited, actor: Actor, fact: () => AuditFact): void {
  if (audit) void audit.note({ ...actorOf(actor), ...fact() });
}

export function toolOf({ kind, name, version }: Pick<CallFacts, "kind" | "name" | "version">): Pick<AuditFact, "tool" | "toolVersion"> {
  return { tool: `${kind} ${name}`, ...(version !== undefined && { toolVersion: version }) };
}

/** Ties a task's answers to its call. */
export function bindingOfCall(
  { digest }: Pick<Audited, "digest">,
  taskId: string,
  call: Pick<CallFacts, "kind" | "name">,
  args: JsonObject,
): string {
  return digest(canonicalJson({ kind: call.kind, name: call.name, arguments: args }), taskId);
}

/** Ties an answer to the question as it was asked, and to the call behind it. */
export function boundTo({ digest }: Audited, taskId: string, call: CallFacts, ask: Open): Partial<AuditFact> {
  return {
    ask: ask.key,
    question: ask.digest,
    ...((ask.request.type === "form" || ask.request.type === "event") && { schema: digest(canonicalJson(ask.request.schema), taskId) }),
    ...("since" in ask && ask.since && { version: ask.since.revision }),
    asked: ask.askedAtMs,
    ...(call.binding !== undefined && { call: call.binding }),
  };
}

/** Maximum number of shown asks to remember. */
export const SHOWN_MAX = 10_000;

const shownBy = new WeakMap<Audit, Set<string>>();

/**
 * Notes that these asks were sent to a client: once per ask and reader in this process, however often the client
 * polls. Another or a restarted front end notes them again.
 */
export function noteShown(services: Audited, actor: Actor, { id, call }: Pick<Task, "id" | "call">, asks: readonly Ask[]): void {
  const { audit } = services;
  if (!audit) return;
  const shown = shownBy.get(audit) ?? new Set<string>();
  shownBy.set(audit, shown);
  for (const ask of asks) {
    const name = `${id} ${ask.key} ${ask.since?.revision} ${actor.caller.principal} ${actor.door}`;
    if (shown.has(name)) continue;
    shown.add(name);
    const [oldest] = shown.size > SHOWN_MAX ? shown : [];
    if (oldest !== undefined) shown.delete(oldest);
    const bound = boundTo(services, id, call, ask);
    noteAudit(services, actor, () => ({ action: "shown", taskId: id, ...toolOf(call), ...bound }));
  }
}

/** A caller that keeps trying has one record of a quota in this time. Otherwise it would push other records out. */
export const QUOTA_NOTED_EVERY_MS = 60_000;
/** Maximum number of noted quotas to remember. */
export const QUOTAS_NOTED_MAX = 10_000;

const quotasNotedBy = new WeakMap<Audit, Map<string, number>>();

/** Notes that the caller reached a quota, if that is the error. The record names the quota by its message. */
export function noteQuota(services: Audited & { readonly clock: { now(): number } }, actor: Actor, error: unknown): void {
  const { audit, clock } = services;
  if (!audit || codeOf(error) !== "QUOTA_EXCEEDED") return;
  const { message: verdict } = error as ParleyError;
  const noted = quotasNotedBy.get(audit) ?? new Map<string, number>();
  quotasNotedBy.set(audit, noted);
  const name = `${actor.caller.tenant} ${actor.caller.principal} ${verdict}`;
  const nowMs = clock.now();
  if (nowMs - (noted.get(name) ?? -Infinity) < QUOTA_NOTED_EVERY_MS) return;
  noted.delete(name);
  noted.set(name, nowMs);
  const [oldest] = noted.size > QUOTAS_NOTED_MAX ? noted.keys() : [];
  if (oldest !== undefined) noted.delete(oldest);
  noteAudit(services, actor, () => ({ action: "quota", verdict }));
}
