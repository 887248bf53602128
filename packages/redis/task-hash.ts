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

type PackedCall = [
  Call["kind"],
  name: string,
  principal: string,
  createdAtMs: number,
  hidden: 0 | 1,
  capabilities: string,
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
  arguments: args,
  replies,
  traceparent,
}: Call): string {
  const packed: PackedCall = [kind, name, principal, createdAtMs, hidden ? 1 : 0, packCapabilities(capabilities), args];
  if (replies ?? traceparent) packed.push(replies ?? null);
  if (traceparent !== undefined) packed.push(traceparent);
  return JSON.stringify(packed);
}

/** An open ask without its key and digest. `position` is its place among the asks that its run puts. */
export function packAsk({ askedAtMs, deadlineMs, onTimeout, request }: Ask, position: number): string {
  const packed: PackedAsk = [position, askedAtMs, deadlineMs - askedAtMs, onTimeout, ...packRequest(request)];
  return JSON.stringify(packed);
}

/** `<digest> <outcome>`, the outcome with sorted keys: equal answers are equal texts, which is all that a script has to know. */
export function packEntry({ digest, outcome }: Entry): string {
  return `${digest} ${packEntryOutcome(outcome)}`;
}

export function packEntryOutcome(outcome: EntryOutcome): string {
  return canonicalJson(outcome);
}

export function unpackEntry(text: string): Entry {
  const space = text.indexOf(" ");
  return { digest: text.slice(0, space), outcome: JSON.parse(text.slice(space + 1)) as EntryOutcome };
}

export interface UnpackedTask {
  readonly task: Task;
  /** Failed tries of the handler so far. */
  readonly attempt: number;
}

/** Undefined for an empty hash, which is how Redis shows a key that is not there. */
export function unpackTask(id: string, fields: Readonly<Record<string, string>>): UnpackedTask | undefined {
  const { state, call, message, immediate, outcome } = fields;
  if (state === undefined || call === undefined) return undefined;
  const [status, revision, run, updatedAtMs, expiresAtMs, retentionMs, attempt] = state.split(" ");
  const task: Task = {
    id,
    call: unpackCall(call, Number(retentionMs)),
    status: status as TaskStatus,
    revision: Number(revision),
    run: Number(run),
    updatedAtMs: Number(updatedAtMs),
    expiresAtMs: Number(expiresAtMs),
    asks: status === "input_required" ? unpackAsks(fields) : [],
    ...(message !== undefined && { message }),
    ...(immediate !== undefined && { immediateResponse: immediate }),
    ...(outcome !== undefined && { outcome: JSON.parse(outcome) as Outcome }),
  };
  return { task, attempt: Number(attempt) };
}

function unpackCall(text: string, retentionMs: number): Call {
  const [kind, name, principal, createdAtMs, hidden, capabilities, args, replies, traceparent] = JSON.parse(text) as PackedCall;
  return {
    kind,
    name,
    arguments: args,
    principal,
    capabilities: unpackCapabilities(capabilities),
    createdAtMs,
    retentionMs,
    hidden: hidden === 1,
    ...(replies && { replies }),
    ...(traceparent !== undefined && { traceparent }),
  };
}

function unpackAsks(fields: Readonly<Record<string, string>>): Ask[] {
  return Object.entries(fields)
    .filter(([field]) => field.startsWith("ask:"))
    .map(([field, text]) => {
      const afterDigest = text.indexOf(" ");
      const afterRun = text.indexOf(" ", afterDigest + 1);
      const [position, askedAtMs, timeoutMs, onTimeout, ...request] = JSON.parse(text.slice(afterRun + 1)) as PackedAsk;
      const key = field.slice(4);
      const refused = fields[`refused:${key}`];
      const ask: Ask = {
        key,
        digest: text.slice(0, afterDigest),
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
