/**
 * A task as its hash holds it, and back. scripts/task.lua describes the fields.
 *
 * What never changes and what only we read is packed into arrays: names of JSON members would be a tenth of a parked task.
 */
import {
  type Ask,
  type AskRequest,
  type Call,
  type CallFacts,
  canonicalJson,
  type ClientCapabilities,
  type Entry,
  type EntryOutcome,
  type JsonObject,
  type Outcome,
  type Task,
  type TaskAtWork,
  type TaskStatus,
  type TaskSummary,
  type TimeoutPolicy,
  type Violation,
} from "@parley/core";

/** About what an entry takes beside its outcome. */
const ENTRY_SIZE = 32;

type PackedFacts = [
  Call["kind"],
  name: string,
  principal: string,
  createdAtMs: number,
  hidden: 0 | 1,
  capabilities: string,
  seed: string,
  traceparent?: string | null,
  requestId?: string | number,
  progressToken?: string | number,
];
type PackedGiven = [args: JsonObject, replies?: JsonObject];
type PackedAsk = [position: number, askedAtMs: number, timeoutMs: number, TimeoutPolicy, ...PackedRequest];
type PackedRequest =
  | ["form", message: string, schema: JsonObject]
  | ["url", message: string, url: string]
  | ["sampling", params: JsonObject]
  | ["roots"];

/** What every look at the task needs, and what was given with the call, which its runs alone need. */
export function packCall(call: Call): { readonly facts: string; readonly given: string } {
  const { kind, name, principal, createdAtMs, hidden, capabilities, seed, arguments: args, replies, traceparent, request } = call;
  const facts: PackedFacts = [kind, name, principal, createdAtMs, hidden ? 1 : 0, packCapabilities(capabilities), seed];
  if (traceparent ?? request) facts.push(traceparent ?? null);
  if (request) facts.push(request.id);
  if (request?.progressToken !== undefined) facts.push(request.progressToken);
  const given: PackedGiven = replies ? [args, replies] : [args];
  return { facts: JSON.stringify(facts), given: JSON.stringify(given) };
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

/** Beside entries the journal's hash holds arguments that are large. */
export function isEntryKey(field: string): boolean {
  return field.includes(":");
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

type Fields = Readonly<Record<string, string>>;

/** The state, word by word. */
interface State {
  readonly status: TaskStatus;
  readonly revision: number;
  readonly run: number;
  readonly updatedAtMs: number;
  readonly expiresAtMs: number | undefined;
  readonly retentionMs: number;
  /** Failed tries of the handler so far. */
  readonly attempt: number;
  readonly generation: number;
  /** Takeovers in a row without anything having been recorded or parked. */
  readonly takeovers: number;
}

export interface UnpackedTask {
  readonly task: Task;
  readonly attempt: number;
  readonly takeovers: number;
}

/** Undefined for an empty hash, which is how Redis shows a key that is not there. */
export function unpackTask(id: string, fields: Fields): UnpackedTask | undefined {
  const { state: words, call, message, immediate, outcome } = fields;
  if (words === undefined || call === undefined) return undefined;
  const { status, revision, run, updatedAtMs, generation, expiresAtMs, retentionMs, attempt, takeovers } = unpackState(words);
  const { seed: _, ...facts } = unpackFacts(call);
  const task: Task = {
    id,
    call: { ...facts, retentionMs },
    status,
    revision,
    run,
    updatedAtMs,
    generation,
    asks: status === "input_required" ? unpackAsks(fields) : [],
    ...(takeovers > 0 && { takeovers }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(message !== undefined && { message }),
    ...(immediate !== undefined && { immediateResponse: immediate }),
    ...(outcome !== undefined && { outcome: JSON.parse(outcome) as Outcome }),
  };
  return { task, attempt, takeovers };
}

/** The task with what its runs need. What was given with the call stands with it or, when it is large, with the journal. */
export function unpackTaskAtWork(
  id: string,
  { task: fields, journal }: { readonly task: Fields; readonly journal: Fields },
): (Omit<UnpackedTask, "task"> & { readonly task: TaskAtWork }) | undefined {
  const unpacked = unpackTask(id, fields);
  const { call = "" } = fields;
  if (!unpacked) return undefined;
  const { task, ...counts } = unpacked;
  const { seed } = unpackFacts(call);
  const restartedWith = fields["arguments"] ?? journal["arguments"];
  // Replies were given to what the call asks first, and a restart is past that.
  const [args, replies] =
    restartedWith === undefined
      ? (JSON.parse(journal["given"] ?? call.slice(call.indexOf(FACTS_END) + 1)) as PackedGiven)
      : [JSON.parse(restartedWith) as JsonObject];
  return { ...counts, task: { ...task, call: { ...task.call, seed, arguments: args, ...(replies && { replies }) } } };
}

/** As much of a task as its summary needs, in the order in which `unpackSummary` takes it. */
export const SUMMARY_FIELDS = ["state", "call", "message", "problem"] as const;

/** Undefined for a task that is gone. */
export function unpackSummary(id: string, [words, call, message, problem]: readonly (string | null)[]): TaskSummary | undefined {
  if (typeof words !== "string" || typeof call !== "string") return undefined;
  const { status, updatedAtMs, expiresAtMs, retentionMs } = unpackState(words);
  const { principal, hidden, createdAtMs } = unpackFacts(call);
  return {
    id,
    principal,
    hidden,
    status,
    createdAtMs,
    updatedAtMs,
    retentionMs,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(typeof message === "string" && { message }),
    ...(typeof problem === "string" && { problem }),
  };
}

function unpackState(text: string): State {
  const [status, revision, run, updatedAtMs, expiresAtMs, retentionMs, attempt, generation, takeovers] = text.split(" ");
  return {
    status: status as TaskStatus,
    revision: Number(revision),
    run: Number(run),
    updatedAtMs: Number(updatedAtMs),
    expiresAtMs: expiresAtMs === "0" ? undefined : Number(expiresAtMs),
    retentionMs: Number(retentionMs),
    attempt: Number(attempt),
    generation: Number(generation),
    takeovers: Number(takeovers),
  };
}

/** JSON has no line feeds of its own, so the first one ends the facts. */
const FACTS_END = "\n";

function unpackFacts(call: string): Omit<CallFacts, "retentionMs"> & { readonly seed: string } {
  const end = call.indexOf(FACTS_END);
  const facts = end === -1 ? call : call.slice(0, end);
  const [kind, name, principal, createdAtMs, hidden, capabilities, seed, traceparent, id, progressToken] = JSON.parse(facts) as PackedFacts;
  return {
    kind,
    name,
    principal,
    capabilities: unpackCapabilities(capabilities),
    createdAtMs,
    hidden: hidden === 1,
    seed,
    ...(typeof traceparent === "string" && { traceparent }),
    ...(id !== undefined && { request: { id, ...(progressToken !== undefined && { progressToken }) } }),
  };
}

function unpackAsks(fields: Fields): Ask[] {
  return Object.entries(fields)
    .filter(([field]) => field.startsWith("ask:"))
    .map(([field, text]) => {
      const afterDigest = text.indexOf(" ");
      const afterRevision = text.indexOf(" ", afterDigest + 1);
      const afterCalledAt = text.indexOf(" ", afterRevision + 1);
      const revision = Number(text.slice(afterDigest + 1, afterRevision));
      const [position, askedAtMs, timeoutMs, onTimeout, ...request] = JSON.parse(text.slice(afterCalledAt + 1)) as PackedAsk;
      const key = field.slice(4);
      const noted = fields[`refused:${key}`];
      const refused = noted === undefined ? undefined : unpackRefused(noted);
      const ask: Ask = {
        key,
        digest: text.slice(0, afterDigest),
        calledAt: text.slice(afterRevision + 1, afterCalledAt),
        request: unpackRequest(request),
        askedAtMs,
        deadlineMs: askedAtMs + timeoutMs,
        onTimeout,
        since: { revision: refused?.revision ?? revision, position },
        ...(refused && { refused: { count: refused.count, violations: refused.violations } }),
      };
      return { ask, revision, position };
    })
    .toSorted((a, b) => a.revision - b.revision || a.position - b.position)
    .map(({ ask }) => ask);
}

/** `count revision JSON`, as refuse.lua writes it. */
function unpackRefused(text: string): NonNullable<Ask["refused"]> & { readonly revision: number } {
  const afterCount = text.indexOf(" ");
  const afterRevision = text.indexOf(" ", afterCount + 1);
  return {
    count: Number(text.slice(0, afterCount)),
    revision: Number(text.slice(afterCount + 1, afterRevision)),
    violations: JSON.parse(text.slice(afterRevision + 1)) as Violation[],
  };
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
