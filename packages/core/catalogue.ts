/**
 * What a deployment offers: tools, prompts and resources as core and the dialects see them. packages/sdk builds these
 * from what authors write. Front ends and workers load the same modules: front ends list and validate, workers run.
 */
import type { Caller } from "./callers/caller.ts";
import type { Taker } from "./callers/shares.ts";
import type { Effects } from "./effects.ts";
import type { Journal, KeyedEntry } from "./journal.ts";
import type { PassedOnType } from "./ports/passed-on.ts";
import type { Limit } from "./ports/slots.ts";
import type { ClientCapabilities, FeedItem, Json, JsonObject, Owed, Violation } from "./task.ts";

/**
 * What is offered at this moment. Tools come and go, and callers may see different ones, so no code keeps a catalogue
 * for longer than one request or one run. Code that changes the result announces each list that changed
 * (`WakeUps.announce`).
 */
export interface Catalogues {
  /** What the caller may see and call. Read once per request; an error becomes the reply. */
  current(caller: Caller): Catalogue | Promise<Catalogue>;
  /** What workers run, read once per run. A waiting task may outlive what its caller is offered. */
  runnable(): Catalogue;
}

/** The same catalogue for all callers, for the life of the process. */
export function fixedCatalogue(catalogue: Catalogue): Catalogues {
  return { current: () => catalogue, runnable: () => catalogue };
}

export interface Catalogue {
  /** Other callers may see a different catalogue, so intermediaries must not share its lists. */
  readonly isPrivate?: boolean;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly prompts: ReadonlyMap<string, Prompt>;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly templates: readonly ResourceTemplate[];
  /** Resources that are not listed, because only results name them. They are looked up last. */
  readonly unlisted?: readonly UnlistedResources[];
  /** Event types of upstreams, by their names here. */
  readonly passedOn?: ReadonlyMap<string, PassedOnType>;
  /** For models: what upstreams say of themselves. */
  readonly instructions?: string;
  /** Tools, prompts and resources may come later: those of upstreams that have not been listed yet. */
  readonly grows?: boolean;
  /** What the tools of a worker share; absent for none. */
  readonly modules?: readonly Module[];
}

/**
 * Something that workers start before their first run and stop after their last, such as a connection pool. Front
 * ends never start modules.
 */
export interface Module {
  readonly kind: "module";
  readonly name: string;
  /** Starts are counted: the module stops with the last matching stop. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The tool or prompt that a call names; undefined if the catalogue lacks it. */
export function runnableOf({ tools, prompts }: Catalogue, { kind, name }: Pick<Runnable, "kind" | "name">): Tool | Prompt | undefined {
  return kind === "tool" ? tools.get(name) : prompts.get(name);
}

/** Anything that runs as a task. */
export interface Runnable {
  readonly kind: "tool" | "prompt";
  readonly name: string;
  readonly version?: string;
  readonly settings: RunSettings;
  /** How many of its runs may be active at once, and how many may begin per time window. */
  readonly limit?: Limit;
  /**
   * Whether early replies count. An early reply names a question only by its key; the person may have seen a
   * different question under that key, or none. Without this they are dropped, and the call asks.
   */
  readonly earlyReplies: boolean;
  /** Whether its runs may ask for groups and roles of the caller (Call.membership). Absent: no. */
  keepsMembership?(): boolean;
  /**
   * Its handler makes its calls one after the other, so that replay need not follow what it awaits.
   */
  readonly isSequential?: true;
  /**
   * Validates the arguments before anything is written. Returns them in the form to store: without fields that the
   * schema drops, because unknown fields must not fill the store, and so that every run parses the same from them.
   */
  readArguments(args: JsonObject): ArgumentsRead | Promise<ArgumentsRead>;
  /**
   * Runs the handler from its start. Returns MCP's result (`CallToolResult` or `GetPromptResult`) without
   * `resultType`.
   */
  run(args: JsonObject, effects: Effects): Promise<JsonObject>;
  /**
   * Returns what the handler's first effect would record, if that is known before the run. If the run is the task's
   * first, the store writes it with `begin`, which saves a write before the first side effect.
   */
  open?(): Opening | undefined;
  /**
   * Makes a call without a task, while its caller waits. Absent if every call needs a task. Resolves to undefined if
   * this one does: then it may have been made, and is made again by the task. Throws RpcFailure with the callee's own
   * error.
   */
  callTaskless?(call: TasklessCall): Promise<TasklessResult | undefined>;
  /**
   * Compensates a task that ended without its result, in a last run with a journal of its own. `effects` allows only
   * steps and facts. An error is retried.
   */
  compensate?(args: JsonObject, effects: Effects, ended: EndedWithout): Promise<void>;
}

export interface TasklessCall {
  readonly arguments: JsonObject;
  readonly principal: string;
  /** See CallFacts.session. */
  readonly session?: string;
  readonly capabilities: ClientCapabilities;
  /** Whether the client would get no handle on a task. */
  readonly hidden: boolean;
  readonly traceparent?: string;
  /** Aborted when the caller no longer waits. */
  readonly signal: AbortSignal;
}

export interface TasklessResult {
  /** As `run` returns it. */
  readonly result: JsonObject;
  /** What the callee logged, in order, and its last progress. */
  readonly reports: readonly FeedItem[];
}

export interface Opening {
  readonly entries: readonly KeyedEntry[];
  /** Called before the handler starts, with the run's journal. It holds the entries only if they were written. */
  begun(taskId: string, journal: Journal): void;
}

/** What a compensation knows about the task. */
export interface EndedWithout {
  readonly why: Owed;
  /** Results of recorded steps, in the order in which they settled. */
  readonly done: readonly { readonly key: string; readonly value?: Json }[];
}

export type ArgumentsRead =
  /**
   * `sent`: what identifies the call, if that differs from what is stored. A call that is sent twice has the same
   * `sent`, while a drawn default may change `args`.
   */
  | { readonly ok: true; readonly args: JsonObject; readonly sent?: JsonObject }
  | { readonly ok: false; readonly violations: readonly Violation[] };

export interface RunSettings {
  /**
   * How often the handler is started after an error that is not a ToolError, waiting `backoffMs`, doubled each time.
   */
  readonly attempts: number;
  readonly backoffMs: number;
  /** Maximum working time of one run; waiting for answers and sleeps does not count. */
  readonly runTimeoutMs: number;
  /** How long the finished task can be read; absent: as long as the deployment's settings say. */
  readonly retentionMs?: number;
  /** See CallFacts.keepsContent. Absent: if the deployment keeps that of all tasks. */
  readonly keepContent?: true;
}

/** A tool as `defineTool` returns it: front ends list it, workers run it. */
export interface Tool extends Runnable {
  readonly kind: "tool";
  /** Absent for a tool without versions. */
  readonly version?: string;
  /**
   * Older versions, newest first, that are served for tasks created with them. Front ends neither list nor call them.
   */
  readonly older?: readonly Tool[];
  readonly title?: string;
  readonly description?: string;
  /** JSON Schema 2020-12, sent to clients unchanged. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly meta?: JsonObject;
  /**
   * Whether a client that speaks tasks gets a handle. `never`: the result is in the reply. `optional`: clients that
   * speak tasks get a handle. `required`: other clients are refused.
   */
  readonly task: "never" | "optional" | "required";
  /** Return the tool's first questions in the reply to the call itself, and hand out the task after their answers. */
  readonly askFirst: boolean;
  /** Capabilities that the client must declare for a call to be accepted. */
  readonly needs: ClientCapabilities;
  /** Scopes that the caller needs in addition to those for calling tools. */
  readonly scopes?: readonly string[];
}

export interface Prompt extends Runnable {
  readonly kind: "prompt";
  readonly title?: string;
  readonly description?: string;
  readonly arguments: readonly PromptArgument[];
  readonly icons?: readonly JsonObject[];
  readonly meta?: JsonObject;
}

export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
  complete?(value: string, others: { readonly [name: string]: string }, taker?: Taker): readonly string[] | Promise<readonly string[]>;
}

interface ResourceFacts {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly meta?: JsonObject;
}

export interface Resource extends ResourceFacts {
  readonly uri: string;
  readonly size?: number;
  /** `taker`: for whom, where what reads it has few places. */
  read(taker?: Taker): Promise<readonly ResourceContents[]>;
}

export interface ResourceTemplate extends ResourceFacts {
  /** RFC 6570, simple expansion: `test://template/{id}/data`. */
  readonly uriTemplate: string;
  /** The variables if the URI matches the template, otherwise undefined. */
  match(uri: string): { readonly [variable: string]: string } | undefined;
  read(uri: string, variables: { readonly [variable: string]: string }, taker?: Taker): Promise<readonly ResourceContents[]>;
  complete?(
    variable: string,
    value: string,
    others: { readonly [name: string]: string },
    taker?: Taker,
  ): readonly string[] | Promise<readonly string[]>;
}

export type UnlistedResources = Pick<ResourceTemplate, "match" | "read">;

/** The content of a resource in MCP's shape: text, or bytes in base64. */
export type ResourceContents =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string; readonly _meta?: JsonObject }
  /** `blob` is base64. */
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string };
