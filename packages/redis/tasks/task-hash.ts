/**
 * Packs a task into its hash and back. scripts/task.lua describes the fields.
 *
 * Values that never change, or that only this package reads, are packed into arrays: JSON member names would be a
 * tenth of a parked task. Content passes the codec (content/codec.ts) here and nowhere else, except for feed items,
 * which pass it in store.ts.
 */
import {
  type Acceptance,
  type Ask,
  type AskAbout,
  type AskThread,
  type Audience,
  type Call,
  type CallerNames,
  type CallFacts,
  callKey,
  canonicalJson,
  type ClientCapabilities,
  DEFAULT_TENANT,
  type Entry,
  entryKey,
  type EntryOutcome,
  isQuestion,
  isReadingKey,
  type JournalLine,
  type JsonObject,
  type Membership,
  namesOfAudience,
  type Open,
  type OpenAsk,
  type Page,
  type Outcome,
  ownOrders,
  type Owed,
  type ParentLink,
  placeMs,
  answersIn,
  split,
  type Task,
  type TaskAtWork,
  type TaskStatus,
  type TaskSummary,
  type TimeoutPolicy,
  type Unreadable,
  type Violation,
} from "@parley/core";
import { type AudienceDigest, type Content, DamagedContent } from "../content/codec.ts";

/** Approximate size of an entry besides its outcome. */
const ENTRY_SIZE = 32;

type PackedFacts = [
  Call["kind"],
  name: string,
  /** With its tenant, unless that is the default one. */
  owner: string | [principal: string, tenant: string],
  createdAtMs: number,
  /** 1 for a hidden task, plus 2 for one that compensates, plus 4 for one that keeps its content. */
  flags: number,
  capabilities: string,
  seed: string,
  traceparent?: string | null,
  requestId?: PackedId | null,
  progressToken?: PackedId | null,
  binding?: string | null,
  version?: string | null,
  person?: string | null,
  session?: string | null,
  /** Sealed: JSON of groups and roles, or null for too many. Only runs open it. */
  membership?: string | null,
  /** Sealed: JSON of name, email and subject. */
  caller?: string,
];
/**
 * A client may send a string that scripts cannot read as JSON: half of a surrogate pair. It is then stored as JSON
 * within JSON.
 */
type PackedId = string | number | [json: string];
const HIDDEN = 1;
const COMPENSATES = 2;
const KEEPS_CONTENT = 4;

type PackedGiven = [args: JsonObject, replies?: JsonObject | null, reason?: string];
/** With its audience, if it is not the owner's. */
type PackedAsk = [TimeoutPolicy | [TimeoutPolicy, Audience], ...PackedRequest];
type PackedRequest =
  | ["form", message: string, schema: JsonObject, hints?: JsonObject | null, about?: AskAbout]
  | ["url", message: string, url: string, hints?: JsonObject | null, page?: Page | null, completedBy?: "event" | null, about?: AskAbout]
  | ["sampling", params: JsonObject]
  | ["roots"]
  | ["event", schema: JsonObject]
  | ["call", tool: string];

/** `facts` is what every read of the task needs; `given` is what came with the call and only its runs need. */
/**
 * Ends the seed of a sealed task. What follows is a digest of the owner, who is stored in the clear. So a task whose owner was exchanged in
 * Redis does not open for that caller. The seed is the whole text, in every version: it has no other form than a text that nobody can guess.
 */
const OWNER_MARK = "~";

function ownerDigest(
  content: Content,
  { tenant = DEFAULT_TENANT, principal, person }: Pick<CallFacts, "tenant" | "principal" | "person">,
): string {
  return content.fingerprint("owner", JSON.stringify(person === undefined ? [tenant, principal] : [tenant, principal, person]));
}

/** The facts and the seed. Throws DamagedContent if the owner is not the one for whom the task was sealed. */
function openFacts(content: Content, call: string): { readonly facts: ReturnType<typeof unpackFacts>; readonly seed: string } {
  const facts = unpackFacts(content, call);
  const seed = content.openWord("seed", facts.seed);
  const at = content.isSealed ? seed.lastIndexOf(OWNER_MARK) : -1;
  // The seed of a task from before owners were sealed has no mark.
  if (at !== -1 && seed.slice(at + 1) !== ownerDigest(content, facts)) throw new DamagedContent("owner");
  return { facts, seed };
}

export function packCall(content: Content, call: Call): { readonly facts: string; readonly given: string } {
  const {
    kind,
    name,
    principal,
    tenant,
    createdAtMs,
    hidden,
    compensates,
    keepsContent,
    capabilities,
    seed,
    arguments: args,
    replies,
    reason,
    traceparent,
    request,
    binding,
    version,
    person,
    session,
    membership,
    caller,
  } = call;
  const letters = packCapabilities(capabilities);
  const owner: PackedFacts[2] = tenant === undefined ? principal : [principal, tenant];
  const facts: PackedFacts = [
    kind,
    name,
    owner,
    createdAtMs,
    (hidden ? HIDDEN : 0) + (compensates ? COMPENSATES : 0) + (keepsContent ? KEEPS_CONTENT : 0),
    letters,
    content.sealWord("seed", content.isSealed ? `${seed}${OWNER_MARK}${ownerDigest(content, call)}` : seed),
  ];
  const sealed = membership && content.sealWord("membership", packMembership(membership));
  const names = caller && content.sealWord("caller", packCaller(caller));
  const rest = [traceparent, packId(request?.id), packId(request?.progressToken), binding, version, person, session, sealed, names];
  // Absent values at the end take no space.
  const last = rest.findLastIndex((each) => each !== undefined);
  const all = [...facts, ...rest.slice(0, last + 1).map((each) => each ?? null)];
  const given: PackedGiven = reason === undefined ? (replies ? [args, replies] : [args]) : [args, replies ?? null, reason];
  return { facts: content.toStored(JSON.stringify(all)), given: content.seal("given", JSON.stringify(given)) };
}

export interface Revealed {
  readonly call: string;
  /** In whose list it belongs; undefined if it is there. */
  readonly listedFor: string | undefined;
}

/** The packed call as that of a task with a handle whose client can be asked nothing. Undefined if it is that already. */
export function revealed(content: Content, call: string): Revealed | undefined {
  const end = call.indexOf(FACTS_END);
  const [facts, given] = end === -1 ? [call, ""] : [call.slice(0, end), call.slice(end)];
  const [kind, name, owner, createdAtMs, flags, letters, ...rest] = parse<PackedFacts>("call", content.fromStored(facts));
  const isHidden = (flags & HIDDEN) !== 0;
  const none = packCapabilities({});
  if (!isHidden && letters === none) return undefined;
  const shown = content.toStored(JSON.stringify([kind, name, owner, createdAtMs, flags & ~HIDDEN, none, ...rest]));
  return { call: shown + given, listedFor: !isHidden ? undefined : Array.isArray(owner) ? owner[0] : owner };
}

/** The arguments of a restart. */
export function packArguments(content: Content, args: JsonObject): string {
  return content.seal("arguments", JSON.stringify(args));
}

/**
 * `<called at> <position> <asked at> <timeout> <policy and request>`: an open ask without its key, its digest and the
 * task's revision. `position` is its place among the asks of its run.
 */
export function packAsk(content: Content, ask: Open, position: number): string {
  const { key, calledAt, askedAtMs, deadlineMs, onTimeout, request } = ask;
  const audience = "audience" in ask ? ask.audience : undefined;
  const packed: PackedAsk = [audience ? [onTimeout, audience] : onTimeout, ...packRequest(request)];
  return `${calledAt} ${position} ${askedAtMs} ${deadlineMs - askedAtMs} ${content.seal(`ask ${key}`, JSON.stringify(packed))}`;
}

/** As in scripts/task/asks.lua. */
const APPROVAL = "!approval";

/** The sets that an ask has a place in because it says when it is wanted, or how urgent it is; as in scripts/task/asks.lua. */
export function ordersOf(ask: Pick<Ask, "askedAtMs" | "deadlineMs" | "request">): string[] {
  return ownOrders(ask).map((order) => `!${order}=${placeMs(order, ask)}`);
}

/** With keys, digests and the names under which they are found, as scripts take them. */
export function packAsks(
  content: Content,
  asks: readonly Open[],
  askedBy: () => AudienceDigest,
): (readonly [key: string, digest: string, ask: string, names: string])[] {
  return asks.map((ask, position) => {
    const audience = "audience" in ask ? ask.audience : undefined;
    const names = audience ? namesOfAudience(audience).map(askedBy()) : [];
    const isApproval = ask.request.type === "form" && ask.request.about?.isApproval === true;
    const all = audience ? [...names, ...ordersOf(ask as Ask), ...(isApproval ? [APPROVAL] : [])] : names;
    return [ask.key, ask.digest, packAsk(content, ask, position), all.join(" ")];
  });
}

/** The violations of the last reply to an open ask. */
export function packViolations(content: Content, key: string, violations: readonly Violation[]): string {
  return content.seal(`refused ${key}`, JSON.stringify(violations));
}

/** The acceptances so far of an ask with a quorum. */
export function packAcceptances(content: Content, key: string, acceptances: readonly Acceptance[]): string {
  return content.seal(`accepted ${key}`, JSON.stringify(acceptances));
}

/** `<place> <called at> <digest> <mark> <outcome>`. */
export function packEntry(content: Content, key: string, entry: Entry): string {
  const { mark, outcome } = packEntryOutcome(content, key, entry.outcome);
  return `${packPlace(entry)} ${entry.calledAt} ${entry.digest || "-"} ${mark} ${outcome}`;
}

/** The first word of an entry. On its own, it replaces that of an entry that has no place yet. */
export function packPlace({ place, withdrawn, arrived }: Entry): string {
  if (place !== undefined) return `${withdrawn ? "w" : ""}${place}`;
  return arrived ? `?${arrived.atMs}.${arrived.revision}` : "-";
}

/** The mark of an outcome that is only a type, stored as it is. */
const BARE = "!";
const BARE_TYPES: ReadonlySet<string> = new Set<EntryOutcome["type"]>(["begun", "closed", "withdrawn", "cancelled"]);

/**
 * An answer's mark is its fingerprint, by which a script recognises a repeated answer. The order of its keys does not
 * matter. With a quorum, the mark is one fingerprint per acceptance.
 */
export function packEntryOutcome(
  content: Content,
  key: string,
  outcome: EntryOutcome,
): { readonly mark: string; readonly outcome: string } {
  if (BARE_TYPES.has(outcome.type)) return { mark: BARE, outcome: outcome.type };
  const part = `entry ${key}`;
  // With the keys in their order: a replay that iterated over a value in another order would make other calls.
  const text = JSON.stringify(outcome);
  const mark = () =>
    answersIn(outcome)
      .map((answer) => content.fingerprint(part, canonicalJson(answer)))
      .join();
  return { mark: outcome.type === "answer" ? mark() : "-", outcome: content.seal(part, text) };
}

/** Besides entries, the journal's hash holds large arguments. */
export function isEntryKey(field: string): boolean {
  return field.includes(":") || isReadingKey(field);
}

export function unpackEntry(
  content: Content,
  key: string,
  text: string,
): {
  readonly entry: Entry;
  /** As it counts against the journal's limit. */ readonly size: number;
} {
  const [place, calledAt, digest, mark, rest] = words(text, 4);
  const part = `entry ${key}`;
  const outcome = mark === BARE ? `{"type":"${rest}"}` : content.open(part, rest);
  const entry: Entry = {
    digest: digest === "-" ? "" : digest,
    outcome: parse<EntryOutcome>(part, outcome),
    calledAt,
    ...unpackPlace(place),
  };
  return { entry, size: outcome.length + ENTRY_SIZE };
}

const CALL_ENTRY = entryKey("ask", callKey(""));

/** Parses an entry's first words, as journal.lua returns them. */
export function unpackLine(key: string, text: string): JournalLine {
  const [place = "-", , digest = "", mark, bare] = text.split(" ");
  const { place: settled, arrived } = unpackPlace(place);
  return {
    key,
    ...(settled !== undefined && { place: settled }),
    ...(arrived && { arrivedAtMs: arrived.atMs }),
    ...(key.startsWith(CALL_ENTRY) && { child: digest }),
    state: mark === BARE ? (bare as JournalLine["state"]) : "recorded",
  };
}

/** The first `count` words of a text, then the rest, which may contain spaces. */
function words(text: string, count: 4): [string, string, string, string, rest: string];
function words(text: string, count: 6): [string, string, string, string, string, string, rest: string];
function words(text: string, count: 2): [string, string, rest: string];
function words(text: string, count: number): string[] {
  const found: string[] = [];
  let from = 0;
  while (found.length < count) {
    const space = text.indexOf(" ", from);
    found.push(text.slice(from, space));
    from = space + 1;
  }
  return [...found, text.slice(from)];
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
  /** Failed attempts of the handler so far. */
  readonly attempt: number;
  readonly generation: number;
  /** Consecutive takeovers without anything recorded or parked in between. */
  readonly takeovers: number;
}

export interface UnpackedTask {
  readonly task: Task;
  readonly attempt: number;
  readonly takeovers: number;
}

/** Without content if the task is unreadable. Undefined for an empty hash, which is how Redis returns a missing key. */
export function unpackTask(content: Content, id: string, fields: Fields, unreadable?: Unreadable): UnpackedTask | undefined {
  const { state, call, message, immediate, outcome, owed } = fields;
  if (state === undefined || call === undefined) return undefined;
  const { status, revision, run, updatedAtMs, generation, expiresAtMs, retentionMs, attempt, takeovers } = unpackState(state);
  const known = unreadable ? knownFacts(content, call) : openFacts(content, call).facts;
  const { seed: _, membership: __, caller: sealed, ...facts } = withVersion(known, fields["version"]);
  const caller = sealed === undefined || unreadable ? undefined : unpackCaller(content.openWord("caller", sealed));
  const common = {
    id,
    call: {
      ...facts,
      ...(caller && { caller }),
      retentionMs,
      ...(fields["parent"] !== undefined && { parent: unpackLink(fields["parent"]) }),
    },
    status,
    revision,
    run,
    updatedAtMs,
    generation,
    ...(owed !== undefined && { owed: owed.split(" ")[0] as Owed }),
    ...(takeovers > 0 && { takeovers }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
  if (unreadable) return { task: { ...common, asks: [], unreadable }, attempt, takeovers };
  const task: Task = {
    ...common,
    ...split(unpackOpen(content, fields)),
    ...(message !== undefined && { message: content.open("message", message) }),
    ...(immediate !== undefined && { immediateResponse: content.open("immediate", immediate) }),
    ...(outcome !== undefined && { outcome: openJson<Outcome>(content, "outcome", outcome) }),
  };
  return { task, attempt, takeovers };
}

/**
 * The task with what its runs need. What came with the call is in the task's hash or, if it is large, in the
 * journal's.
 */
export function unpackTaskAtWork(
  content: Content,
  id: string,
  { task: fields, journal }: { readonly task: Fields; readonly journal: Fields },
): (Omit<UnpackedTask, "task"> & { readonly task: TaskAtWork }) | undefined {
  const unpacked = unpackTask(content, id, fields);
  const { call = "" } = fields;
  if (!unpacked) return undefined;
  const { task, ...counts } = unpacked;
  const { facts, seed } = openFacts(content, call);
  const membership = facts.membership === undefined ? undefined : unpackMembership(content.openWord("membership", facts.membership));
  const restartedWith = fields["arguments"] ?? journal["arguments"];
  // Early replies answer the first questions of the call, and a restart is past those.
  const [args, replies, reason] =
    restartedWith === undefined
      ? openJson<PackedGiven>(content, "given", journal["given"] ?? call.slice(call.indexOf(FACTS_END) + 1))
      : [openJson<JsonObject>(content, "arguments", restartedWith)];
  const given = {
    seed,
    arguments: args,
    ...(membership && { membership }),
    ...(replies && { replies }),
    ...(reason !== undefined && { reason }),
  };
  return { ...counts, task: { ...task, call: { ...task.call, ...given } } };
}

/** The fields that a summary needs, in the order in which `unpackSummary` takes them. */
export const SUMMARY_FIELDS = ["state", "call", "message", "problem"] as const;

/** Undefined for a task that no longer exists. */
export function unpackSummary(
  content: Content,
  id: string,
  [state, call, ...sealed]: readonly (string | null)[],
  isReadable: boolean,
): TaskSummary | undefined {
  if (typeof state !== "string" || typeof call !== "string") return undefined;
  const { status, updatedAtMs, expiresAtMs, retentionMs } = unpackState(state);
  const [message, problem] = isReadable ? sealed : [];
  const { principal, tenant, hidden, createdAtMs } = isReadable ? openFacts(content, call).facts : knownFacts(content, call);
  return {
    id,
    principal,
    ...(tenant !== undefined && { tenant }),
    hidden,
    status,
    createdAtMs,
    updatedAtMs,
    retentionMs,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    ...(typeof message === "string" && { message: content.open("message", message) }),
    ...(typeof problem === "string" && { problem: content.open("problem", problem) }),
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

/**
 * JSON contains no raw line feeds, so the first one ends the facts. What came with the call follows it, unless it is
 * in the journal.
 */
const FACTS_END = "\n";

type Facts = Omit<CallFacts, "retentionMs" | "caller"> & {
  readonly seed: string;
  /** As they are stored. */
  readonly membership?: string;
  readonly caller?: string;
};

function unpackFacts(content: Content, call: string): Facts {
  const end = call.indexOf(FACTS_END);
  const facts = end === -1 ? call : call.slice(0, end);
  const [
    kind,
    name,
    owner,
    createdAtMs,
    flags,
    capabilities,
    seed,
    traceparent,
    id,
    progressToken,
    binding,
    version,
    person,
    session,
    membership,
    caller,
  ] = parse<PackedFacts>("call", content.fromStored(facts));
  const [principal, tenant] = Array.isArray(owner) ? owner : [owner];
  return {
    kind,
    name,
    principal,
    ...(tenant !== undefined && { tenant }),
    capabilities: unpackCapabilities(capabilities),
    createdAtMs,
    hidden: (flags & HIDDEN) !== 0,
    ...((flags & COMPENSATES) !== 0 && { compensates: true as const }),
    ...((flags & KEEPS_CONTENT) !== 0 && { keepsContent: true as const }),
    seed,
    ...(typeof traceparent === "string" && { traceparent }),
    ...(typeof binding === "string" && { binding }),
    ...(typeof version === "string" && { version }),
    ...(typeof person === "string" && { person }),
    ...(typeof session === "string" && { session }),
    ...(typeof membership === "string" && { membership }),
    ...(typeof caller === "string" && { caller }),
    ...(isPresent(id) && { request: { id: unpackId(id), ...(isPresent(progressToken) && { progressToken: unpackId(progressToken) }) } }),
  };
}

/**
 * The facts of a task whose own cannot be read: nobody's, so that no caller sees it and no list shows it, while workers
 * can still end it.
 */
const NOBODYS_FACTS: ReturnType<typeof unpackFacts> = {
  kind: "tool",
  name: "unknown",
  principal: "",
  capabilities: {},
  createdAtMs: 0,
  hidden: true,
  seed: "",
};

function knownFacts(content: Content, call: string): ReturnType<typeof unpackFacts> {
  try {
    return unpackFacts(content, call);
  } catch (error) {
    if (!(error instanceof DamagedContent)) throw error;
    return NOBODYS_FACTS;
  }
}

/** Throws DamagedContent as well if the content is not JSON. */
export function openJson<T>(content: Content, part: string, stored: string): T {
  return parse<T>(part, content.open(part, stored));
}

/** The cause is left out, because it quotes the content. */
function parse<T>(part: string, text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new DamagedContent(part);
  }
}

function packMembership(membership: Membership): string {
  return JSON.stringify(membership === "too many" ? null : [membership.groups, membership.roles]);
}

function unpackMembership(text: string): Membership {
  const packed = parse<[groups: string[], roles: string[]] | null>("membership", text);
  return packed ? { groups: packed[0], roles: packed[1] } : "too many";
}

function packCaller({ name = null, email = null, subject = null }: Packed<CallerNames>): string {
  return JSON.stringify([name, email, subject]);
}

type Packed<T> = { readonly [member in keyof T]: T[member] | null };

function unpackCaller(text: string): CallerNames {
  const [name, email, subject] = parse<(string | null)[]>("caller", text);
  return {
    ...(typeof name === "string" && { name }),
    ...(typeof email === "string" && { email }),
    ...(typeof subject === "string" && { subject }),
  };
}

function packId<Id extends string | number | undefined>(id: Id): Id | PackedId {
  return typeof id === "string" && !id.isWellFormed() ? [JSON.stringify(id)] : id;
}

function unpackId(packed: PackedId): string | number {
  return Array.isArray(packed) ? (JSON.parse(packed[0]) as string) : packed;
}

/** What was called; in the clear, so no key is needed. */
export function callOf(content: Content, call: string, moved?: string | null): Pick<CallFacts, "kind" | "name" | "version"> {
  const { kind, name, version } = withVersion(knownFacts(content, call), moved);
  return { kind, name, ...(version !== undefined && { version }) };
}

/** A task that has moved stores its version in a separate field; empty means that it has none any more. */
function withVersion<F extends Pick<CallFacts, "version">>(facts: F, moved: string | null | undefined): F {
  if (typeof moved !== "string") return facts;
  const { version: _, ...rest } = facts;
  return (moved === "" ? rest : { ...rest, version: moved }) as F;
}

/** A child's link to its parent, as scripts read it. */
export function packLink({ taskId, rootId, depth, key, path }: ParentLink): string {
  return `${taskId} ${rootId} ${depth} ${key} ${path}`;
}

function unpackLink(text: string): ParentLink {
  const [taskId = "", rootId = "", depth, key = "", path = ""] = text.split(" ");
  return { taskId, rootId, depth: Number(depth), key, path };
}

/** An ask that the task shows for a child: where it is, and since when the task shows it. */
export interface ShownAsk {
  readonly key: string;
  readonly route: NonNullable<Ask["route"]>;
  readonly since: NonNullable<Ask["since"]>;
}

const SHOWN = "~ ";

/** The asks that the task shows for its children; their content is stored with the children. */
export function shownAsks(fields: Fields): ShownAsk[] {
  return Object.entries(fields).flatMap(([field, text]) => {
    if (!field.startsWith("ask:") || !text.startsWith(SHOWN)) return [];
    const [, revision, position, taskId = "", key = ""] = text.split(" ");
    return [{ key: field.slice(4), route: { taskId, key }, since: { revision: Number(revision), position: Number(position) } }];
  });
}

const BEHIND = "behind:";

/** The children of the task that wait for people at another server. */
export function childrenBehind(fields: Fields): string[] {
  return Object.keys(fields).flatMap((field) => (field.startsWith(BEHIND) ? [field.slice(BEHIND.length)] : []));
}

/** Fields of a child's hash that hold its ask of that key. */
export function askFields(key: string): string[] {
  return [`ask:${key}`, `refused:${key}`, `agreed:${key}`, `accepted:${key}`, `thread:${key}`];
}

/** What a list shows of an ask is in the first of these, and in the others with its key behind them and a colon. */
export const LISTED_FIELDS = { ofTask: ["call"], ofAsk: ["ask", "accepted", "thread"] } as const;

/** Of the values of these fields. Undefined if it is no question of the task itself. */
export function unpackListed(
  content: Content,
  key: string,
  [call, text, accepted, thread]: readonly [call: string, ask: string, accepted: string | null, thread: string | null],
): OpenAsk | undefined {
  if (text.startsWith(SHOWN)) return undefined;
  const noted = { ...(accepted !== null && { [`accepted:${key}`]: accepted }), ...(thread !== null && { [`thread:${key}`]: thread }) };
  const { ask } = unpackAsk(content, noted, { key, text });
  if (!isQuestion(ask)) return undefined;
  const { seed: _, membership: __, version: ___, caller: sealed, ...facts } = openFacts(content, call).facts;
  const caller = sealed === undefined ? undefined : unpackCaller(content.openWord("caller", sealed));
  return { call: { ...facts, ...(caller && { caller }) }, ask };
}

/** A child's ask as the root shows it; undefined if it is no longer open. */
export function unpackShown(content: Content, { key, route, since }: ShownAsk, values: readonly (string | null)[]): Ask | undefined {
  const fields = Object.fromEntries(
    askFields(route.key).flatMap((field, index) => {
      const value = values[index];
      return typeof value === "string" ? [[field, value]] : [];
    }),
  );
  const [ask] = unpackOpen(content, fields);
  return ask && isQuestion(ask) ? { ...ask, key, route, since } : undefined;
}

function isPresent<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** The open asks, events and calls among a hash's fields, in the order in which they were opened. */
export function unpackOpen(content: Content, fields: Fields): Open[] {
  return Object.entries(fields)
    .filter(([field, text]) => field.startsWith("ask:") && !text.startsWith(SHOWN))
    .map(([field, text]) => unpackAsk(content, fields, { key: field.slice(4), text }))
    .toSorted((a, b) => a.revision - b.revision || a.position - b.position)
    .map(({ ask }) => ask);
}

interface UnpackedAsk {
  readonly ask: Open;
  /** When it was opened: the task's revision, and its position among the asks of that run. */
  readonly revision: number;
  readonly position: number;
}

function unpackAsk(content: Content, fields: Fields, { key, text }: { readonly key: string; readonly text: string }): UnpackedAsk {
  const [digest, revisionWord, calledAt, positionWord, askedAt, timeout, sealed] = words(text, 6);
  const opened = { revision: Number(revisionWord), position: Number(positionWord) };
  const [policy, ...packed] = openJson<PackedAsk>(content, `ask ${key}`, sealed);
  const [onTimeout, audience] = Array.isArray(policy) ? policy : [policy];
  const common = {
    key,
    digest,
    calledAt,
    askedAtMs: Number(askedAt),
    deadlineMs: Number(askedAt) + Number(timeout),
    onTimeout,
  };
  const request = unpackRequest(packed);
  if (request.type === "event") return { ask: { ...common, request }, ...opened };
  if (request.type === "call") return { ask: { ...common, request }, ...opened };
  const noted = fields[`refused:${key}`];
  const counted = fields[`accepted:${key}`];
  const thread = fields[`thread:${key}`];
  const refused = noted === undefined ? undefined : unpackRefused(content, key, noted);
  const ask: Ask = {
    ...common,
    request,
    ...(audience && { audience }),
    since: { ...opened, ...(refused && { revision: refused.revision }) },
    ...(refused && { refused: { count: refused.count, violations: refused.violations } }),
    ...(counted !== undefined && { accepted: unpackAccepted(content, key, counted) }),
    ...(fields[`agreed:${key}`] !== undefined && { agreed: true as const }),
    ...(thread !== undefined && { thread: unpackThread(content, key, thread) }),
  };
  return { ask, ...opened };
}

/** `count revision violations`, as refuse.lua writes it. */
function unpackRefused(content: Content, key: string, text: string): NonNullable<Ask["refused"]> & { readonly revision: number } {
  const [count, revision, sealed] = words(text, 2);
  return {
    count: Number(count),
    revision: Number(revision),
    violations: openJson<Violation[]>(content, `refused ${key}`, sealed),
  };
}

/** `revision acceptances`, as answer.lua writes it. */
function unpackAccepted(content: Content, key: string, text: string): NonNullable<Ask["accepted"]> {
  const space = text.indexOf(" ");
  return {
    revision: Number(text.slice(0, space)),
    acceptances: openJson<Acceptance[]>(content, `accepted ${key}`, text.slice(space + 1)),
  };
}

/** `revision thread`, as thread.lua writes it. */
function unpackThread(content: Content, key: string, text: string): AskThread {
  const space = text.indexOf(" ");
  const thread = openJson<Omit<AskThread, "revision">>(content, `thread ${key}`, text.slice(space + 1));
  return { ...thread, revision: Number(text.slice(0, space)) };
}

function packRequest(request: Open["request"]): PackedRequest {
  switch (request.type) {
    case "form":
      if (request.about) return ["form", request.message, request.schema, request.hints ?? null, request.about];
      return request.hints ? ["form", request.message, request.schema, request.hints] : ["form", request.message, request.schema];
    case "url":
      if (request.about) {
        const { message, url, hints = null, page = null, about } = request;
        return ["url", message, url, hints, page, request.completedBy === "event" ? "event" : null, about];
      }
      if (request.completedBy === "event") return ["url", request.message, request.url, request.hints ?? null, null, "event"];
      if (request.page) return ["url", request.message, request.url, request.hints ?? null, request.page];
      return request.hints ? ["url", request.message, request.url, request.hints] : ["url", request.message, request.url];
    case "sampling":
      return ["sampling", request.params];
    case "roots":
      return ["roots"];
    case "event":
      return ["event", request.schema];
    case "call":
      return ["call", request.tool];
  }
}

function unpackRequest(packed: PackedRequest): Open["request"] {
  switch (packed[0]) {
    case "form":
      return {
        type: "form",
        message: packed[1],
        schema: packed[2],
        ...(packed[3] && { hints: packed[3] }),
        ...(packed[4] && { about: packed[4] }),
      };
    case "url":
      return {
        type: "url",
        message: packed[1],
        url: packed[2],
        ...(packed[3] && { hints: packed[3] }),
        ...(packed[4] && { page: packed[4] }),
        ...(packed[5] && { completedBy: packed[5] }),
        ...(packed[6] && { about: packed[6] }),
      };
    case "sampling":
      return { type: "sampling", params: packed[1] };
    case "roots":
      return { type: "roots" };
    case "event":
      return { type: "event", schema: packed[1] };
    case "call":
      return { type: "call", tool: packed[1] };
  }
}

/** One letter for each capability: elicitation, form, url, sampling, its tools, roots. */
export function packCapabilities({ elicitation, sampling, roots, views }: ClientCapabilities): string {
  const letters = [
    elicitation && "e",
    elicitation?.form && "f",
    elicitation?.url && "u",
    sampling && "s",
    sampling?.tools && "t",
    roots && "r",
    views && "v",
  ];
  return letters.filter((letter) => letter).join("");
}

export function unpackCapabilities(letters: string): ClientCapabilities {
  const has = (letter: string) => letters.includes(letter);
  return {
    ...(has("e") && { elicitation: { form: has("f"), url: has("u") } }),
    ...(has("s") && { sampling: { tools: has("t") } }),
    ...(has("r") && { roots: true }),
    ...(has("v") && { views: true }),
  };
}
