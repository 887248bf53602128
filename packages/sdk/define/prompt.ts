/** `definePrompt`: a prompt runs as a task, like a tool, and may ask questions. */
import type { Effects, Json, JsonObject, Prompt, PromptArgument, Violation } from "@parley/core";
import { ParleyError, RpcFailure, VIOLATIONS_WANTED } from "@parley/core";
import type { GetPromptResult, PromptMessage } from "../results/content.ts";
import type { Context } from "../context/context.ts";
import { createContext } from "../context/create-context.ts";
import { markDefinition } from "./definition.ts";
import { DefinitionError, isForModel, textForModel } from "../failures.ts";
import { checkKinds, checkNested, FUNCTION, type Kinds, OBJECT, SWITCH, TEXT } from "./kinds.ts";
import { nounFor, plainJson } from "../values/plain-data.ts";
import { present } from "../values/without-undefined.ts";
import { isSchema } from "../schemas/schema.ts";
import { suggestions } from "./suggestions.ts";
import { type RunOptions, runSettings } from "./tool.ts";
import { blockProblem } from "../results/tool-result.ts";
import { isObject } from "../values/is-object.ts";

/** One argument of a prompt. */
export interface PromptArgumentDefinition {
  readonly title?: string;
  readonly description?: string;
  /** True by default. */
  readonly required?: boolean;
  /**
   * Suggests completions of `value`, what the person has typed so far; `others` holds the arguments that are already
   * filled in.
   */
  readonly complete?: (value: string, others: { readonly [name: string]: string }) => readonly string[] | Promise<readonly string[]>;
}

type Arguments = { readonly [name: string]: PromptArgumentDefinition };

/** Prompt arguments are strings; optional ones may be absent. */
export type PromptValues<A extends Arguments> = {
  readonly [K in keyof A]: A[K] extends { readonly required: false } ? string | undefined : string;
};

/** What `definePrompt` takes. */
export interface PromptDefinition<A extends Arguments> extends RunOptions {
  /** 1 to 64 of A-Z a-z 0-9 _ - . and /. */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: A & Arguments;
  /**
   * Accept answers that come with the request itself, as a tool can. By default they are ignored, and the prompt
   * asks.
   */
  readonly earlyReplies?: boolean;
  /** Returns the text of one user message, a list of messages, or a whole GetPromptResult. */
  run(args: PromptValues<A>, ctx: Context): PromptReturn | Promise<PromptReturn>;
}

/** What a prompt may return: a text, messages, or MCP's whole result. */
export type PromptReturn = string | readonly PromptMessage[] | GetPromptResult;

/**
 * Defines a prompt. Prompts have no result with `isError`: a ToolError or an unanswered question fails the request
 * (-32603) with its message. Throws DefinitionError if the definition is invalid.
 */
export function definePrompt<const A extends Arguments = Record<never, PromptArgumentDefinition>>(definition: PromptDefinition<A>): Prompt {
  const { name, title, description } = definition;
  if (typeof name !== "string" || !/^[A-Za-z0-9_./-]{1,64}$/.test(name)) {
    throw new DefinitionError(`prompt name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - . /`);
  }
  const what = `prompt ${name}`;
  if (typeof definition.run !== "function") throw new DefinitionError(`${what} has no run: give the function that returns its text`);
  checkKinds(what, definition, KINDS);
  if (isSchema(definition.arguments))
    throw new DefinitionError(
      `${what}: arguments are all strings: name them, such as { city: { description: "…" } }, in place of a schema`,
    );
  const args = Object.entries(definition.arguments ?? {}).map(([argument, facts]) => promptArgument(what, argument, facts));

  return markDefinition({
    kind: "prompt",
    name,
    ...present({ title, description }),
    arguments: args,
    earlyReplies: definition.earlyReplies ?? false,
    settings: runSettings(`prompt ${name}`, definition),
    readArguments(values) {
      const wrong = violations(args, values);
      return wrong.length === 0 ? { ok: true, args: values } : { ok: false, violations: wrong };
    },
    async run(values: JsonObject, effects: Effects) {
      try {
        return promptResult(name, description, await definition.run(values as PromptValues<A>, createContext(effects)));
      } catch (error) {
        if (isForModel(error)) throw new RpcFailure(INTERNAL_ERROR, textForModel(error));
        throw error;
      }
    },
  } satisfies Prompt);
}

const INTERNAL_ERROR = -32_603;

const KINDS: Kinds = {
  title: TEXT,
  description: TEXT,
  earlyReplies: SWITCH,
  keepContent: SWITCH,
  arguments: { ...OBJECT, wanted: 'an object, such as { city: { description: "…" } }' },
};

const ARGUMENT: Kinds = { title: TEXT, description: TEXT, required: SWITCH, complete: FUNCTION };

function promptArgument(what: string, name: string, facts: PromptArgumentDefinition): PromptArgument {
  checkNested(what, `arguments.${name}`, facts ?? null, ARGUMENT);
  const { title, description, required = true, complete } = facts;
  const suggest =
    complete && (async (value: string, others: Others) => suggestions(`${what}: complete of ${name}`, await complete(value, others)));
  return { name, required, ...present({ title, description, complete: suggest }) };
}

type Others = { readonly [name: string]: string };

function violations(args: readonly PromptArgument[], values: JsonObject): readonly Violation[] {
  const known = new Map(args.map((argument) => [argument.name, argument]));
  const missing = args
    .filter(({ name, required }) => required && values[name] === undefined)
    .map(({ name }) => ({ path: `/${name}`, message: "is required" }));
  const wrong = Object.entries(values).flatMap(([name, value]) => {
    if (!known.has(name)) return [{ path: `/${name}`, message: "is not an argument of this prompt" }];
    return typeof value === "string" ? [] : [{ path: `/${name}`, message: "must be a string" }];
  });
  return [...missing, ...wrong].slice(0, VIOLATIONS_WANTED);
}

function promptResult(name: string, description: string | undefined, returned: PromptReturn): JsonObject {
  const result = plainJson(`the return value of prompt ${name}`, {
    ...present({ description }),
    ...resultOf(name, returned),
  }) as JsonObject;
  for (const [index, message] of (result["messages"] as readonly Json[]).entries()) {
    const problem = messageProblem(message);
    if (problem !== undefined)
      throw new ParleyError("INVALID_OUTPUT", `prompt ${name} returned a message that no client can read: /messages/${index}${problem}`);
  }
  return result;
}

function messageProblem(message: Json): string | undefined {
  if (!isObject(message)) return ` must be an object, and is ${nounFor(message)}`;
  const { role, content } = message;
  if (role !== "user" && role !== "assistant") return '/role must be "user" or "assistant"';
  if (!isObject(content)) return `/content must be an object, and is ${nounFor(content)}`;
  const problem = blockProblem(content);
  return problem === undefined ? undefined : `/content${problem}`;
}

function resultOf(name: string, returned: unknown): object {
  if (typeof returned === "string") return { messages: [{ role: "user", content: { type: "text", text: returned } }] };
  if (Array.isArray(returned)) return { messages: returned };
  if (typeof returned === "object" && returned !== null && "messages" in returned && Array.isArray(returned.messages)) return returned;
  throw new ParleyError(
    "INVALID_OUTPUT",
    `prompt ${name} returned ${nounFor(returned)}, which is neither text, messages nor a GetPromptResult`,
  );
}
