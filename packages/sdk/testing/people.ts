/** Who calls a tool in a test, and who answers it. */
import {
  type Ask,
  type Assurance,
  type Audience,
  type Caller,
  type CallerNames,
  DEFAULT_TENANT,
  requiredOf,
  type Task,
  typedName,
} from "@parley/core";

/**
 * A person other than the caller, as the identity provider describes them. Without `names`, `groups` or `roles` they
 * have none.
 */
export interface Answerer {
  /** `"somebody else"` by default. The caller is the `principal` of the test's options. */
  readonly principal?: string;
  /** What the identity provider calls them, as `ctx.answeredBy` returns it. */
  readonly name?: string;
  /** How they are identified; `"token"` by default. */
  readonly assurance?: Assurance;
  /** What their identity provider states of their login: when, the class (`acr`) and the methods (`amr`). Nothing by default. */
  readonly login?: { readonly at?: Date; readonly acr?: string; readonly amr?: readonly string[] };
  readonly names?: readonly string[];
  readonly groups?: readonly string[];
  readonly roles?: readonly string[];
}

/** Who calls a tool in a test, as the identity provider describes them: what `ctx.caller` returns, and what questions of others show. */
export interface TestCaller extends CallerNames {
  /** `"tester"` by default. */
  readonly principal?: string;
}

export function caller({ principal = "tester", name, email, subject }: TestCaller = {}): Caller {
  const names = [
    ...(subject === undefined ? [] : [typedName("sub", subject)]),
    ...(email === undefined ? [] : [typedName("email", email)]),
  ];
  const called = name === undefined ? {} : { displayName: name };
  return { principal, tenant: DEFAULT_TENANT, scopes: [], authenticatedBy: "test", names, ...called, groups: [], roles: [] };
}

/** The caller of a task under test. */
export function ownerOf({ call: { principal, caller: names } }: Pick<Task, "call">): Caller {
  return caller({ ...names, principal });
}

export function answerer({ principal = "somebody else", name, assurance, login, names = [], groups = [], roles = [] }: Answerer): Caller {
  const { at, amr, ...facts } = login ?? {};
  return {
    ...caller({ principal }),
    ...(name !== undefined && { displayName: name }),
    ...(assurance && { assurance }),
    ...(login && { login: { ...facts, ...(amr && { amr: [...amr] }), ...(at && { atMs: at.getTime() }) } }),
    names,
    groups,
    roles,
  };
}

/** Someone who may answer, is identified as the question requires and, with a quorum, has not accepted yet. */
export function answererOf(task: Task, ask: Pick<Ask, "audience" | "accepted" | "request"> | undefined, nowMs: number): Caller {
  const { audience, accepted } = ask ?? {};
  const who = audience ? answerer(membership(audience, accepted?.acceptances.length ?? 0)) : ownerOf(task);
  const required = ask && requiredOf(ask);
  if (!required) return who;
  const { by, acr: [acr] = [], amr } = required;
  return { ...who, assurance: by, login: { atMs: nowMs, ...(acr !== undefined && { acr }), ...(amr && { amr: [...amr] }) } };
}

function membership({ to }: Audience, before: number): Answerer {
  const who = before === 0 ? {} : { principal: `somebody else ${before + 1}` };
  if (to === "tenant") return who;
  const { people = [], groups = [], roles = [] } = to;
  return { ...who, names: people.slice(before, before + 1), groups: groups.slice(0, 1), roles: roles.slice(0, 1) };
}
