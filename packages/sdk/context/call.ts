/** `ctx.call`: another tool as a task of its own, over core's `callTool`. */
import {
  assertNotFarTooLong,
  type CallOptions as CoreOptions,
  type ChildEnd,
  type Duration,
  type Effects,
  type JsonObject,
  ParleyError,
  parseDuration,
  type Tool,
} from "@parley/core";
import { ChildFailed, TimedOut, Withdrawn } from "../failures.ts";
import { nounFor, plainJson } from "../values/plain-data.ts";
import { present } from "../values/without-undefined.ts";
import { signalOf } from "./signal.ts";

declare const TYPES: unique symbol;

/** A tool with the types of its arguments and result, for `ctx.call`. They exist only at compile time. */
export type TypedTool<Args, Result> = Tool & { readonly [TYPES]?: (args: Args) => Result };

/** The arguments of a call: the input type of the tool's `input`. */
export type ArgumentsOf<T extends Tool | string> =
  T extends TypedTool<infer Args, infer _> ? (unknown extends Args ? JsonObject : Args) : JsonObject;

/** The result of a call: the type that the tool's `output` describes, or a string without it; `unknown` for a tool called by name. */
export type ResultOf<T extends Tool | string> = T extends TypedTool<infer _, infer Result> ? Result : unknown;

/** Options of `ctx.call`. */
export interface CallOptions {
  /**
   * Identifies the call, and prefixes the child's questions where clients see them: `hotel:dates`. The tool's name by default; further calls with the same
   * key get `#2`, `#3` …
   */
  readonly key?: string;
  /** How long the child may take in total, including its waits for people. By default the longest wait that is allowed (PARLEY_ASK_TIMEOUT_MAX). */
  readonly timeout?: Duration;
  /** Aborting it cancels the child, and `call` throws Withdrawn. */
  readonly signal?: AbortSignal;
}

export function createCall(effects: Pick<Effects, "callTool" | "storedValueMax">) {
  return async (tool: Tool | string, args: object = {}, { key, timeout, signal }: CallOptions = {}): Promise<unknown> => {
    const name = nameOf(tool);
    const own = key ?? name.replaceAll("/", ".");
    if (RESERVED.has(own)) {
      throw new ParleyError(
        "INVALID_NAME",
        `the call of ${name} cannot have the key "${own}", which has a meaning of its own: give it another key`,
      );
    }
    assertNotFarTooLong(`the call of ${name}`, args, effects.storedValueMax);
    const given = plainJson(`the arguments of the call of ${name}`, args) as JsonObject;
    const options: CoreOptions = present({
      timeoutMs: timeout === undefined ? undefined : parseDuration(timeout),
      signal: signalOf(signal),
    });
    return resultOf({ name, key: own }, await effects.callTool(own, { tool: name, arguments: given }, options));
  };
}

/** Not every author has types. */
function nameOf(tool: Tool | string): string {
  const name: unknown = typeof tool === "string" ? tool : (tool as Tool | undefined)?.name;
  if (typeof name === "string" && typeof tool !== "function") return name;
  throw new TypeError(`ctx.call calls a tool or the name of one, and was given ${nounFor(tool)}: write ctx.call(bookHotel, { … })`);
}

/** Prefixes of the engine's own keys. */
const RESERVED: ReadonlySet<string> = new Set(["event", "call", "compensation"]);

function resultOf({ name, key }: { readonly name: string; readonly key: string }, end: ChildEnd): unknown {
  switch (end.type) {
    case "result": {
      const { structuredContent, isError } = end.result;
      const text = textOf(end.result);
      if (isError === true) throw new ChildFailed(key, name, "failed", text);
      return structuredContent ?? text;
    }
    case "error":
      throw new ChildFailed(key, name, "failed", end.error.message);
    case "cancelled":
      throw new ChildFailed(key, name, "cancelled", "it was cancelled");
    case "timeout":
      throw new TimedOut(key, `The tool ${name} did not finish in time and was cancelled.`);
    case "withdrawn":
      throw new Withdrawn(key, `The tool gave up calling ${name}.`);
  }
}

function textOf({ content }: JsonObject): string {
  if (!Array.isArray(content)) return "";
  const texts = content.flatMap((block) => (typeof block === "object" && block !== null && "text" in block ? [block["text"]] : []));
  return texts.filter((text) => typeof text === "string").join("\n");
}
