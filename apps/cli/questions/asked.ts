/** A question as /api/v1 has it, in words for a terminal: who asks, until when, what to look at first, and how it ended. */
import type { AskSummary, Audience, ContextPart, OpenAsk, SettledAsk } from "../client/api-client.ts";
import { whoIs } from "@parley/core";
import { clean, cleanAll, cleanLine, styled } from "../terminal/terminal.ts";
import { counted } from "../terminal/counted.ts";
import { relative } from "../terminal/times.ts";
import { type InputRequest, showAsk, showUrl } from "./show.ts";

type Json = NonNullable<InputRequest["params"]>;

/** As MCP asks it. */
export function requestOf({ request }: OpenAsk): InputRequest {
  const { type, message, schema = { type: "object" }, url = "", hints } = request;
  const meta = typeof hints === "object" && hints !== null ? { _meta: { "parley/hints": hints } } : {};
  const params: Json =
    type === "url" ? { mode: "url", message, url, ...meta } : { mode: "form", message, requestedSchema: schema, ...meta };
  return { method: "elicitation/create", params };
}

type Titled = Pick<AskSummary, "tool" | "toolTitle">;

/** `Approve an invoice (approve_invoice)`: what people call a tool, and what commands do. */
export function toolText({ tool, toolTitle = tool }: Titled): string {
  const [name, title] = [cleanLine(tool), cleanLine(toolTitle)];
  return title === "" || title === name ? name : `${title} (${name})`;
}

/** `Approve an invoice asks, in a call of Bob (bob@acme.io)`. A list has the name as well, by which it can be narrowed. */
export function whoAsks(ask: Titled & Pick<AskSummary, "owner">, isInList = false): string {
  const { tool, toolTitle = tool, owner } = ask;
  const called = isInList ? toolText(ask) : cleanLine(toolTitle) || cleanLine(tool);
  return `${called} asks${owner.isCaller ? "" : `, in a call of ${cleanLine(whoIs(owner) ?? owner.principal)}`}`;
}

/** `urgent · asked 3 minutes ago · open for 2 days, then it counts as declined`. */
export function whenAsked(given: AskSummary & Pick<Partial<OpenAsk>, "upcoming">, nowMs: number): string {
  // A server may send a text where it should send a number.
  const ask = cleanAll(given);
  const {
    priority,
    isRisky,
    askedAt,
    due,
    audience,
    accepted = 0,
    claimedBy,
    commentCount = 0,
    delegatedBy,
    remindedAt,
    upcoming,
    snoozedUntil,
  } = ask;
  const parts = [
    ...(isRisky ? ["cannot be undone"] : []),
    ...(priority === "normal" ? [] : [cleanLine(priority)]),
    `asked ${relative(Date.parse(askedAt), nowMs)}`,
    ...(due === undefined ? [] : [dueText(Date.parse(due), nowMs)]),
    untilText(ask, nowMs),
    ...(needsLogin(ask) ? ["needs a login in a browser"] : []),
    ...(audience ? [`for ${peopleText(ask)}`] : []),
    ...(audience?.quorum === undefined ? [] : [`${accepted} of ${audience.quorum} people have accepted`]),
    ...(snoozedUntil === undefined ? [] : [`put aside, comes back ${relative(Date.parse(snoozedUntil), nowMs)}`]),
    ...(ask.askedBack ? ["waits for a reply"] : []),
    ...(claimedBy ? [claimedBy.isCaller ? "you are on it" : `${nameOf(claimedBy)} is on it`] : []),
    ...(delegatedBy ? [`handed on by ${nameOf(delegatedBy)}`] : []),
    ...(commentCount > 0 ? [counted(commentCount, "comment")] : []),
    ...promptTexts(
      {
        ...ask,
        ...(remindedAt !== undefined && { remindedAtMs: Date.parse(remindedAt) }),
        upcoming: (upcoming ?? []).map(({ at, ...rest }) => ({ ...rest, atMs: Date.parse(at) })),
      },
      nowMs,
    ),
  ];
  return parts.join(" · ");
}

interface Prompted {
  readonly remindedAtMs?: number;
  readonly escalatedTo?: readonly Audience["to"][];
  readonly upcoming?: readonly { readonly what: string; readonly atMs: number; readonly to?: Audience["to"] }[];
}

/** `reminded 2 hours ago`, `also asked: leads`, `reminder in 3 days`: what happened while nobody answered, and what comes next. */
export function promptTexts({ remindedAtMs, escalatedTo, upcoming = [] }: Prompted, nowMs: number): readonly string[] {
  const names = (to: Audience["to"]) => peopleText({ audience: { to } });
  const [next] = upcoming;
  const comes = next && relative(next.atMs, nowMs);
  return [
    ...(remindedAtMs === undefined ? [] : [`reminded ${relative(remindedAtMs, nowMs)}`]),
    ...(escalatedTo ? [`also asked: ${escalatedTo.map(names).join(", ")}`] : []),
    ...(next ? [next.to === undefined ? `reminder ${comes}` : `${comes} also asked: ${names(next.to)}`] : []),
  ];
}

function nameOf({ name, principal }: { readonly name?: string; readonly principal: string }): string {
  return cleanLine(name ?? principal);
}

function dueText(dueMs: number, nowMs: number): string {
  return dueMs > nowMs ? `wanted ${relative(dueMs, nowMs)}` : `was wanted ${relative(dueMs, nowMs)}`;
}

function untilText({ deadline, onTimeout }: Pick<AskSummary, "deadline" | "onTimeout">, nowMs: number): string {
  const then = typeof onTimeout === "string" ? THEN[onTimeout] : "the tool takes its default answer";
  return `closes ${relative(Date.parse(deadline), nowMs)}, and then ${then}`;
}

const THEN = { cancel: "it has no answer", decline: "it counts as declined", fail: "the call fails" } as const;

/** Who else is asked. */
export function peopleText({ audience }: Pick<AskSummary, "audience">): string {
  const { to = {}, not }: Partial<Audience> = audience ?? {};
  const named = to === "tenant" ? ["everyone in your organisation"] : [...(to.people ?? []), ...(to.groups ?? []), ...(to.roles ?? [])];
  const shown = named.slice(0, NAMES_SHOWN).map(cleanLine).join(", ");
  return `${shown}${named.length > NAMES_SHOWN ? " …" : ""}${not === "caller" ? ", not for the person who made the call" : ""}`;
}

/** Why a person may read a question and not answer it, to follow its name. */
export function notForYou({ handedOn, audience }: Partial<Pick<OpenAsk, "handedOn" | "audience">>): string {
  if (!handedOn?.to) return `is a question for ${peopleText(audience ? { audience } : {})}, and not for you`;
  const { by, from, to } = handedOn;
  const people = peopleText({ audience: { to } });
  if (by?.isCaller !== true) return `was handed on by ${cleanLine(by?.name ?? by?.principal ?? "somebody")} to ${people}`;
  // What one got from somebody else is theirs to take back.
  return `was handed on by you to ${people}${from ? "" : ": take it back with `parley delegate`"}`;
}

/** Follows the name of a question whose answer counts through no client: whoever types one here would have it refused. */
export const NEEDS_LOGIN = "needs a login in a browser: answer it on its page or in the inbox";
const IN_BROWSER = "answer it in a browser: on its page, or in the inbox";

export function needsLogin({ assurance }: Pick<AskSummary, "assurance">): boolean {
  return assurance?.by === "login";
}

const NAMES_SHOWN = 6;
const ROWS_SHOWN = 30;

/** Others answer it, and one of them waits for this person's reply. */
export function isToReply({ state, askedBack, owner }: Pick<OpenAsk, "state" | "askedBack" | "owner">): boolean {
  return state === "of-others" && askedBack !== undefined && owner.isCaller;
}

/** A question of a list, with the command that answers it, if one does. */
export function showAsked(ask: OpenAsk, nowMs: number): string {
  const context = showContext(ask.context ?? [], process.stdout);
  const wanted = isToReply(ask) ? ask.askedBack : undefined;
  if (wanted) {
    const { by, text } = wanted;
    return [
      `${styled("bold", whoAsks(ask), process.stdout)}  ${whenAsked(ask, nowMs)}`,
      `? ${cleanLine(ask.key)}: ${nameOf(by)} asks you back: ${cleanLine(text)}`,
      `    parley reply ${cleanLine(ask.taskId)} ${cleanLine(ask.key)} -m <text>`,
    ].join("\n");
  }
  return [
    `${styled("bold", whoAsks(ask, true), process.stdout)}  ${whenAsked(ask, nowMs)}`,
    ...(context === "" ? [] : [indented(context)]),
    needsLogin(ask)
      ? `? ${cleanLine(ask.key)}: ${clean(ask.request.message)}\n    ${IN_BROWSER}`
      : showAsk(ask.taskId, ask.key, requestOf(ask)),
  ].join("\n");
}

/** What to see before answering. */
export function showContext(parts: readonly ContextPart[], stream: NodeJS.WriteStream): string {
  return parts.map((part) => showPart(part, stream)).join("\n");
}

function showPart(part: ContextPart, stream: NodeJS.WriteStream): string {
  const title = part.title === undefined ? [] : [cleanLine(part.title)];
  switch (part.type) {
    case "text":
      return [...title, clean(part.text)].join("\n");
    case "link":
    case "picture":
      return `${title.join("")}: ${showUrl(part.url)}`;
    case "diff":
      return [
        ...title,
        ...linesOf(part.before).map((line) => styled("red", `- ${line}`, stream)),
        ...linesOf(part.after).map((line) => styled("green", `+ ${line}`, stream)),
      ].join("\n");
    case "table": {
      const rows = [part.columns, ...part.rows.slice(0, ROWS_SHOWN)].map((row) => row.map((cell) => cleanLine(String(cell))));
      const widths = part.columns.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
      const shown = rows.map((row) =>
        row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join("  ")
          .trimEnd(),
      );
      const hidden = part.rows.length - ROWS_SHOWN;
      return [...title, ...shown, ...(hidden > 0 ? [`… ${hidden} more`] : [])].join("\n");
    }
  }
}

function linesOf(text: string): readonly string[] {
  return clean(text).split("\n");
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}

/** `was answered by bob`, to follow the name of a question. */
export function howEnded({ end, by }: SettledAsk): string {
  const who = by === undefined || by.isCaller ? "already" : `by ${cleanLine(by.name ?? by.principal)}`;
  switch (end) {
    case "answered":
    case "accepted":
      return `was answered ${who}`;
    case "declined":
      return `was declined ${who}`;
    case "cancelled":
      return "was closed without an answer";
    case "timed_out":
      return "is closed: its deadline has passed";
    case "withdrawn":
      return "is closed: the tool no longer needs an answer";
    case "closed":
      return "is closed: the call has ended";
  }
}
