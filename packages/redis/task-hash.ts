/**
 * A task as its hash holds it, and back. scripts/task.lua describes the fields.
 *
 * What never changes and what only we read is packed into arrays: names of JSON members would be a tenth of a parked task.
 */
import {
  type Ask,
  type AskRequest,
  type Call,
  canonicalJson,
  type ClientCapabilities,
  type Entry,
  type EntryOutcome,
  type JsonObject,
  type Outcome,
  type Task,
  type TaskStatus,
  type TimeoutPolicy,
  type Violation,
} from "@parley/core";

/** About what an entry takes beside its outcome. */
const ENTRY_SIZE = 32;

type PackedCall = [
  Call["kind"],
  name: string,
  principal: string,
  createdAtMs: number,
  hidden: 0 | 1,
  capabilities: string,
  seed: string,
  args: JsonObject,
  replies?: JsonObject | null,
  traceparent?: string,
];
type PackedAsk = [position: number, askedAtMs: number, timeoutMs: number, TimeoutPolicy, ...PackedRequest];
type PackedRequest =
  | ["form", message: string, schema: JsonObject]
  | ["url", message: string, url: string]
  | ["sampling", params: JsonObject]
  | ["roots"];

export function packCall({
  kind,
  name,
  principal,
  createdAtMs,
  hidden,
  capabilities,
  seed,
  arguments: args,
  replies,
  traceparent,
}: Call): string {
  const packed: PackedCall = [kind, name, principal, createdAtMs, hidden ? 1 : 0, packCapabilities(capabilities), seed, args];
  if (replies ?? traceparent) packed.push(replies ?? null);
  if (traceparent !== undefined) packed.push(traceparent);
  return JSON.stringify(packed);
}

/** `<called at> JSON`: an open ask without its key and digest. `position` is its place among the asks that its run puts. */
export function packAsk({ calledAt, askedAtMs, deadlineMs, onTimeout, request }: Ask, position: number): string {
  const packed: PackedAsk = [position, askedAtMs, deadlineMs - askedAtMs, onTimeout, ...packRequest(request)];
  return `${calledAt} ${JSON.stringify(packed)}`;
}

/** `<place> <called at> <digest> <outcome>`, the outcome with sorted keys: equal answers are equal texts, which is all that a script has to know. */
export function packEntry(entry: Entry): string {
  return `${packPlace(entry)} ${entry.calledAt} ${entry.digest || "-"} ${packEntryOutcome(entry.outcome)}`;
}

/** The first word of an entry; alone it is written over that of an entry that has no place yet. */
export function packPlace({ place, withdrawn, arrived }: Entry): string {
  if (place !== undefined) return `${withdrawn ? "w" : ""}${place}`;
  return arrived ? `?${arrived.atMs}.${arrived.revision}` : "-";
}

export function packEntryOutcome(outcome: EntryOutcome): string {
  return canonicalJson(outcome);
}

export function unpackEntry(text: string): {
  readonly entry: Entry;
  /** As it counts against the journal's limit. */ readonly size: number;
} {
  const afterPlace = text.indexOf(" ");
  const afterCalledAt = text.indexOf(" ", afterPlace + 1);
  const afterDigest = text.indexOf(" ", afterCalledAt + 1);
  const digest = text.slice(afterCalledAt + 1, afterDigest);
  const outcome = text.slice(afterDigest + 1);
  const entry: Entry = {
    digest: digest === "-" ? "" : digest,
    outcome: JSON.parse(outcome) as EntryOutcome,
    calledAt: text.slice(afterPlace + 1, afterCalledAt),
    ...unpackPlace(text.slice(0, afterPlace)),
  };
  return { entry, size: outcome.length + ENTRY_SIZE };
}

function unpackPlace(word: string): Pick<Entry, "place" | "withdrawn" | "arrived"> {
  if (word === "-") return {};
  if (word.startsWith("w")) return { place: Number(word.slice(1)), withdrawn: true };
  if (!word.startsWith("?")) return { place: Number(word) };
  const [atMs, revision] = word.slice(1).split(".");
  return { arrived: { atMs: Number(atMs), revision: Number(revision) } };
}

export interface UnpackedTask {
  readonly task: Task;
  /** Failed tries of the handler so far. */
  readonly attempt: number;
  /** Takeovers in a row without anything having been recorded or parked. */
  readonly takeovers: number;
}

/** Undefined for an empty hash, which is how Redis shows a key that is not there. */
export function unpackTask(id: string, fields: Readonly<Record<string, string>>): UnpackedTask | undefined {
  const { state, call, arguments: restartedWith, message, immediate, outcome } = fields;
  if (state === undefined || call === undefined) return undefined;
  const [status, revision, run, updatedAtMs, expiresAtMs, retentionMs, attempt, generation, takeovers] = state.split(" ");
  const task: Task = {
    id,
    call: unpackCall(call, Number(retentionMs), restartedWith),
    status: status as TaskStatus,
    revision: Number(revision),
    run: Number(run),
    updatedAtMs: Number(updatedAtMs),
    generation: Number(generation),
    asks: status === "input_required" ? unpackAsks(fields) : [],
    ...(takeovers !== "0" && { takeovers: Number(takeovers) }),
    ...(expiresAtMs !== "0" && { expiresAtMs: Number(expiresAtMs) }),
    ...(message !== undefined && { message }),
    ...(immediate !== undefined && { immediateResponse: immediate }),
    ...(outcome !== undefined && { outcome: JSON.parse(outcome) as Outcome }),
  };
  return { task, attempt: Number(attempt), takeovers: Number(takeovers) };
}

function unpackCall(text: string, retentionMs: number, restartedWith: string | undefined): Call {
  const [kind, name, principal, createdAtMs, hidden, capabilities, seed, args, replies, traceparent] = JSON.parse(text) as PackedCall;
  return {
    kind,
    name,
    arguments: restartedWith === undefined ? args : (JSON.parse(restartedWith) as JsonObject),
    principal,
    capabilities: unpackCapabilities(capabilities),
    createdAtMs,
    retentionMs,
    seed,
    hidden: hidden === 1,
    // They were given to what the call asks first, and a restart is past that.
    ...(replies && restartedWith === undefined && { replies }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

function unpackAsks(fields: Readonly<Record<string, string>>): Ask[] {
  return Object.entries(fields)
    .filter(([field]) => field.startsWith("ask:"))
    .map(([field, text]) => {
      const afterDigest = text.indexOf(" ");
      const afterRun = text.indexOf(" ", afterDigest + 1);
      const afterCalledAt = text.indexOf(" ", afterRun + 1);
      const [position, askedAtMs, timeoutMs, onTimeout, ...request] = JSON.parse(text.slice(afterCalledAt + 1)) as PackedAsk;
      const key = field.slice(4);
      const refused = fields[`refused:${key}`];
      const ask: Ask = {
        key,
        digest: text.slice(0, afterDigest),
        calledAt: text.slice(afterRun + 1, afterCalledAt),
        request: unpackRequest(request),
        askedAtMs,
        deadlineMs: askedAtMs + timeoutMs,
        onTimeout,
        ...(refused !== undefined && { refused: unpackRefused(refused) }),
      };
      return { ask, run: Number(text.slice(afterDigest + 1, afterRun)), position };
    })
    .toSorted((a, b) => a.run - b.run || a.position - b.position)
    .map(({ ask }) => ask);
}

/** `count JSON`, as refuse.lua writes it. */
function unpackRefused(text: string): NonNullable<Ask["refused"]> {
  const space = text.indexOf(" ");
  return { count: Number(text.slice(0, space)), violations: JSON.parse(text.slice(space + 1)) as Violation[] };
}

function packRequest(request: AskRequest): PackedRequest {
  switch (request.type) {
    case "form":
      return ["form", request.message, request.schema];
    case "url":
      return ["url", request.message, request.url];
    case "sampling":
      return ["sampling", request.params];
    case "roots":
      return ["roots"];
  }
}

function unpackRequest(packed: PackedRequest): AskRequest {
  switch (packed[0]) {
    case "form":
      return { type: "form", message: packed[1], schema: packed[2] };
    case "url":
      return { type: "url", message: packed[1], url: packed[2] };
    case "sampling":
      return { type: "sampling", params: packed[1] };
    case "roots":
      return { type: "roots" };
  }
}

/** One letter for each thing that the client can be asked for: elicitation, form, url, sampling, its tools, roots. */
export function packCapabilities({ elicitation, sampling, roots }: ClientCapabilities): string {
  const letters = [
    elicitation && "e",
    elicitation?.form && "f",
    elicitation?.url && "u",
    sampling && "s",
    sampling?.tools && "t",
    roots && "r",
  ];
  return letters.filter((letter) => letter).join("");
}

export function unpackCapabilities(letters: string): ClientCapabilities {
  const has = (letter: string) => letters.includes(letter);
  return {
    ...(has("e") && { elicitation: { form: has("f"), url: has("u") } }),
    ...(has("s") && { sampling: { tools: has("t") } }),
    ...(has("r") && { roots: true }),
  };
}
