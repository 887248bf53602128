/**
 * What may be asked of a person, whether the question comes from a tool's context, a prompt or an upstream server.
 *
 *   url    absolute, without credentials, with an allowed scheme: a client opens it or shows it as a link
 *   form   no field that seems to ask for a secret, which would pass through the client and its logs
 *   to     at least one addressee, and no more than can be checked at each answer
 *   about  a context of bounded size, whose addresses a page may show as links (about.ts)
 *
 * Checked only when the question is first asked: a stricter setting must not end tasks that are waiting.
 */
import { aboutOf, aboutProblems } from "./about.ts";
import { ANONYMOUS } from "../callers/caller.ts";
import type { AskOptions } from "../effects.ts";
import { ParleyError } from "../errors.ts";
import { describeViolations } from "../values/schema-violation.ts";
import { type Finding, type SecretNames, secretNames } from "./secret-names.ts";
import type { Settings } from "../settings.ts";
import { QUORUM_MAX } from "../callers/quorum.ts";
import { FILES_MAX } from "../ports/files.ts";
import type {
  Addressees,
  Ask,
  AskRequest,
  Audience,
  EventRequest,
  FilesWanted,
  Json,
  JsonObject,
  Page,
  TimeoutPolicy,
  Violation,
} from "../task.ts";

export type AskSettings = Pick<Settings, "askUrlSchemes" | "secretNames" | "oauthScopes">;

/** Schemes that run code, read files or start programs. No setting allows them. */
export const FORBIDDEN_SCHEMES: readonly string[] = [
  "javascript",
  "vbscript",
  "data",
  "blob",
  "file",
  "filesystem",
  "about",
  "view-source",
  "ms-msdt",
  "search-ms",
];

/** Throws INVALID_ASK with one violation per problem. */
export function checkAsk(key: string, { request, audience }: Pick<Ask, "request" | "audience">, settings: AskSettings): void {
  const about = aboutOf(request);
  const violations = [
    ...violationsOf(request, settings),
    ...(about ? aboutProblems(about, (url) => urlProblem(url, settings.askUrlSchemes)) : []),
    ...(audience ? [...audienceProblems(audience), ...quorumProblems(request, audience)] : []),
  ];
  if (violations.length > 0) {
    throw new ParleyError("INVALID_ASK", `the ask "${key}" is invalid: ${describeViolations(violations)}`, { violations });
  }
}

/** Throws INVALID_ASK. Shortening the wait instead would end questions early without explanation. */
export function checkTimeout(key: string, { timeoutMs = 0 }: AskOptions, { askTimeoutMaxMs }: Pick<Settings, "askTimeoutMaxMs">): void {
  if (timeoutMs <= askTimeoutMaxMs) return;
  const message = `is ${timeoutMs} ms; the maximum is ${askTimeoutMaxMs} (PARLEY_ASK_TIMEOUT_MAX)`;
  throw new ParleyError("INVALID_ASK", `the ask "${key}" is invalid: /timeout ${message}`, {
    violations: [{ path: "/timeout", message }],
  });
}

/** Throws INVALID_ASK: after its deadline nobody can answer the question. */
export function checkDue(key: string, request: AskRequest | EventRequest, timeoutMs: number): void {
  const { dueMs = 0 } = aboutOf(request) ?? {};
  if (dueMs <= timeoutMs) return;
  const message = `is ${dueMs} ms after the question, and its deadline ${timeoutMs} ms (timeout)`;
  throw new ParleyError("INVALID_ASK", `the ask "${key}" is invalid: /due ${message}`, { violations: [{ path: "/due", message }] });
}

/** Throws INVALID_ASK. Tools may be written without types, and what is no policy says nothing about the time after the deadline. */
export function checkOnTimeout(key: string, { onTimeout }: AskOptions, { type }: AskRequest | EventRequest): void {
  if (onTimeout === undefined || POLICIES.includes(onTimeout)) return;
  // Of a page there is nothing to fill in: its default would say that the person was there.
  const takesDefault = type === "form" || type === "event";
  if (takesDefault && onTimeout instanceof Object && "default" in onTimeout) return;
  const words = type === "event" ? '"throw"' : '"cancel", "decline"';
  const message = takesDefault ? `must be ${words}, "fail" or { default: { … } }` : 'must be "cancel", "decline" or "fail"';
  throw new ParleyError("INVALID_ASK", `the ask "${key}" is invalid: /onTimeout ${message}`, {
    violations: [{ path: "/onTimeout", message }],
  });
}

const POLICIES: readonly TimeoutPolicy[] = ["cancel", "decline", "fail"];

/** Throws INVALID_ASK. An anonymous caller cannot be several people, and a default would count people who have not accepted. */
export function checkQuorum(key: string, { audience, onTimeout }: AskOptions, principal: string): void {
  if (audience?.quorum === undefined) return;
  const refused = (path: string, message: string) =>
    new ParleyError("INVALID_ASK", `the ask "${key}" is invalid: ${path} ${message}`, { violations: [{ path, message }] });
  if (principal === ANONYMOUS)
    throw refused("/quorum", "needs callers with an identity; without PARLEY_AUTH=required every caller is the same");
  if (typeof onTimeout === "object") throw refused("/onTimeout", "must not be a default, which would count people who have not accepted");
}

/** Throws INVALID_ASK. Where callers are not told apart nobody logs in, so nobody could ever answer. */
export function checkAssurance(key: string, request: AskRequest | EventRequest, principal: string): void {
  if (aboutOf(request)?.assurance === undefined || principal !== ANONYMOUS) return;
  const message = "needs callers with an identity; without PARLEY_AUTH=required nobody logs in";
  throw new ParleyError("INVALID_ASK", `the ask "${key}" is invalid: /assurance ${message}`, {
    violations: [{ path: "/assurance", message }],
  });
}

function violationsOf(request: AskRequest, settings: AskSettings): readonly Violation[] {
  switch (request.type) {
    case "url": {
      // A page of Parley's own has no address yet.
      if (request.page) return pageProblems(request.page, settings);
      const message = urlProblem(request.url, settings.askUrlSchemes);
      return message === undefined ? [] : [{ path: "/url", message }];
    }
    case "form":
      return secretFields(request, compiled(settings.secretNames));
    case "sampling":
    case "roots":
      return [];
  }
}

type FormRequest = Extract<AskRequest, { type: "form" }>;

/** Maximum number of accepted file types, and maximum characters of each. */
const ACCEPT_MAX = 50;
const ACCEPTED = /^(\.\w{1,16}|[\w.+-]{1,100}\/([\w.+-]{1,100}|\*))$/;

function pageProblems(page: Page, settings: AskSettings): Violation[] {
  switch (page.kind) {
    case "secret":
      return [];
    case "files":
      return filesProblems(page);
    case "oauth":
      return oauthProblems(page, settings);
    case "visit": {
      const message = urlProblem(page.url, settings.askUrlSchemes);
      const problems = message === undefined ? [] : [{ path: "/url", message }];
      if (PARAMETER.test(page.returnTo)) return problems;
      return [...problems, { path: "/returnTo", message: "must be the name of a parameter: 1 to 64 of A-Z a-z 0-9 _ - . [ ]" }];
    }
  }
}

/** A tool may request only the scopes that the operator allows for a provider. */
function oauthProblems({ provider, scopes }: Extract<Page, { kind: "oauth" }>, { oauthScopes = {} }: AskSettings): Violation[] {
  if (oauthScopes === "any") return [];
  const known = Object.keys(oauthScopes);
  const allowed = Object.hasOwn(oauthScopes, String(provider)) ? oauthScopes[provider] : undefined;
  if (!allowed)
    return [{ path: "/provider", message: `must be one of those that are set up here: ${known.join(", ") || "none"} (PARLEY_OAUTH)` }];
  if (!Array.isArray(scopes) || scopes.length === 0) return [{ path: "/scopes", message: "must be a list of at least one scope" }];
  const refused = scopes.findIndex((scope) => !allowed.includes(scope));
  if (refused === -1) return [];
  return [
    {
      path: `/scopes/${refused}`,
      message: `is not among the scopes that ${provider} is set up for here: ${allowed.join(", ")} (PARLEY_OAUTH)`,
    },
  ];
}

function filesProblems({ accept, bytesMax, countMax }: FilesWanted): Violation[] {
  const problems: Violation[] = [];
  if (!Array.isArray(accept) || accept.length > ACCEPT_MAX || !accept.every((each) => typeof each === "string" && ACCEPTED.test(each)))
    problems.push({ path: "/accept", message: `must be a list of at most ${ACCEPT_MAX} types such as image/png, image/* or .pdf` });
  if (!Number.isSafeInteger(bytesMax) || bytesMax < 1) problems.push({ path: "/maxBytes", message: "must be a whole number from 1" });
  if (!Number.isSafeInteger(countMax) || countMax < 1 || countMax > FILES_MAX)
    problems.push({ path: "/count", message: `must be a whole number from 1 to ${FILES_MAX}` });
  return problems;
}

const PARAMETER = /^[\w.[\]-]{1,64}$/;

const KINDS: readonly (keyof Addressees)[] = ["people", "groups", "roles"];

/** Maximum number of names of each kind, and maximum characters of a name. */
export const ADDRESSEES_MAX = 100;
export const ADDRESSEE_CHARS_MAX = 256;

/** Tools may be written without types: a misspelt `groups` must not address everyone or no one. */
export function audienceProblems({ to, not }: Pick<Audience, "to" | "not">): Violation[] {
  const problems: Violation[] = not === undefined || not === "caller" ? [] : [{ path: "/not", message: 'must be "caller"' }];
  if (to === "tenant") return problems;
  if (typeof to !== "object" || to === null)
    return [...problems, { path: "/to", message: `must be "caller", "tenant", or an object with ${KINDS.join(", ")}` }];
  const unknown = Object.keys(to).filter((kind) => !(KINDS as readonly string[]).includes(kind));
  problems.push(...unknown.slice(0, 3).map((kind) => ({ path: `/to/${kind.slice(0, 40)}`, message: `is not one of ${KINDS.join(", ")}` })));
  if (KINDS.every((kind) => (to[kind] ?? []).length === 0))
    problems.push({ path: "/to", message: `must name at least one of ${KINDS.join(", ")}: otherwise no one could answer` });
  return [...problems, ...KINDS.flatMap((kind) => namesProblems(kind, to[kind] ?? []))];
}

function namesProblems(kind: keyof Addressees, names: readonly string[]): Violation[] {
  if (!Array.isArray(names)) return [{ path: `/to/${kind}`, message: "must be a list of names" }];
  if (names.length > ADDRESSEES_MAX) return [{ path: `/to/${kind}`, message: `must have at most ${ADDRESSEES_MAX} names` }];
  return (names as readonly unknown[]).flatMap((name, index) => {
    if (typeof name === "string" && name !== "" && name.length <= ADDRESSEE_CHARS_MAX) return [];
    return [{ path: `/to/${kind}/${index}`, message: `must be a string of 1 to ${ADDRESSEE_CHARS_MAX} characters` }];
  });
}

/**
 * Forms only: a person visits a page for themselves, and what is left there belongs to that person. Whether different
 * names mean different people cannot be known in advance, except that one name is not two people.
 */
function quorumProblems({ type }: AskRequest, { to, quorum }: Audience): Violation[] {
  if (quorum === undefined) return [];
  const problem = (message: string) => [{ path: "/quorum", message }];
  if (!Number.isSafeInteger(quorum) || quorum < 1 || quorum > QUORUM_MAX) return problem(`must be a whole number from 1 to ${QUORUM_MAX}`);
  if (type !== "form") return problem("is for forms: a page, or a request for a model or folders, is one person's");
  if (typeof to !== "object" || to === null) return [];
  const { people = [], groups = [], roles = [] } = to;
  const named = new Set(people).size;
  if (groups.length > 0 || roles.length > 0 || named >= quorum) return [];
  return problem(`must be at most ${named}: \`to\` names only so many people`);
}

/** Never repeats the URL, which may hold something that only the person asked may see. */
function urlProblem(text: string, schemes: readonly string[]): string | undefined {
  const url = URL.parse(text);
  if (!url) return "is not an absolute url";
  if (url.username !== "" || url.password !== "") return "contains credentials, which others could read";
  const scheme = url.protocol.slice(0, -1);
  const isAllowed = schemes.includes(scheme) || (scheme === "http" && isLoopback(url.hostname));
  if (isAllowed && !FORBIDDEN_SCHEMES.includes(scheme)) return undefined;
  return `has the scheme ${scheme.slice(0, 40)}, and may have ${schemes.join(", ")}, or http to this machine (PARLEY_ASK_URL_SCHEMES)`;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

/**
 * Only strings and numbers: choosing among given values reveals no secret. In a form with one field the message is
 * checked as well.
 */
function secretFields({ message, schema: { properties } }: FormRequest, names: SecretNames): Violation[] {
  if (!isObject(properties)) return [];
  const fields = Object.entries(properties);
  return fields.flatMap(([name, field]) => {
    if (!isObject(field) || !TYPED.includes(field["type"]) || "enum" in field || "oneOf" in field) return [];
    const found =
      names.find({ name, title: text(field["title"]), description: text(field["description"]) }) ??
      (fields.length === 1 ? names.find({ name: "", message }) : undefined);
    return found ? [{ path: `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, message: secretProblem(found) }] : [];
  });
}

const TYPED: readonly (Json | undefined)[] = ["string", "number", "integer"];

/** Kept short so that the advice at its end is not cut off (TEXT_MAX in schema-violation.ts). */
function secretProblem({ in: where, words }: Finding): string {
  return `seems to ask for a secret (its ${where} has "${words.slice(0, 40)}"), which clients must not see: use ctx.secret or url mode, or reword it if it is harmless (PARLEY_SECRET_NAMES)`;
}

/** Keyed by the settings' list, of which a process has one. */
const known = new WeakMap<readonly string[], SecretNames>();

function compiled(list: readonly string[]): SecretNames {
  const names = known.get(list) ?? secretNames(list);
  known.set(list, names);
  return names;
}

function text(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
