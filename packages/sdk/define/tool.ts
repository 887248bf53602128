/** `defineTool`: turns an author's definition into the tool that core runs and dialects list. */
import type { ArgumentsRead, ClientCapabilities, Effects, EndedWithout, JsonObject, Limit, RunSettings, Tool } from "@parley/core";
import {
  assertNotFarTooLong,
  DEFAULT_TENANT,
  type Duration,
  ParleyError,
  ToolError,
  describeViolations,
  parseDuration,
  VIOLATIONS_WANTED,
} from "@parley/core";
import { type CompensationContext, compensationContext } from "../context/compensation.ts";
import type { TypedTool } from "../context/call.ts";
import type { Context } from "../context/context.ts";
import { createContext } from "../context/create-context.ts";
import { markDefinition } from "./definition.ts";
import { DefinitionError, isForModel, textForModel } from "../failures.ts";
import { runGenerator } from "../generator/drive.ts";
import { createOutput, generatorResult } from "../generator/output.ts";
import { type AnyToolGenerator, isGenerator } from "../generator/yields.ts";
import { keptArguments } from "../schemas/kept-arguments.ts";
import { checkKinds, FUNCTION } from "./kinds.ts";
import { plainJson } from "../values/plain-data.ts";
import { present } from "../values/without-undefined.ts";
import { type InputOf, type OutputOf, type Schema, check, jsonOf } from "../schemas/schema.ts";
import { validateShape } from "../schemas/validate-json.ts";
import { checkOptions } from "./tool-options.ts";
import { type StructuredResult, type ToolReturn, errorResult, structuredResult, toolResult } from "../results/tool-result.ts";

/** What a client may know about a tool before calling it (MCP, `ToolAnnotations`). These are hints, not guarantees. */
export interface ToolAnnotations {
  readonly title?: string;
  /** The tool changes nothing. */
  readonly readOnlyHint?: boolean;
  /** The tool may delete or overwrite data. */
  readonly destructiveHint?: boolean;
  /** A second call with the same arguments has no further effect. */
  readonly idempotentHint?: boolean;
  /** The tool interacts with external systems. */
  readonly openWorldHint?: boolean;
}

/** A picture that clients may show for a tool (MCP, `Icon`). */
export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
  readonly theme?: "light" | "dark";
}

/** Attempts, time limit and retention of a tool's runs. */
export interface RunOptions {
  /** How many times the handler is tried while it throws errors other than ToolError; 1 by default. */
  readonly attempts?: number;
  /** Wait before the second attempt, doubled for each further one up to a day; `"1s"` by default. */
  readonly backoff?: Duration;
  /** Time limit of one run, 5 minutes by default. Waiting for people and sleeping does not count. */
  readonly runTimeout?: Duration;
  /**
   * How long the task can be read after its end, at most as long as the operator allows (`PARLEY_RETENTION_MAX`); by
   * default as long as the operator says (`PARLEY_RETENTION`, a day).
   */
  readonly retention?: Duration;
  /**
   * Keeps arguments, answers, recorded steps and the feed as long as the task, for audits and `parley export --ended`. By default they are deleted
   * at its end, unless the operator keeps those of all tasks (`PARLEY_KEEP_CONTENT`). What people enter on pages for secrets is never kept.
   */
  readonly keepContent?: boolean;
}

/**
 * A limit that holds for all workers of the deployment together. Tasks beyond it wait for their turn, oldest first, without holding a worker, and
 * their status says so. A task that asks a person or sleeps holds no slot in the meantime.
 */
export interface ToolLimit<I extends Schema> {
  /** Maximum number of active runs, from 1 to 10,000. */
  readonly concurrency?: number;
  /** Maximum number of tasks that begin in a period, such as `"100/m"`; the unit is s, m, h or d. All of them may begin at once. */
  readonly rate?: `${number}/${"s" | "m" | "h" | "d"}`;
  /**
   * Returns a key of at most 256 characters: each key has a limit of its own. Without `per` there is one limit for the tool. It is called before
   * each run, so it must depend only on the arguments and the caller.
   */
  per?(args: OutputOf<I>, caller: { readonly principal: string; readonly tenant: string }): string;
}

interface ToolFacts<I extends Schema> extends RunOptions {
  /** 1 to 64 of A-Z a-z 0-9 _ - . and /. */
  readonly name: string;
  /**
   * The version of this code. A task keeps the version that it was created with, and runs on workers that serve it. 1 to 32 of A-Z a-z 0-9 _ - . and
   * +; numbers are compared as numbers, so `"10"` is newer than `"9"`. A module may export several versions of one tool. See
   * docs/changing-tools.md.
   */
  readonly version?: string;
  readonly title?: string;
  /** What the tool does and when to use it, for the model. */
  readonly description?: string;
  /**
   * The schema of the arguments, an object: any Standard Schema that can produce its JSON Schema, or `jsonSchema({ … })`. Without it the tool takes
   * no arguments. Properties that the schema drops are not stored.
   */
  readonly input?: I;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
  /** Whether clients that support tasks get a handle: `"optional"` (the default), `"never"` (the reply holds the result), `"required"` (other clients are refused). */
  readonly task?: "never" | "optional" | "required";
  /** Sends the tool's first question in the reply to the call, and hands out the task after its answer. */
  readonly askFirst?: boolean;
  /**
   * Accepts answers that come with the call itself (`inputResponses` without a `requestState`), matched by the names of the questions. The person has
   * not seen the questions of this call, so use it only for questions that are the same in every call and whose answers do no harm. By default
   * such answers are ignored and the tool asks. Cannot be combined with `destructiveHint`.
   */
  readonly earlyReplies?: boolean;
  /**
   * What the tool will ask of its client. If the client cannot be asked that, and its person could not answer elsewhere (docs/dialects.md), the call is
   * refused before anything starts.
   */
  readonly needs?: ClientCapabilities;
  /**
   * Scopes that the caller's access token needs in addition to `tools:call`, such as `["payments:approve"]`. The refusal names the missing ones.
   * Applies only if the server requires access tokens.
   */
  readonly scopes?: readonly string[];
  /**
   * Limits how many runs are active at once and how many tasks begin in a period, across all workers. See
   * `ToolLimit`.
   */
  readonly limit?: ToolLimit<I>;
  /**
   * Undoes what the tool did after its task ended without a result: it was cancelled, ran out of time, or `run` threw, including a ToolError or an
   * unanswered question. Runs once to its end, on any worker, after the work in flight has stopped. Clients see the end of the task at once
   * and do not wait for the compensation. If `compensate` throws, it is tried again (PARLEY_COMPENSATION_ATTEMPTS); a ToolError is final, and the
   * log reports that the compensation was given up.
   */
  compensate?(args: OutputOf<I>, ctx: CompensationContext): void | Promise<void>;
}

/** A tool that returns text or content. */
export interface ToolDefinition<I extends Schema> extends ToolFacts<I> {
  readonly output?: never;
  run(args: OutputOf<I>, ctx: Context): ToolReturn | Promise<ToolReturn | void> | AnyToolGenerator;
}

/** A tool that returns structured data. */
export interface DataToolDefinition<I extends Schema, O extends Schema> extends ToolFacts<I> {
  /** The schema of the value that `run` returns. The value is checked and sent as `structuredContent`, and as text for clients that do not read that. */
  readonly output: O;
  run(args: OutputOf<I>, ctx: Context): DataReturn<O> | Promise<DataReturn<O>> | AnyToolGenerator<DataReturn<O>>;
}

type DataReturn<O extends Schema> = InputOf<O> | StructuredResult<InputOf<O>>;

/**
 * Defines a tool. `run` returns a text, content blocks, a whole CallToolResult, or, with `output`, the value that
 * `output` describes. A generator, `*run` or `async *run`, yields its questions, steps and reports.
 *
 * Errors of `run`: a ToolError becomes a result with `isError`, an RpcFailure an error of the call, and an unanswered
 * question a result with `isError` that says so. Any other error is retried within `attempts` and then becomes a
 * result with `isError` that contains only an id, under which the operator's log has the error. Throws
 * DefinitionError if the definition is invalid.
 */
export function defineTool<I extends Schema = Schema<JsonObject>>(definition: ToolDefinition<I>): TypedTool<InputOf<I>, string>;
export function defineTool<I extends Schema = Schema<JsonObject>, O extends Schema = Schema>(
  definition: DataToolDefinition<I, O>,
): TypedTool<InputOf<I>, OutputOf<O>>;
export function defineTool(definition: ToolDefinition<Schema> | DataToolDefinition<Schema, Schema>): Tool {
  const { name, input, output } = definition;
  // Not every author has types.
  if (typeof name !== "string" || !TOOL_NAME.test(name)) {
    throw new DefinitionError(`tool name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - . /`);
  }
  if (typeof definition.run !== "function") throw new DefinitionError(`tool ${name} has no run: give the function that does its work`);
  checkOptions(`tool ${name}`, definition);
  if (definition.version !== undefined && !VERSION.test(definition.version)) {
    throw new DefinitionError(
      `tool ${name}: the version ${JSON.stringify(definition.version)} is not allowed: use 1 to 32 of A-Z a-z 0-9 _ - . +`,
    );
  }
  const inputSchema = input ? objectSchema(`the input of tool ${name}`, jsonOf(`the input of tool ${name}`, input, "input")) : NO_ARGUMENTS;
  if (definition.earlyReplies && definition.annotations?.destructiveHint) {
    throw new DefinitionError(
      `tool ${name}: earlyReplies cannot be combined with destructiveHint: the answer would confirm something that the person was never shown`,
    );
  }
  const outputSchema = output ? jsonOf(`the output of tool ${name}`, output, "output") : undefined;

  async function given(args: JsonObject): Promise<unknown> {
    const read = input ? await check(input, args) : { ok: true as const, value: args };
    if (read.ok) return read.value;
    const { violations } = read;
    throw new ParleyError("INVALID_ARGUMENTS", `invalid arguments for tool ${name}: ${describeViolations(violations)}`, { violations });
  }

  async function run(args: JsonObject, effects: Effects): Promise<JsonObject> {
    const value = await effects.ofCtx(given(args));
    return await resultOf(value, createContext(effects), effects.storedValueMax);
  }

  async function resultOf(value: unknown, ctx: Context, lengthMax: number): Promise<JsonObject> {
    try {
      const running = definition.run(value, ctx);
      if (isGenerator(running)) return await generated(running, ctx);
      const returned = await running;
      // The schema of the output may leave most of it out.
      if (!output) assertNotFarTooLong("the result", returned, lengthMax);
      return output ? await structuredResult(name, output, returned) : toolResult(name, returned);
    } catch (error) {
      if (!isForModel(error)) throw error;
      // The same result, but as a failure, so that the task is compensated.
      if (definition.compensate) throw new ToolError(textForModel(error));
      return errorResult(textForModel(error));
    }
  }

  async function generated(generator: AnyToolGenerator, ctx: Context): Promise<JsonObject> {
    const emitted = createOutput(name);
    const returned = await runGenerator(name, generator, { ctx, output: emitted });
    return emitted.withArtifacts(output ? await structuredResult(name, output, returned) : generatorResult(name, returned, emitted));
  }

  return markDefinition({
    kind: "tool",
    name,
    inputSchema,
    settings: runSettings(`tool ${name}`, definition),
    task: definition.task ?? "optional",
    askFirst: definition.askFirst ?? false,
    earlyReplies: definition.earlyReplies ?? false,
    needs: definition.needs ?? {},
    ...present({
      version: definition.version,
      title: definition.title,
      description: definition.description,
      outputSchema,
      annotations: definition.annotations && (plainJson(`the annotations of tool ${name}`, definition.annotations) as JsonObject),
      icons: definition.icons?.map((icon) => plainJson(`an icon of tool ${name}`, icon) as JsonObject),
      meta: definition.meta && (plainJson(`the meta of tool ${name}`, definition.meta) as JsonObject),
      scopes: definition.scopes && scopesOf(name, definition.scopes),
      limit: definition.limit && limitOf(name, definition.limit, given),
    }),
    async readArguments(args) {
      if (!input) return noArguments(args);
      const misshapen = validateShape(inputSchema, args);
      if (misshapen.length > 0) return { ok: false, violations: misshapen };
      const read = await check(input, args);
      return read.ok ? await keptArguments(input, args, read.value) : read;
    },
    run,
    ...(definition.compensate && {
      async compensate(args: JsonObject, effects: Effects, ended: EndedWithout) {
        await definition.compensate?.(await given(args), compensationContext(effects, ended));
      },
    }),
  } satisfies Tool);
}

function noArguments(args: JsonObject): ArgumentsRead {
  const names = Object.keys(args).slice(0, VIOLATIONS_WANTED);
  const violations = names.map((name) => ({ path: `/${name}`, message: "is not known: the tool takes no arguments" }));
  return violations.length === 0 ? { ok: true, args } : { ok: false, violations };
}

/** RFC 6749, 3.3: without spaces and quotes, because a header lists them for clients. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/;

function scopesOf(name: string, scopes: readonly string[]): readonly string[] {
  const wrong = scopes.find((scope) => typeof scope !== "string" || !SCOPE.test(scope));
  if (wrong === undefined) return [...scopes];
  throw new DefinitionError(
    `tool ${name}: the scope ${JSON.stringify(wrong)} is not allowed: use 1 to 128 printable characters without space, " and \\`,
  );
}

const RATE = /^([1-9]\d{0,5})\/([smhd])$/;
const WINDOW_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const CONCURRENCY_MAX = 10_000;

function limitOf(name: string, { concurrency, rate, per }: ToolLimit<Schema>, given: (args: JsonObject) => Promise<unknown>): Limit {
  if (concurrency === undefined && rate === undefined)
    throw new DefinitionError(`tool ${name}: limit has neither concurrency nor rate: give one of them, such as { concurrency: 5 }`);
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= CONCURRENCY_MAX))
    throw new DefinitionError(`tool ${name}: limit.concurrency is ${concurrency} and must be a whole number from 1 to ${CONCURRENCY_MAX}`);
  checkKinds(`tool ${name}`, { per }, { per: FUNCTION }, "limit.");
  const [, count, unit] = RATE.exec(rate ?? "") ?? [];
  if (rate !== undefined && count === undefined)
    throw new DefinitionError(
      `tool ${name}: limit.rate is ${JSON.stringify(rate)} and must be a number from 1 to 999999 and s, m, h or d, such as "100/m"`,
    );
  const windowMs = WINDOW_MS[unit as keyof typeof WINDOW_MS];
  return {
    ...present({ concurrency, rate: count === undefined ? undefined : { count: Number(count), windowMs } }),
    async keyOf(args, { principal, tenant = DEFAULT_TENANT }) {
      return per ? per(await given(args), { principal, tenant }) : "";
    },
  };
}

const TOOL_NAME = /^[A-Za-z0-9_./-]{1,64}$/;
const VERSION = /^[A-Za-z0-9_.+-]{1,32}$/;
const NO_ARGUMENTS: JsonObject = { type: "object", properties: {}, additionalProperties: false };

/** MCP requires `type: "object"` at the root, which the schemas of unions lack. */
function objectSchema(what: string, schema: JsonObject): JsonObject {
  if (schema["type"] === "object") return schema;
  const alternatives = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (schema["type"] === undefined && Array.isArray(alternatives)) return { type: "object", ...schema };
  throw new DefinitionError(`${what} must be an object, since MCP calls tools with named arguments`);
}

/** The run options as core reads them. Throws a DefinitionError that names `what`. */
export function runSettings(
  what: string,
  { attempts = 1, backoff = "1s", runTimeout = "5 minutes", retention, keepContent }: RunOptions,
): RunSettings {
  if (!Number.isInteger(attempts) || attempts < 1)
    throw new DefinitionError(`${what}: attempts is ${attempts} and must be a whole number from 1`);
  try {
    return {
      attempts,
      backoffMs: parseDuration(backoff),
      runTimeoutMs: parseDuration(runTimeout),
      ...(retention !== undefined && { retentionMs: parseDuration(retention) }),
      ...(keepContent && { keepContent: true as const }),
    };
  } catch (cause) {
    throw new DefinitionError(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}
