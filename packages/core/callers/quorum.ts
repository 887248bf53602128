/**
 * Asks that several people must accept (`Audience.quorum`), for reviews, the four-eyes principle and two-person
 * rules.
 *
 *   asked ──accept──▶ 1 of 3 ──accept──▶ 2 of 3 ──accept of a third person──▶ accepted
 *    └─────────────────┴─ the first decline or dismissal, the deadline, or the handler ──▶ declined · cancelled · timeout · withdrawn
 *
 *   Q1  A person counts once, by issuer and subject, through any door or client.
 *   Q2  Until the ask settles a person can change their mind: another acceptance replaces the first, a decline ends the ask.
 *   Q3  The settling answer is recorded once, with everyone who had accepted by then. Later acceptances do not count.
 *
 * `countAcceptance` is pure. A store writes its result only if no other acceptance was counted in between
 * (AnswerRequest.quorum); otherwise the front end reads again.
 */
import { canonicalJson } from "../values/canonical-json.ts";
import { assuranceOf, type Caller, personOf } from "./caller.ts";
import type { Acceptance, Ask, CallFacts, JsonObject, Open, Participant } from "../task.ts";

/** Maximum number of people that an ask can require. Each answer is kept until the last one arrives. */
export const QUORUM_MAX = 20;

type Asked = Pick<Ask, "audience" | "accepted">;
type Owner = Pick<CallFacts, "principal" | "person">;

export function hasAccepted(caller: Caller, owner: Owner, { accepted }: Asked): boolean {
  return accepted?.acceptances.some((each) => isBy(each, caller, owner)) === true;
}

/** Whether the caller gave this acceptance. */
export function isBy({ by, person }: Pick<Acceptance, "by" | "person">, caller: Caller, owner: Owner): boolean {
  // An acceptance from before a change of PARLEY_AUTH_PERSON names the person in another way; one principal is one person in any case.
  return (person ?? by ?? personOf(owner)) === personOf(caller) || (by ?? owner.principal) === caller.principal;
}

export type Counted =
  /** The same person gave the same answer before. */
  { readonly type: "repeated" } | { readonly type: "counted"; readonly acceptances: readonly Acceptance[]; readonly missing: number };

/** Counts an acceptance. A second one of the same person replaces the first. */
export function countAcceptance(
  ask: Asked,
  {
    caller,
    owner,
    by,
    name,
    content,
    delegatedBy,
    nowMs,
  }: {
    readonly caller: Caller;
    readonly owner: Owner;
    readonly by: string | undefined;
    readonly name: string | undefined;
    readonly content: JsonObject;
    readonly delegatedBy?: Participant | undefined;
    readonly nowMs: number;
  },
): Counted {
  const before = ask.accepted?.acceptances ?? [];
  const mine = before.find((each) => isBy(each, caller, owner));
  if (mine && canonicalJson(mine.content) === canonicalJson(content)) return { type: "repeated" };
  const assurance = assuranceOf(caller);
  const acceptance: Acceptance = {
    ...(by !== undefined && { by }),
    ...(caller.person !== undefined && { person: caller.person }),
    ...(name !== undefined && { name }),
    ...(assurance && { assurance }),
    ...(caller.login && { login: caller.login }),
    ...(delegatedBy && { delegatedBy }),
    content,
    atMs: nowMs,
  };
  const acceptances = [...before.filter((each) => each !== mine), acceptance];
  return { type: "counted", acceptances, missing: Math.max(0, (ask.audience?.quorum ?? 1) - acceptances.length) };
}

/** What a sender knows of the acceptances of an ask when it answers; AnswerRequest says what the store makes of it. */
export interface QuorumSoFar {
  readonly seen?: number;
  readonly acceptances: readonly Acceptance[];
  readonly missing: number;
}

/**
 * For an answer that settles the ask without being its last acceptance: a decline, a deadline. Undefined without a
 * quorum.
 */
export function acceptancesSoFar(ask: Open): QuorumSoFar | undefined {
  if (!("audience" in ask) || ask.audience?.quorum === undefined) return undefined;
  return { ...(ask.accepted && { seen: ask.accepted.revision }), acceptances: ask.accepted?.acceptances ?? [], missing: 0 };
}

/** The ask as a caller may see it: how many have accepted, without their answers. */
export function tallied(caller: Caller, { call }: { readonly call: Owner }, ask: Ask): Ask {
  if (ask.audience?.quorum === undefined) return ask;
  const { accepted, ...shown } = ask;
  return { ...shown, tally: { accepted: accepted?.acceptances.length ?? 0, mine: hasAccepted(caller, call, ask) } };
}
