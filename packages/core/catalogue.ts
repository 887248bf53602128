/**
 * What a deployment offers: tools, prompts and resources as core and the dialects see them. packages/sdk builds these from what authors write.
 *
 * Front ends and workers load the same modules: the front end lists and validates, the worker runs.
 */
import type { Caller } from "./caller.ts";
import type { Effects } from "./effects.ts";
import type { Limit } from "./slots.ts";
import type { ClientCapabilities, Json, JsonObject, Owed, Violation } from "./task.ts";

/**
 * What is offered at this moment. Tools come and go, and callers may see different ones, so nothing keeps a catalogue for longer than one
 * request or one run. Code that changes what these return announces each list that changed (`WakeUps.announce`).
 */
export interface Catalogues {
  /** What the caller may see and call. Read once for each request; what it throws is the answer. */
  current(caller: Caller): Catalogue | Promise<Catalogue>;
  /** What workers run, read once for each run. A task that waits may outlive what its caller is offered. */
  runnable(): Catalogue;
}

/** One catalogue, for as long as the process lives and for everybody. */
export function fixedCatalogue(catalogue: Catalogue): Catalogues {
  return { current: () => catalogue, runnable: () => catalogue };
}

export interface Catalogue {
  /** Set where other callers may see another one: nobody may keep its lists for them. */
  readonly isPrivate?: boolean;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly prompts: ReadonlyMap<string, Prompt>;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly templates: readonly ResourceTemplate[];
  /** What tools share in a process that runs them; absent for none. */
  readonly modules?: readonly Module[];
}

/** Something that workers start before their first run and stop behind their last, such as a pool of connections. Front ends never do. */
export interface Module {
  readonly kind: "module";
  readonly name: string;
  /** Starting what has started counts, and stops with the last one that stops. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Something that runs as a task. */
export interface Runnable {
  readonly kind: "tool" | "prompt";
  readonly name: string;
  readonly version?: string;
  readonly settings: RunSettings;
  /** How many of its runs are at work at once, and begin in a time. */
  readonly limit?: Limit;
  /**
   * Whether replies that come with the call count. Such a reply names a question by its key alone; the person may have seen another question
   * under that key, or none. Otherwise they are dropped, and the call asks.
   */
  readonly earlyReplies: boolean;
  /**
   * Judges the arguments before anything is written. Those that fit come back as they are to be kept: as the caller sent them, without what
   * the schema drops, since a stranger's fields must not fill the store. The run reads them again.
   */
  readArguments(args: JsonObject): ArgumentsRead | Promise<ArgumentsRead>;
  /** Runs the handler from its start. Returns MCP's result (`CallToolResult` / `GetPromptResult`) without `resultType`. */
  run(args: JsonObject, effects: Effects): Promise<JsonObject>;
  /**
   * Undoes what was done, once the task has ended without its result: a last run with a journal of its own. Only steps and facts may be used of `effects`.
   * Throws what has to be tried again.
   */
  compensate?(args: JsonObject, effects: Effects, ended: EndedWithout): Promise<void>;
}

/** What a compensation knows of the task. */
export interface EndedWithout {
  readonly why: Owed;
  /** Results of steps that were recorded, in the order in which they settled. */
  readonly done: readonly { readonly key: string; readonly value?: Json }[];
}

export type ArgumentsRead =
  | { readonly ok: true; readonly args: JsonObject }
  | { readonly ok: false; readonly violations: readonly Violation[] };

export interface RunSettings {
  /** How often the handler is started again after an error that is not a ToolError, waiting `backoffMs` doubled each time. */
  readonly attempts: number;
  readonly backoffMs: number;
  /** The longest that one run may work; waiting for answers and sleeps does not count. */
  readonly runTimeoutMs: number;
  /** How long the finished task can be read. */
  readonly retentionMs: number;
}

/** A tool as `defineTool` makes it: what front ends list and workers run. */
export interface Tool extends Runnable {
  readonly kind: "tool";
  /** Absent for a tool that has none. */
  readonly version?: string;
  /** Versions of it that are served beside, for tasks that were made with them: the newest first. Front ends list and call none of them. */
  readonly older?: readonly Tool[];
  readonly title?: string;
  readonly description?: string;
  /** JSON Schema 2020-12, sent to clients as it is. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly meta?: JsonObject;
  /**
   * Whether a client that speaks tasks gets a handle. `never`: the result comes in the reply. `optional`: a handle for clients that speak
   * tasks. `required`: clients that do not are refused.
   */
  readonly task: "never" | "optional" | "required";
  /** Put what the tool asks at its very start in the reply to the call itself, and hand out the task after that answer. */
  readonly askFirst: boolean;
  /** What the client must have declared for the call to be accepted. */
  readonly needs: ClientCapabilities;
  /** What the caller's credentials must allow beside calling tools at all. */
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
  complete?(value: string, others: { readonly [name: string]: string }): readonly string[] | Promise<readonly string[]>;
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
  read(): Promise<readonly ResourceContents[]>;
}

export interface ResourceTemplate extends ResourceFacts {
  /** RFC 6570, simple expansion: `test://template/{id}/data`. */
  readonly uriTemplate: string;
  /** The variables when the uri fits the template. */
  match(uri: string): { readonly [variable: string]: string } | undefined;
  read(uri: string, variables: { readonly [variable: string]: string }): Promise<readonly ResourceContents[]>;
  complete?(variable: string, value: string, others: { readonly [name: string]: string }): readonly string[] | Promise<readonly string[]>;
}

/** The content of a resource as MCP has it: text, or bytes in base64. */
export type ResourceContents =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string }
  /** `blob` is base64. */
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string };
