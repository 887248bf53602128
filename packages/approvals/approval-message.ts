/** What the people read who are asked to approve a call, and what its caller reads meanwhile. */
import { type Audience, cut, type Json, type JsonObject, type Tool } from "@parley/core";

/** Of the arguments as they are shown, in characters. The approval binds all of them, and says if some are not shown. */
const SHOWN_CHARS_MAX = 4_000;
const REDACTED = "(not shown)";

export function approvalMessage(
  { name, title, description }: Tool,
  args: JsonObject,
  decided: { readonly title: string; readonly redact: readonly string[] },
): string {
  const text = JSON.stringify(redacted(args, decided.redact), undefined, 2);
  const shown = cut(text, SHOWN_CHARS_MAX);
  const about = description === undefined ? undefined : cut(description.split("\n", 1)[0] ?? "", 200);
  return [
    `${decided.title}: may this call run?`,
    `Tool: ${title === undefined ? name : `${title} (${name})`}${about ? `: ${about}` : ""}`,
    `Arguments:\n${shown}`,
    ...(shown === text ? [] : [`Not all of the arguments are shown: they have ${text.length} characters. Refuse what you cannot judge.`]),
  ].join("\n\n");
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

function redacted(args: JsonObject, pointers: readonly string[]): Json {
  const copy = structuredClone(args) as Json;
  for (const pointer of pointers) {
    const path = pointer
      .slice(1)
      .split("/")
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = path.pop() ?? "";
    let at: unknown = copy;
    for (const part of path) at = isObject(at) && Object.hasOwn(at, part) ? at[part] : undefined;
    if (isObject(at) && Object.hasOwn(at, last)) at[last] = REDACTED;
  }
  return copy;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
