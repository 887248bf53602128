/**
 * What may be asked of a person at all, whichever door the question comes through: a tool's context, a prompt, an upstream server.
 *
 *   url    absolute, without credentials, of an allowed scheme: a client opens it, or shows it as a link to click
 *   form   no field that looks as if it asked for a secret, which would pass through the client and its logs
 *
 * Judged as the question is put for the first time, and never again: a stricter setting must not end the tasks that wait.
 */
import { ParleyError } from "./errors.ts";
import { describeViolations } from "./schema-violation.ts";
import { type Finding, type SecretNames, secretNames } from "./secret-names.ts";
import type { Settings } from "./settings.ts";
import type { AskRequest, Json, JsonObject, Violation } from "./task.ts";

export type AskSettings = Pick<Settings, "askUrlSchemes" | "secretNames">;

/** Schemes that run code, read files or start programs where they are opened: allowed by no setting. */
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

/** Throws INVALID_ASK with a violation for each thing that may not be asked. */
export function checkAsk(key: string, request: AskRequest, settings: AskSettings): void {
  const violations = violationsOf(request, settings);
  if (violations.length > 0) {
    throw new ParleyError("INVALID_ASK", `the ask "${key}" cannot be put: ${describeViolations(violations)}`, { violations });
  }
}

function violationsOf(request: AskRequest, settings: AskSettings): readonly Violation[] {
  switch (request.type) {
    case "url": {
      const message = urlProblem(request.url, settings.askUrlSchemes);
      return message === undefined ? [] : [{ path: "/url", message }];
    }
    case "form":
      return secretFields(request.schema, compiled(settings.secretNames));
    case "sampling":
    case "roots":
      return [];
  }
}

/** What is wrong with the page that a person is sent to. It never repeats the url, which may hold what only that person is to see. */
function urlProblem(text: string, schemes: readonly string[]): string | undefined {
  const url = URL.parse(text);
  if (!url) return "is not an absolute url";
  if (url.username !== "" || url.password !== "") return "carries credentials, which everybody on the way can read";
  const scheme = url.protocol.slice(0, -1);
  const isAllowed = schemes.includes(scheme) || (scheme === "http" && isLoopback(url.hostname));
  if (isAllowed && !FORBIDDEN_SCHEMES.includes(scheme)) return undefined;
  return `has the scheme ${scheme.slice(0, 40)}, and may have ${schemes.join(", ")}, or http to this machine (PARLEY_ASK_URL_SCHEMES)`;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

/** Texts and numbers alone: who chooses among given values tells no secret. */
function secretFields({ properties }: JsonObject, names: SecretNames): Violation[] {
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, field]) => {
    if (!isObject(field) || !TYPED.includes(field["type"]) || "enum" in field || "oneOf" in field) return [];
    const found = names.find({ name, title: text(field["title"]), description: text(field["description"]) });
    return found ? [{ path: `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, message: secretProblem(found) }] : [];
  });
}

const TYPED: readonly (Json | undefined)[] = ["string", "number", "integer"];

function secretProblem({ in: where, words }: Finding): string {
  return `looks as if it asked for a secret (its ${where} has "${words.slice(0, 40)}"), which must not pass through the client: use url mode, or give the field another ${where} if it is none (PARLEY_SECRET_NAMES)`;
}

/** By the settings' own list, of which a process has one. */
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
