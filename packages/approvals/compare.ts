/**
 * What differs between a call and the last one of its kind that was approved under the same rule, if the rule asks for it (`diff`).
 *
 *   Changed since the last approved call, by the same caller, 12 November 2026, 10:03 UTC
 *     - replicas: 3
 *     + replicas: 30
 *
 * Each line begins with the name of its argument, and names and values are written as everywhere (visible.ts): whoever chose them cannot add a line. What the
 * rule does not show is neither kept nor compared.
 */
import { hash } from "node:crypto";
import {
  type ApprovedCall,
  type AskAbout,
  canonicalJson,
  cut,
  type DiffLine,
  diffLines,
  type Json,
  type JsonObject,
  LAST_APPROVED_CHARS_MAX,
} from "@parley/core";
import { isObject, redacted } from "./arguments.ts";
import { withDefaults } from "./defaults.ts";
import type { StoppedToAsk } from "./standing.ts";
import type { Called } from "./rules.ts";
import { inOneLine, linesOf, visible } from "./visible.ts";

type Part = NonNullable<AskAbout["context"]>[number];

/** Whose calls a call is compared with: those of its caller, or of everyone in the tenant. */
export const COMPARED_WITH = ["caller", "anyone"] as const;
export type ComparedWith = (typeof COMPARED_WITH)[number];

/** `none`: no such call is known. `unknown`: nobody can say now. */
export type LastCall = ApprovedCall | "none" | "unknown";

/** Longer lines are cut, around what differs. */
const LINE_CHARS_MAX = 200;
/** So many of a longer run of equal lines are shown, at its beginning and its end. */
const SAME_LINES = 2;
const TITLE = "Compared with the last approved call";
const CUT_OFF = "(more is not shown)";

/**
 * Of calls of one tool under one rule, which the same people are asked about: nobody is shown an earlier call whom another audience was asked about.
 */
export function kindOf({ decided: { rule, audience, diff }, call }: StoppedToAsk): string {
  const whose = diff === "caller" ? (call.person ?? call.principal) : "";
  return hash("sha256", canonicalJson([rule, call.kind, call.name, audience, whose]), "base64url").slice(0, 22);
}

/** What is kept of a call: what the rule shows of the arguments that the tool had. Undefined if that is too much to follow. */
export function shownArguments(called: Called, args: JsonObject, redact: readonly string[]): JsonObject | undefined {
  const whole = withDefaults(called, args);
  return whole && redacted(whole, redact);
}

export interface Comparing {
  readonly last: LastCall;
  readonly redact: readonly string[];
  readonly principal: string;
}

/** Whoever made this call may not read what another caller's was. */
export function isOfAnother({ last, principal }: Comparing): boolean {
  return typeof last === "object" && last.principal !== principal;
}

/** `charsMax`: of the part, written as JSON. */
export function comparedPart(called: Called, args: JsonObject, { last, redact, principal }: Comparing, charsMax: number): Part {
  const says = (text: string): Part => ({ type: "text", title: TITLE, text });
  if (last === "none") return says("No earlier approved call is known.");
  if (last === "unknown") return says("The last approved call could not be read.");
  const of = `${last.principal === principal ? "by the same caller" : "by another caller"}, ${momentOf(last.approvedAtMs)}`;
  const before = parsed(last.arguments);
  if (!before) return says(`It was too large to compare with (${of}).`);
  const now = shownArguments(called, args, redact);
  if (!now || JSON.stringify(now).length > LAST_APPROVED_CHARS_MAX) return says(`This call is too large to compare with it (${of}).`);
  const lines = diffLines(...pairOf(redacted(before, redact), now));
  if (lines.every(({ change }) => change === "same")) return says(`The arguments are the same (${of}).`);
  const title = `Changed since the last approved call, ${of}`;
  const shown = fitted(
    folded(lines.map(shortened(lines))),
    charsMax - JSON.stringify({ type: "diff", title, before: "", after: "" }).length,
  );
  const without = (change: DiffLine["change"]) =>
    shown
      .filter((line) => line.change !== change)
      .map(({ text }) => text)
      .join("\n");
  return { type: "diff", title, before: without("added"), after: without("removed") };
}

function parsed(text: string | undefined): JsonObject | undefined {
  const found: unknown = text === undefined ? undefined : JSON.parse(text);
  return isObject(found) ? found : undefined;
}

function momentOf(ms: number): string {
  const format = { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" } as const;
  return `${new Intl.DateTimeFormat("en-GB", format).format(ms).replace(" at ", ", ")} UTC`;
}

/** The arguments of both in the order of the second, so that another order is no difference. */
function pairOf(before: JsonObject, now: JsonObject): [string, string] {
  return [before, now].map((args) => leavesOf(inOrder(args, now), "").join("\n")) as [string, string];
}

function inOrder(value: Json, like: Json | undefined): Json {
  if (Array.isArray(value)) return value.map((item, index) => inOrder(item, Array.isArray(like) ? like[index] : undefined));
  if (!isObject(value)) return value;
  const other = isObject(like) ? like : {};
  const names = [
    ...Object.keys(other).filter((name) => Object.hasOwn(value, name)),
    ...Object.keys(value).filter((name) => !Object.hasOwn(other, name)),
  ];
  return Object.fromEntries(
    names.map((name) => [name, inOrder(value[name] as Json, Object.hasOwn(other, name) ? other[name] : undefined)]),
  );
}

/** A line for each value, and for each line of a longer text. Entries of lists have no number: one that is new would change all that follow. */
function leavesOf(value: Json, path: string): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap((item) => leavesOf(item, `${path}[]`));
  if (isObject(value) && (path === "" || Object.keys(value).length > 0))
    return Object.entries(value).flatMap(([name, each]) => leavesOf(each, path === "" ? nameOf(name) : `${path}.${nameOf(name)}`));
  if (typeof value === "string" && value.includes("\n")) return linesOf(value).map((line) => `${path} > ${visible(line)}`);
  return [`${path}: ${inOneLine(value)}`];
}

function nameOf(name: string): string {
  return /^[\w-]+$/.test(name) ? name : visible(JSON.stringify(name));
}

/** The beginning of a line: up to its value. */
const NAMED = /^(?:[\w.[\]-]|"(?:[^"\\]|\\.)*")+(?:: | > )/;

/** A line that is too long, from shortly before it differs from the one of the other call with the same name. It says of which call it is: cut, both may be equal. */
function shortened(lines: readonly DiffLine[]): (line: DiffLine) => DiffLine {
  return ({ change, text }) => {
    if (text.length <= LINE_CHARS_MAX) return { change, text };
    if (change === "same") return { change, text: cut(text, LINE_CHARS_MAX) };
    const [name = ""] = NAMED.exec(text) ?? [];
    const other = lines.find((each) => each.change !== change && each.change !== "same" && each.text.startsWith(name))?.text ?? "";
    let equal = 0;
    while (equal < text.length && text[equal] === other[equal]) equal += 1;
    const from = Math.max(name.length, equal - 40);
    const part = cut(text.slice(from), LINE_CHARS_MAX);
    return { change, text: `${name}${from > name.length ? "…" : ""}${part} (${change === "removed" ? "before" : "now"})` };
  };
}

/** Long runs of equal lines in short. */
function folded(lines: readonly DiffLine[]): readonly DiffLine[] {
  const shown: DiffLine[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && lines[end]?.change === "same") end += 1;
    const [first, last] = [at === 0 ? 0 : SAME_LINES, end === lines.length ? 0 : SAME_LINES];
    const count = end - at - first - last;
    const run = lines.slice(at, Math.max(end, at + 1));
    if (count <= 1) shown.push(...run);
    else shown.push(...run.slice(0, first), { change: "same", text: `(${count} more that are equal)` }, ...run.slice(run.length - last));
    at = Math.max(end, at + 1);
  }
  return shown;
}

function fitted(lines: readonly DiffLine[], charsMax: number): readonly DiffLine[] {
  let left = charsMax - 2 * CUT_OFF.length - 8;
  const end = lines.findIndex(({ change, text }) => {
    // With the end of the line, which is two characters as JSON.
    left -= JSON.stringify(text).length * (change === "same" ? 2 : 1);
    return left < 0;
  });
  return end < 0 ? lines : [...lines.slice(0, end), { change: "same", text: CUT_OFF }];
}
