/**
 * What an auditor is told: who did what to which task, through which door, and with what result. No content: what was said is there as digests,
 * so that a holder of the texts can prove which they were, and nobody else learns them.
 *
 * A fact is written in the same change of the store as what it tells of (`audit` of a store's requests), so that neither is there without the other.
 * What changes no task is noted by itself (`Audit.note`).
 */
import { type Caller, DEFAULT_TENANT } from "./caller.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { Digest } from "./ports.ts";
import type { Ask, CallFacts, JsonObject, Open, Task } from "./task.ts";

export interface AuditFact {
  /**
   * `refuse`: a reply that did not fit. `shown`: a question was put to a client. `keys`: an operator changed keys, of content or of machines.
   * `export`: an operator took tasks out of the deployment.
   */
  readonly action: "call" | "shown" | "answer" | "refuse" | "cancel" | "keys" | "export";
  readonly taskId?: string;
  readonly tenant?: string;
  readonly principal?: string;
  /** Dialect and route by which it came. */
  readonly door?: string;
  /** Kind and name of what was called. */
  readonly tool?: string;
  /** The version of the tool that the task is of. */
  readonly toolVersion?: string;
  /** The task whose tool called, of a child. */
  readonly parent?: string;
  /** The key of the ask. */
  readonly ask?: string;
  /** What the person did: `accept`, `decline`, `cancel`, `reply`; never what was said. */
  readonly did?: string;
  /** Of an ask that several must accept: how many had, with this answer: `1 of 2`. */
  readonly accepted?: string;
  /** What becomes of it where no change of the store says so. */
  readonly verdict?: string;
  /** Digest of what was called and the arguments: the same in the facts of a call and of the answers to its asks. */
  readonly call?: string;
  /** Digest of the question as it was put. */
  readonly question?: string;
  /** Digest of the form's schema. */
  readonly schema?: string;
  /** The task's revision when the ask was put, or put again: which version of it was answered. */
  readonly version?: number;
}

export interface Audit {
  /** Does not throw: what cannot be written is told in the log. */
  note(fact: AuditFact): Promise<void>;
}

/** Who acts, by which door. */
export interface Actor {
  readonly caller: Caller;
  /** Dialect and route. */
  readonly door?: string;
}

interface Audited {
  readonly audit?: Audit;
  readonly digest: Digest;
}

/** For a request to the store: the fact that is written with the change, if there is an audit. */
export function withAudit({ audit }: Audited, actor: Actor, fact: () => AuditFact): { readonly audit?: AuditFact } {
  return audit ? { audit: { ...actorOf(actor), ...fact() } } : {};
}

function actorOf({ caller: { principal, tenant }, door }: Actor): Pick<AuditFact, "principal" | "tenant" | "door"> {
  return { principal, ...(tenant !== DEFAULT_TENANT && { tenant }), ...(door !== undefined && { door }) };
}

/** Notes what changes no task, once the reply to it is on its way. */
export function noteAudit({ audit }: Audited, actor: Actor, fact: () => AuditFact): void {
  if (audit) void audit.note({ ...actorOf(actor), ...fact() });
}

export function toolOf({ kind, name, version }: Pick<CallFacts, "kind" | "name" | "version">): Pick<AuditFact, "tool" | "toolVersion"> {
  return { tool: `${kind} ${name}`, ...(version !== undefined && { toolVersion: version }) };
}

/** What binds the answers of a task to its call. */
export function bindingOfCall({ digest }: Audited, taskId: string, call: Pick<CallFacts, "kind" | "name">, args: JsonObject): string {
  return digest(canonicalJson({ kind: call.kind, name: call.name, arguments: args }), taskId);
}

/** What binds an answer to the question as it was put, and to the call behind it. */
export function boundTo({ digest }: Audited, taskId: string, call: CallFacts, ask: Open): Partial<AuditFact> {
  return {
    ask: ask.key,
    question: ask.digest,
    ...((ask.request.type === "form" || ask.request.type === "event") && { schema: digest(canonicalJson(ask.request.schema), taskId) }),
    ...("since" in ask && ask.since && { version: ask.since.revision }),
    ...(call.binding !== undefined && { call: call.binding }),
  };
}

/** Asks that are remembered as shown. */
export const SHOWN_MAX = 10_000;

const shownBy = new WeakMap<Audit, Set<string>>();

/**
 * Notes that these asks went out to a client: each once for each reader in this process, however often a client polls. Another front end, or one
 * that was started again, notes it again.
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
