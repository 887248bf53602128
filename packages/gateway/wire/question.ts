/**
 * Judges the question of an upstream before anyone is asked.
 *
 *   elicitation/create   ─▶ form: in MCP's terms (simple-form.ts), a flat object of strings, numbers, booleans and choices, no secrets    else −32602
 *                             (a form that asks for one secret becomes a page of Parley's, if the file of upstreams says so)
 *                        ─▶ url: https, without credentials (packages/core/asks/ask-policy.ts)                  else −32602
 *   sampling/createMessage, roots/list   passed on unchanged
 *
 * Of a form's schema, only what is on a list is kept, rather than all but what is forbidden: front ends compile the schema of a stranger.
 *
 * Source: specification 2025-11-25 and 2026-07-28, client/elicitation, "Requested schema".
 */
import { hash } from "node:crypto";
import { ProtocolError } from "@modelcontextprotocol/client";
import { type AskRequest, canonicalJson, checkAsk, describeViolations, ParleyError, type Settings, type Violation } from "@parley/core";
import { whyUnreadableParams } from "./incoming.ts";
import { FIELD_KEYS, simpleForm } from "./simple-form.ts";

export const INVALID_PARAMS = -32602;
export const NOT_SUPPORTED = -32601;
export const REFUSED = -32000;

/** Limits: a whole question, in characters of JSON; its message, in characters; fields of a form; choices of a field. */
export const QUESTION_CHARS_MAX = 65_536;
export const MESSAGE_CHARS_MAX = 8_192;
export const FIELDS_MAX = 50;
export const CHOICES_MAX = 500;

const METHODS = ["elicitation/create", "sampling/createMessage", "roots/list"] as const;
export type QuestionMethod = (typeof METHODS)[number];

export interface Judging {
  readonly settings: Pick<Settings, "askUrlSchemes" | "secretNames">;
  /** Whether a form that asks for one secret becomes a page. */
  readonly takesSecretsOnPages?: boolean;
}

/** A question as people are asked. */
export interface Judged {
  readonly request: AskRequest;
  /** Of the question as the upstream asked it. */
  readonly digest: string;
  /** The field of the upstream's form that the secret from the page belongs to. */
  readonly secretField?: string;
}

/** Throws ProtocolError −32602, with each violation and its path. `method`: a QuestionMethod, or what an upstream wrote in its place. */
export function readQuestion(method: string, params: unknown, { settings, takesSecretsOnPages = false }: Judging): Judged {
  if (!isQuestionMethod(method)) throw invalid([{ path: "/method", message: `must be one of ${METHODS.join(", ")}` }]);
  const text = textOf(params);
  if (text === undefined) throw invalid([{ path: "", message: "nests too deeply" }]);
  if (text.length > QUESTION_CHARS_MAX)
    throw invalid([{ path: "", message: `has ${text.length} characters of JSON; the limit is ${QUESTION_CHARS_MAX}` }]);
  const unreadable = whyUnreadableParams(isObject(params) ? params : {});
  if (unreadable !== undefined) throw invalid([{ path: "", message: unreadable }]);
  const request = requestOf(method, isObject(params) ? params : {});
  const digest = digestOf(request);
  try {
    checkAsk("elicitation", { request }, settings);
    return { request, digest };
  } catch (error) {
    if (!(error instanceof ParleyError && error.violations)) throw error;
    const secretField = takesSecretsOnPages && request.type === "form" ? onlyText(request) : undefined;
    if (secretField === undefined || request.type !== "form") throw invalid(error.violations, request.type === "form" ? "secret" : "url");
    return { request: { type: "url", message: request.message, url: "", page: { kind: "secret" } }, digest, secretField };
  }
}

/** The name of the form's field, if it has a single one, which takes a text: a page has one field. */
function onlyText({ schema: { properties } }: Extract<AskRequest, { type: "form" }>): string | undefined {
  const [[name, field] = [], ...others] = Object.entries(properties ?? {});
  return others.length === 0 && isObject(field) && field["type"] === "string" ? name : undefined;
}

export function isQuestionMethod(method: string): method is QuestionMethod {
  return METHODS.some((each) => each === method);
}

/** Two questions are the same if and only if their digests are equal (I4). */
export function digestOf(request: AskRequest): string {
  return hash("sha256", canonicalJson(request), "base64url");
}

function textOf(params: unknown): string | undefined {
  try {
    return JSON.stringify(params ?? null);
  } catch {
    // Parsing takes less of the stack than serializing.
    return undefined;
  }
}

function requestOf(method: QuestionMethod, params: Record<string, unknown>): AskRequest {
  if (method === "roots/list") return { type: "roots" };
  if (method === "sampling/createMessage") {
    const { _meta, task: _task, ...rest } = params;
    return { type: "sampling", params: rest as Extract<AskRequest, { type: "sampling" }>["params"] };
  }
  const { mode = "form", message, url, requestedSchema } = params;
  if (typeof message !== "string") throw invalid([{ path: "/message", message: "must be a string" }]);
  if (message.length > MESSAGE_CHARS_MAX) {
    throw invalid([{ path: "/message", message: `must have at most ${MESSAGE_CHARS_MAX} characters` }]);
  }
  if (mode === "url") {
    if (typeof url !== "string") throw invalid([{ path: "/url", message: "must be a URL" }], "url");
    return { type: "url", message, url: shown(url) };
  }
  if (mode !== "form") throw invalid([{ path: "/mode", message: "must be form or url" }]);
  const simple = simpleForm(requestedSchema);
  const violations = formProblems(simple);
  if (violations.length > 0) throw invalid(violations, "schema");
  // Flat forms mean the same in each version of JSON Schema. Validators refuse the name of a version that they do not know.
  const { $schema: _, ...schema } = simple as Extract<AskRequest, { type: "form" }>["schema"];
  return { type: "form", message, schema };
}

/** The url as a browser would request it: a host in another script appears in punycode, so it cannot imitate a known one. */
function shown(text: string): string {
  return URL.parse(text)?.href ?? text;
}

function formProblems(schema: unknown): Violation[] {
  if (!isObject(schema) || schema["type"] !== "object" || !isObject(schema["properties"])) {
    return [{ path: "/requestedSchema", message: 'must be a schema of `type: "object"` with `properties`' }];
  }
  const problems = textProblems("/requestedSchema", schema);
  const names = Object.keys(schema["properties"]);
  const fields = Object.entries(schema["properties"]);
  if (fields.length > FIELDS_MAX) return [{ path: "/requestedSchema/properties", message: `must have at most ${FIELDS_MAX} fields` }];
  const { required = [], additionalProperties = false } = schema;
  if (!isTexts(required) || new Set(required).size < required.length || !required.every((name) => names.includes(name)))
    problems.push({ path: "/requestedSchema/required", message: "must be a list of fields of the form, each once" });
  // A schema here could hold anything.
  if (typeof additionalProperties !== "boolean")
    problems.push({ path: "/requestedSchema/additionalProperties", message: "must be true or false" });
  return [...problems, ...fields.flatMap(([name, field]) => fieldProblems(`/requestedSchema/properties/${pointer(name)}`, field))];
}

function fieldProblems(path: string, field: unknown): Violation[] {
  if (!isObject(field) || !Object.keys(FIELD_KEYS).includes(field["type"] as string)) {
    return [{ path, message: "must be a string, a number, a boolean, or a list of choices: MCP's forms are flat" }];
  }
  const problems = textProblems(path, field);
  const { type, items, enumNames = [] } = field;
  for (const key of ["minLength", "maxLength", "minItems", "maxItems"])
    if (field[key] !== undefined && !isCount(field[key]))
      problems.push({ path: `${path}/${key}`, message: "must be a whole number from 0" });
  for (const key of ["minimum", "maximum"])
    if (field[key] !== undefined && typeof field[key] !== "number") problems.push({ path: `${path}/${key}`, message: "must be a number" });
  if (!isTexts(enumNames)) problems.push({ path: `${path}/enumNames`, message: "must be a list of texts" });
  if (type === "array") {
    if (!isObject(items) || !hasChoices(items, ["enum", "anyOf", "oneOf"])) {
      problems.push({ path: `${path}/items`, message: `must offer 1 to ${CHOICES_MAX} choices by enum or anyOf` });
    }
    if (isObject(items) && (items["type"] ?? "string") !== "string")
      problems.push({ path: `${path}/items/type`, message: "must be string" });
    return problems;
  }
  if (("enum" in field || "oneOf" in field) && !hasChoices(field, ["enum", "oneOf"]))
    problems.push({ path, message: `must offer 1 to ${CHOICES_MAX} choices by enum or oneOf` });
  return problems;
}

function textProblems(path: string, value: Record<string, unknown>): Violation[] {
  const wrong = ["title", "description", "$schema"].filter((key) => value[key] !== undefined && typeof value[key] !== "string");
  return wrong.map((key) => ({ path: `${path}/${key}`, message: "must be a text" }));
}

function isCount(given: unknown): boolean {
  return Number.isSafeInteger(given) && (given as number) >= 0;
}

/** Under exactly one of the keywords: a second one would be a schema that nobody has looked at. */
function hasChoices(field: Record<string, unknown>, keywords: readonly string[]): boolean {
  const [keyword, ...others] = keywords.filter((key) => key in field);
  if (keyword === undefined || others.length > 0) return false;
  const given = field[keyword];
  if (!Array.isArray(given) || given.length === 0 || given.length > CHOICES_MAX) return false;
  return given.every((each: unknown) => (keyword === "enum" ? typeof each === "string" : isTitled(each)));
}

function isTitled(choice: unknown): boolean {
  if (!isObject(choice) || typeof choice["const"] !== "string") return false;
  const { const: _, title = "", ...others } = choice;
  return typeof title === "string" && Object.keys(others).length === 0;
}

export const DISABLED = "the gateway does not pass questions on (PARLEY_ELICITATION)";

const HINTS = {
  disabled: "Continue without asking. The operator can allow questions with PARLEY_ELICITATION=true.",
  capability: "Continue without asking. The capabilities of the client say what the caller of this call can be asked.",
  unavailable: "Continue without an answer. Callers that have a task can be asked everything that their own client cannot show.",
  timeout:
    "Continue without an answer, or ask again. The operator can raise `questionTimeout`, or PARLEY_ELICITATION_TIMEOUT for callers with tasks and PARLEY_ELICITATION_BLOCKING_TIMEOUT for others.",
  declined: "Continue without an answer.",
  withdrawn: "Stop: the call has ended, or has been cancelled, so nobody needs its result.",
  limit: "Ask again after `retryAfterMs` if there is one, or ask for several fields in one form.",
} as const;

/** The error that an upstream receives in place of an answer. Its `data` says why, and what to do. */
export function refusal(reason: keyof typeof HINTS, message: string, more: { readonly retryAfterMs?: number } = {}): ProtocolError {
  const isUnsupported = reason === "disabled" || reason === "capability" || reason === "unavailable";
  return new ProtocolError(isUnsupported ? NOT_SUPPORTED : REFUSED, message, { reason, hint: HINTS[reason], ...more });
}

type Fault = "schema" | "secret" | "url" | "capability" | "invalid";

/** Why a question was not asked, for the audit: one word, and nothing that the upstream wrote. */
export type RefusedFor = keyof typeof HINTS | Fault | "rate";

export function invalid(violations: readonly Violation[], reason: Fault = "invalid"): ProtocolError {
  return new ProtocolError(INVALID_PARAMS, `this cannot be asked: ${describeViolations(violations)}`, {
    reason,
    violations: violations.slice(0, 10),
  });
}

/** Of an error by `refusal` or `invalid`. */
export function refusedFor(error: unknown): RefusedFor {
  const { reason = "invalid" } = ((error as ProtocolError).data ?? {}) as { readonly reason?: RefusedFor };
  return reason;
}

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
