/**
 * A task as `parley export` writes it, one JSON object per line: exactly what replay needs. Journals hold no
 * secrets from pages, so exports hold none either.
 */
import {
  type Acceptance,
  type Ask,
  type AskRequest,
  type AwaitedCall,
  type AwaitedEvent,
  type CallFacts,
  callKey,
  canonicalJson,
  type Entry,
  entryKey,
  type EntryOutcome,
  type Given,
  type Json,
  type JsonObject,
  type Journal,
  type Open,
  type Participant,
  type TaskAtWork,
  type TaskStatus,
  isFinished,
  isOfCompensation,
  isReadingKey,
} from "@parley/core";
import { present } from "../values/without-undefined.ts";
import { textDigest } from "./ports.ts";
import { isObject } from "../values/is-object.ts";

/** Version of the export format. Other versions are refused. */
export const EXPORT_FORMAT = 1;

/** An exported task: its call, its journal and its open questions. */
export interface RecordedTask {
  readonly format: typeof EXPORT_FORMAT;
  readonly taskId: string;
  /** Time of the export, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly status: TaskStatus;
  readonly generation: number;
  readonly run: number;
  readonly call: Pick<CallFacts, "kind" | "name" | "version" | "principal" | "caller" | "tenant" | "capabilities" | "createdAtMs"> & {
    readonly arguments: JsonObject;
    readonly replies?: JsonObject;
    /** Source of the task's uuids and random numbers; absent if the content is redacted. */
    readonly seed?: string;
  };
  /** Open questions. The digest is "" if it cannot be compared. */
  readonly asks: readonly Ask[];
  /** Open events. */
  readonly events?: readonly AwaitedEvent[];
  /** Unfinished children. Their digest is their id. */
  readonly calls?: readonly AwaitedCall[];
  /** By entry key. The digest of a question is "" if it cannot be compared. */
  readonly journal: Readonly<Record<string, Entry>>;
  /** Strings and numbers from people and services are replaced by placeholders. */
  readonly isRedacted: boolean;
  /** The deployment seals its content, so a question can be compared only while it is open. */
  readonly isSealed: boolean;
}

/** A task that could not be read. */
export interface UnreadableTask {
  readonly format: typeof EXPORT_FORMAT;
  readonly taskId: string;
  readonly unreadable: string;
}

/** Throws an Error that says what is wrong with the line. */
export function readRecordedTask(line: string): RecordedTask | UnreadableTask {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error("is not JSON: the line was changed, or cut off");
  }
  if (!isObject(value) || typeof value["taskId"] !== "string") throw new Error("is not an exported task: it lacks `taskId`");
  const { format } = value;
  if (format !== EXPORT_FORMAT)
    throw new Error(`has the format ${JSON.stringify(format)}, and this version reads ${EXPORT_FORMAT}: use the version that exported it`);
  if (typeof value["unreadable"] === "string") return value as unknown as UnreadableTask;
  const { call, asks, events = [], calls = [], journal } = value;
  const problem =
    (!isObject(call) || typeof call["name"] !== "string" || !isObject(call["arguments"]) ? "`call`" : undefined) ??
    (Array.isArray(asks) && asks.every(isAsk) ? undefined : "`asks`") ??
    (Array.isArray(events) && events.every(isAsk) ? undefined : "`events`") ??
    (Array.isArray(calls) && calls.every(isAsk) ? undefined : "`calls`") ??
    (isObject(journal) && Object.entries(journal).every(isEntry) ? undefined : "`journal`") ??
    (typeof value["atMs"] === "number" && typeof value["generation"] === "number" ? undefined : "`atMs` or `generation`");
  if (problem !== undefined)
    throw new Error(`is not an exported task: ${problem} is missing or malformed, or a later version of Parley exported it`);
  return value as unknown as RecordedTask;
}

const CALLED_AT = /^\d+o?(:[\d.]+)?$/;

function isAsk(ask: unknown): boolean {
  return isObject(ask) && typeof ask["key"] === "string" && isObject(ask["request"]) && isMoment(ask["calledAt"]);
}

function isMoment(value: unknown): boolean {
  return typeof value === "string" && CALLED_AT.test(value);
}

function isEntry([key, entry]: readonly [string, unknown]): boolean {
  if (!(key.includes(":") || isReadingKey(key)) || !isObject(entry) || !isMoment(entry["calledAt"])) return false;
  const { place } = entry;
  return isObject(entry["outcome"]) && (place === undefined || (Number.isSafeInteger(place) && Number(place) >= 1));
}

export interface ToRecord {
  readonly atMs: number;
  readonly redaction: Redaction;
  /** Whether the task's content is sealed. Its digests then depend on a key that never leaves the deployment. */
  readonly isSealed: boolean;
}

/** Converts a task for export. Neither input holds secrets: deposits are kept apart from the journal. */
export function toRecordedTask(
  { task, journal }: { readonly task: TaskAtWork; readonly journal: Journal },
  { atMs, redaction, isSealed }: ToRecord,
): RecordedTask {
  const { kind, name, version, principal, caller, tenant, capabilities, createdAtMs, arguments: args, replies, seed } = task.call;
  const { withContent } = redaction;
  const redacted = <T extends Json>(value: T) => redactJson(value, redaction) as T;
  return {
    format: EXPORT_FORMAT,
    taskId: task.id,
    atMs,
    status: task.status,
    generation: task.generation,
    run: task.run,
    call: {
      kind,
      name,
      ...(version !== undefined && { version }),
      principal: withContent ? principal : "redacted",
      ...(caller && { caller: redacted({ ...caller }) }),
      capabilities,
      createdAtMs,
      arguments: redacted(args),
      ...(replies && { replies: redacted(replies) }),
      ...(withContent && { seed, ...present({ tenant }) }),
    },
    // Questions shown for children belong to the children.
    asks: task.asks.filter(({ route }) => !route).map((ask) => recordedAsk(ask, { redaction, isSealed })),
    ...(task.events && { events: task.events.map((event) => recordedEvent(event, { redaction, isSealed })) }),
    ...(task.calls && { calls: task.calls }),
    journal: Object.fromEntries(
      // Without content, schemas read the placeholders of the answers.
      [...journal]
        .filter(([key, entry]) => (withContent || !isReadingKey(key)) && isOfHandler(task, key, entry))
        .map(([key, entry]) => [
          key,
          {
            ...entry,
            digest: isSealed && !key.startsWith(CALL_ENTRY) ? "" : entry.digest,
            outcome: isContent(key) ? redactOutcome(entry.outcome, redaction) : entry.outcome,
          },
        ]),
    ),
    isRedacted: !withContent || redaction.fields.length > 0,
    isSealed,
  };
}

const CALL_ENTRY = entryKey("ask", callKey(""));

/** Without what came of the end of a task: its compensation, and that its open questions were closed. */
function isOfHandler({ status }: TaskAtWork, key: string, { outcome, place }: Entry): boolean {
  if (!isFinished(status)) return true;
  return !isOfCompensation(key) && (outcome.type !== "closed" || place !== undefined);
}

function isContent(key: string): boolean {
  return key.startsWith("step:") || key.startsWith("ask:") || isReadingKey(key);
}

type How = Pick<ToRecord, "redaction" | "isSealed">;

function recordedAsk(ask: Ask, how: How): Ask {
  const { request, audience } = ask;
  const { withContent } = how.redaction;
  return { ...awaited(ask, how), request: withContent ? request : redactRequest(request), ...(withContent && audience && { audience }) };
}

function recordedEvent(event: AwaitedEvent, how: How): AwaitedEvent {
  return { ...awaited(event, how), request: how.redaction.withContent ? event.request : { type: "event", schema: {} } };
}

function awaited(
  { key, calledAt, digest, askedAtMs, deadlineMs, onTimeout, request }: Open,
  { redaction: { withContent }, isSealed }: How,
) {
  // For open questions the request itself is available.
  const own = isSealed && withContent ? textDigest(canonicalJson(request)) : "";
  return {
    key,
    calledAt,
    digest: isSealed ? own : digest,
    askedAtMs,
    deadlineMs,
    onTimeout: withContent ? onTimeout : ("cancel" as const),
  };
}

/** Keeps the kind and none of the content: a question may quote anything. */
function redactRequest(request: AskRequest): AskRequest {
  switch (request.type) {
    case "form":
      return { type: "form", message: redactText(request.message), schema: { type: "object", properties: {} } };
    case "url":
      return { type: "url", message: redactText(request.message), url: "https://example.com/" };
    case "sampling":
      return { type: "sampling", params: {} };
    case "roots":
      return request;
  }
}

function redactOutcome(outcome: EntryOutcome, redaction: Redaction): EntryOutcome {
  switch (outcome.type) {
    case "value":
      return outcome.value === undefined ? outcome : { type: "value", value: redactJson(outcome.value, redaction) };
    case "answer": {
      const { answer, by, accepted, given } = outcome;
      const content = answer.action === "accept" ? answer.content : undefined;
      const who = {
        ...(by !== undefined && { by: redactName(by, redaction) }),
        ...(accepted && { accepted: accepted.map((each) => redactAcceptance(each, redaction)) }),
        ...(given && { given: redactGiven(given, redaction) }),
      };
      if (content) return { type: "answer", answer: { action: "accept", content: redactJson(content, redaction) as JsonObject }, ...who };
      if (answer.action === "reply")
        return { type: "answer", answer: { action: "reply", result: redactJson(answer.result, redaction) as JsonObject }, ...who };
      if (answer.action === "decline" && answer.reason !== undefined)
        return { type: "answer", answer: { action: "decline", reason: redactJson(answer.reason, redaction) as string }, ...who };
      return { type: "answer", answer, ...who };
    }
    case "error":
      return { ...outcome, message: redaction.withContent ? outcome.message : redactText(outcome.message) };
    case "begun":
    case "closed":
    case "withdrawn":
    case "cancelled":
      return outcome;
  }
}

function redactGiven({ name, delegatedBy, ...given }: Given, redaction: Redaction): Given {
  return {
    ...given,
    ...(name !== undefined && { name: redactName(name, redaction) }),
    ...(delegatedBy && { delegatedBy: redactPerson(delegatedBy, redaction) }),
  };
}

function redactPerson({ by, person, name }: Participant, redaction: Redaction): Participant {
  return {
    by: redactName(by, redaction),
    ...(person !== undefined && { person: redactName(person, redaction) }),
    ...(name !== undefined && { name: redactName(name, redaction) }),
  };
}

function redactAcceptance(
  { by, person, name, delegatedBy, content, atMs, assurance, login }: Acceptance,
  redaction: Redaction,
): Acceptance {
  return {
    ...(by !== undefined && { by: redactName(by, redaction) }),
    ...(person !== undefined && { person: redactName(person, redaction) }),
    ...(name !== undefined && { name: redactName(name, redaction) }),
    ...(delegatedBy && { delegatedBy: redactPerson(delegatedBy, redaction) }),
    content: redactJson(content, redaction) as JsonObject,
    atMs,
    ...(assurance && { assurance }),
    ...(login && { login }),
  };
}

/** A principal. Its placeholder is another one for another person, almost certainly. */
function redactName(name: string, { withContent }: Redaction): string {
  return withContent ? name : redactText(name);
}

/** Which values stay readable. */
export interface Redaction {
  /** All except those of `fields`. Otherwise strings and numbers are replaced by placeholders. */
  readonly withContent: boolean;
  /** Names of members that are always replaced, at any depth. */
  readonly fields: readonly string[];
}

/**
 * Replaces what people, callers and services provided by placeholders. Values that steer the handler stay if they
 * reveal nothing: actions, booleans, null, empty strings and lists, 0, and the choices of a form. Other strings keep
 * their length and kinds of characters, or their format (a date becomes another date), so that schemas accept them;
 * other numbers become 1, or 0.5.
 */
export function redactJson(value: Json, { withContent, fields }: Redaction, isWithin = false): Json {
  const isHidden = !withContent || isWithin;
  if (typeof value === "string") return isHidden ? redactText(value) : value;
  if (typeof value === "number") return isHidden ? redactNumber(value) : value;
  if (Array.isArray(value)) return value.map((each) => redactJson(each, { withContent, fields }, isWithin));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, redactJson(each, { withContent, fields }, isWithin || fields.includes(name))]),
  );
}

function redactNumber(value: number): number {
  if (value === 0) return 0;
  return Math.sign(value) * (Number.isInteger(value) ? 1 : 0.5);
}

const FORMATS: readonly (readonly [RegExp, string])[] = [
  [/^\d{4}-\d\d-\d\d$/, "2000-01-01"],
  [/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/, "2000-01-01T00:00:00Z"],
  [/^\d\d:\d\d$/, "12:00"],
  [/^\d\d:\d\d:\d\d$/, "12:00:00"],
  [/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, "00000000-0000-4000-8000-000000000000"],
  [/^[^@\s]+@[^@\s]+\.[^@\s]+$/, "redacted@example.com"],
  [/^https?:\/\/\S+$/, "https://example.com/"],
];

function redactText(text: string): string {
  const format = FORMATS.find(([pattern]) => pattern.test(text));
  if (format) return format[1];
  return text
    .replaceAll(/\p{Lu}/gu, "X")
    .replaceAll(/(?!X)\p{L}/gu, "x")
    .replaceAll(/\p{N}/gu, "1");
}
