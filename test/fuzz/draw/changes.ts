/**
 * A request and the changes that are made to it, as data. They are drawn, shrunk and printed in this form, and become bytes only when they
 * are sent.
 *
 * Each change knows which response it requires. What follows from the whole (a body that is not JSON, nests too deeply or is too large) is
 * computed from the bytes at the end, by a model of the documented limits and not by the server's code.
 */
import { BODY_BYTES_MAX, BODY_DEPTH_MAX, BODY_VALUES_MAX } from "../limits.ts";
import { at, type Drawn, expand, extentOf, type Path, withValue } from "./json.ts";

export type Due =
  /** An error: of JSON-RPC, of HTTP, or a result that says so. */
  | "refused"
  | "accepted"
  /** Either; the other rules hold all the same. */
  | "any";

interface Change {
  /** Tells findings apart: says what kind of change it is, not which value was drawn. */
  readonly name: string;
  readonly due: Due;
  /** JSON-RPC codes that a refusal may have if this is the only thing wrong. */
  readonly codes?: readonly number[];
  /** Nothing else that is wrong is told then: a message without an id is not answered. */
  readonly silences?: true;
}

export interface SetChange extends Change {
  readonly set: Path;
  readonly to: Drawn;
  /** A header that must agree with it. */
  readonly repeated?: { readonly header: string; readonly value: string };
}

export interface DropChange extends Change {
  readonly drop: Path;
}

export interface HeaderChange extends Change {
  /** In lower case. */
  readonly header: string;
  /** Undefined takes it away. */
  readonly value: string | undefined;
}

/** Of the body's text, at a place between its beginning (0) and its end (1). */
export interface TextChange extends Change {
  readonly text: "cut" | "insert" | "replace";
  readonly place: number;
  readonly with: string;
}

export type AnyChange = SetChange | DropChange | HeaderChange | TextChange;

export interface Draft {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Drawn;
}

export interface Finished {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly due: Due;
  readonly codes: readonly number[] | undefined;
  /** Names of the changes that were made. */
  readonly changes: readonly string[];
}

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/** `due` is what the unchanged request deserves; `fill` puts what only the run knows into the text, such as ids. */
export function finish(
  { headers, body }: Draft,
  changes: readonly AnyChange[],
  { due, fill = (text) => text }: { readonly due: Due; readonly fill?: (text: string) => string },
): Finished {
  const made: AnyChange[] = [];
  const changedHeaders: Record<string, string> = { ...headers };
  let changedBody = expand(body);
  for (const change of changes) {
    if (made.some((other) => touches(other, change))) continue;
    if ("header" in change) {
      if (change.value === undefined) delete changedHeaders[change.header];
      else changedHeaders[change.header] = change.value;
    } else if ("set" in change) {
      if (change.set.length > 0 && at(changedBody, change.set.slice(0, -1)) === undefined) continue;
      changedBody = withValue(changedBody, change.set, expand(change.to));
      if (change.repeated) changedHeaders[change.repeated.header] = change.repeated.value;
    } else if ("drop" in change) {
      if (at(changedBody, change.drop) === undefined) continue;
      changedBody = withValue(changedBody, change.drop, undefined);
    }
    made.push(change);
  }
  let text = fill(JSON.stringify(changedBody));
  for (const change of made) if ("text" in change) text = edited(text, change);
  // Headers are bytes: what is beyond them travels as the octets of UTF-8.
  const filled = Object.fromEntries(
    Object.entries(changedHeaders).map(([name, value]) => [name, Buffer.from(fill(value)).toString("latin1")]),
  );
  const bytes = Buffer.from(text);
  return {
    headers: filled,
    body: bytes,
    changes: made.map(({ name }) => name),
    ...dueOf(bytes, made, due),
  };
}

/** The same header, the same member, or one within the other: only the first of two such changes is made, so that each means what it says. */
function touches(one: AnyChange, other: AnyChange): boolean {
  if ("header" in one || "header" in other) return "header" in one && "header" in other && one.header === other.header;
  if ("text" in one || "text" in other) return "text" in one && "text" in other;
  const [a, b] = [pathOf(one), pathOf(other)];
  const shared = Math.min(a.length, b.length);
  return a.slice(0, shared).every((key, index) => key === b[index]);
}

function pathOf(change: SetChange | DropChange): Path {
  return "set" in change ? change.set : change.drop;
}

function edited(text: string, { text: how, place, with: piece }: TextChange): string {
  const index = Math.floor(place * text.length);
  switch (how) {
    case "cut":
      return text.slice(0, index);
    case "insert":
      return text.slice(0, index) + piece + text.slice(index);
    case "replace":
      return text.slice(0, index) + piece + text.slice(index + 1);
  }
}

function mayExceed(text: string): boolean {
  return text.split(/[[{]/).length - 1 > BODY_DEPTH_MAX || text.split(/[[{,]/).length - 1 > BODY_VALUES_MAX;
}

function dueOf(bytes: Buffer, made: readonly AnyChange[], due: Due): Pick<Finished, "due" | "codes"> {
  const headersChanged = made.some((change) => "header" in change);
  const only = (...codes: readonly number[]) => ({ due: "refused" as const, codes: headersChanged ? undefined : codes });
  if (bytes.length > BODY_BYTES_MAX) return only(INVALID_REQUEST);
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString());
  } catch {
    // A body is measured before it is parsed, since that is what the measure is for: one that seems too deep or too full is refused for that,
    // whether or not the rest is JSON.
    return mayExceed(bytes.toString()) ? only(PARSE_ERROR, INVALID_REQUEST) : only(PARSE_ERROR);
  }
  const { depth, values } = extentOf(parsed);
  if (depth > BODY_DEPTH_MAX || values > BODY_VALUES_MAX) return only(INVALID_REQUEST);
  // A request whose id was edited away is a notification, which no reply refuses.
  const isSilent = made.some((change) => "text" in change) && typeof parsed === "object" && parsed !== null && !Object.hasOwn(parsed, "id");
  if (isSilent || made.some(({ silences }) => silences)) return { due: "any", codes: undefined };
  const wrong = made.filter((change) => change.due === "refused");
  const [first] = wrong;
  if (first) return { due: "refused", codes: made.length === 1 && due === "accepted" ? first.codes : undefined };
  return { due: made.some((change) => change.due === "any") ? "any" : due, codes: undefined };
}
