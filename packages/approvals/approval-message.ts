/**
 * What the people read who are asked to approve a call, and what its caller reads meanwhile.
 *
 *   Deleting files: approve this call of "Delete file"?        the question, one sentence
 *     Tool        Delete file (files_delete). …                its context: the tool,
 *     Argument    Value                                        the arguments in one table,
 *     Argument content                                         and those that have more than one line
 *     > the first line
 *   Changed since the last approved call                       what differs, if the rule asks for it (compare.ts)
 *   Why, in the caller's own words
 *     > I need the room
 *
 * Whoever makes the call chooses its arguments, and wants a yes. So no argument can pass for another one, or for words of the question, even where the
 * context is shown as plain text: each line of a longer text begins with a mark, and what would not be seen as itself is written as an escape. A long
 * argument takes no room from short ones.
 */
import { type AskAbout, type Audience, CONTEXT_CHARS_MAX, cut, type JsonObject } from "@parley/core";
import { type Comparing, comparedPart, isOfAnother } from "./compare.ts";
import { REDACTED, redacted } from "./arguments.ts";
import { withDefaults } from "./defaults.ts";
import type { Called, Risk, RuleAbout } from "./rules.ts";
import { inOneLine, marked, visible } from "./visible.ts";

type Part = NonNullable<AskAbout["context"]>[number];

/**
 * Of the values of the arguments, in characters. The approval binds all of them, and says if some are not shown. Written as JSON, with its escapes,
 * everything that is shown is smaller than a context may be.
 */
const SHOWN_CHARS_MAX = 4_000;
const NAMES_MAX = 50;
const NAME_CHARS_MAX = 64;
/** More texts than these stand in the table. */
const TEXTS_MAX = 10;
const TOOL_CHARS_MAX = 128;
const DESCRIPTION_CHARS_MAX = 200;
/** As it is shown, with its escapes. */
const REASON_CHARS_MAX = 1_000;

export interface Approval {
  readonly title: string;
  readonly redact: readonly string[];
  readonly risk: Risk;
  readonly about?: RuleAbout | undefined;
  /** Why the call is made, as the caller says. */
  readonly reason?: string | undefined;
  /** With what it is compared, if the rule asks for it. */
  readonly compared?: Comparing | undefined;
}

export function approvalMessage({ name, title }: Called, decided: Pick<Approval, "title">): string {
  return `${decided.title}: approve this call of "${visible(cut(title ?? name, TOOL_CHARS_MAX))}"?`;
}

export function aboutCall(called: Called, args: JsonObject, { redact, risk, reason, about, compared }: Approval): AskAbout {
  const shown = [toolPart(called), ...argumentParts(called, args, redact)];
  const why = reasonParts(reason);
  // Last of all, as it takes the room that is left.
  const room = CONTEXT_CHARS_MAX - JSON.stringify([...shown, ...why]).length - 1;
  const context = [...shown, ...(compared ? [comparedPart(called, args, compared, room)] : []), ...why];
  return {
    isApproval: true,
    ...(risk !== "medium" && { priority: risk }),
    ...about,
    context,
    ...(compared && isOfAnother(compared) && { notForOwner: shown.length }),
  };
}

/** After the arguments: they are what is approved, and words take no room from them. */
function reasonParts(reason: string | undefined): readonly Part[] {
  return reason === undefined
    ? []
    : [{ type: "text", title: "Why, in the caller's own words", text: cut(marked(reason), REASON_CHARS_MAX) }];
}

function toolPart({ kind, name, title, version, description }: Called): Part {
  const says = visible(cut(description?.split("\n", 1)[0] ?? "", DESCRIPTION_CHARS_MAX));
  const called = title === undefined ? name : `${visible(cut(title, TOOL_CHARS_MAX))} (${name})`;
  const text = `${called}${version === undefined ? "" : `, version ${visible(cut(version, TOOL_CHARS_MAX))}`}.${says && ` It says of itself: ${says}`}`;
  return { type: "text", title: kind === "tool" ? "Tool" : "Prompt", text };
}

const FILLED_IN: Part = { type: "text", title: "Filled in", text: "The tool fills in more by its schema than can be shown here." };

/** What the caller left out and the tool fills in is marked. */
function argumentParts(called: Called, args: JsonObject, redact: readonly string[]): readonly Part[] {
  const whole = withDefaults(called, args);
  if (!whole) return [...argumentParts({ ...called, inputSchema: {} } as Called, args, redact), FILLED_IN];
  const all = Object.entries(redacted(whole, redact));
  if (all.length === 0) return [{ type: "text", title: "Arguments", text: "None." }];
  let texts = 0;
  const named = all.slice(0, NAMES_MAX).map(([name, value]) => {
    const isText = typeof value === "string" && value.includes("\n") && (texts += 1) <= TEXTS_MAX;
    const isRedacted = redact.includes(`/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    const shownName = Object.hasOwn(args, name) ? inOneLine(name) : `${inOneLine(name)} (by default)`;
    return {
      name: shownName,
      isText,
      value: isRedacted ? REDACTED : isText ? marked(cut(value, SHOWN_CHARS_MAX)) : inOneLine(value, SHOWN_CHARS_MAX),
    };
  });
  const room = roomFor(named.map(({ value }) => value.length));
  const isWhole = named.length === all.length && named.every(({ name, value }) => value.length <= room && name.length <= NAME_CHARS_MAX);
  const shown = named.map((each) => ({ ...each, name: cut(each.name, NAME_CHARS_MAX), value: cut(each.value, room) }));
  const rows = shown.filter(({ isText }) => !isText).map(({ name, value }) => [name, value]);
  const missing = `All arguments together have ${JSON.stringify(args).length} characters, too many to show. Refuse what you cannot judge.`;
  return [
    ...(isWhole ? [] : [{ type: "text" as const, title: "Not all of the arguments are shown", text: missing }]),
    ...(rows.length === 0 ? [] : [{ type: "table" as const, title: "Arguments", columns: ["Argument", "Value"], rows }]),
    ...shown.filter(({ isText }) => isText).map(({ name, value }): Part => ({ type: "text", title: `Argument ${name}`, text: value })),
  ];
}

/** How many characters each may have, so that all together have at most SHOWN_CHARS_MAX: what short ones leave, longer ones get. */
function roomFor(lengths: readonly number[]): number {
  let left = SHOWN_CHARS_MAX;
  const sorted = lengths.toSorted((a, b) => a - b);
  for (const [index, length] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (length > share) return share;
    left -= length;
  }
  return SHOWN_CHARS_MAX;
}

/** Names nobody who is not named by the rule itself. */
export function askedOf({ to, quorum }: Audience): string {
  const count = quorum === undefined ? "" : `${quorum} of `;
  if (to === "tenant") return `Asked: ${count}everyone.`;
  const { people = [], groups = [], roles = [] } = to;
  const asked = [
    ...(people.length > 0 ? [people.length === 1 ? "a person" : `${people.length} people`] : []),
    ...groups.map((group) => `group ${group}`),
    ...roles.map((role) => `role ${role}`),
  ];
  return `Asked: ${count}${asked.join(", ")}.`;
}
