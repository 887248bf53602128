/**
 * Lists what a tool would ask, without asking anyone and without side effects: for documents, reviews, and callers
 * that want to answer up front.
 *
 *   const { asks } = await dryRun(bookDinner, { date, time });
 *   // [{ name: "party-size", type: "form", message: "How many people will be dining?", schema: { … } }]
 *
 * Steps are not run. They return the value from `steps`, or undefined. Questions are answered from `answers`, with
 * their defaults, or with the smallest valid content. A dry run therefore follows only one path through the tool:
 * questions that depend on other answers do not appear.
 */
import {
  ASKED_AGAIN,
  type Acceptance,
  type Reading,
  type Settled,
  type Answer,
  type AskRequest,
  type Audience,
  type Effects,
  type Field,
  type Json,
  type JsonObject,
  type Page,
  type Prompt,
  type Tool,
  DEFAULT_SETTINGS,
  DEFAULT_TENANT,
  ParleyError,
  fieldsOf,
  valueOf,
} from "@parley/core";
import { present } from "../values/without-undefined.ts";
import { validateJson } from "../schemas/validate-json.ts";

/** The answers and results that a dry run assumes. */
export interface DryRunOptions {
  /**
   * The contents of forms by ask name, or the bare value for a form with one field; and the bodies of events by event
   * name.
   */
  readonly answers?: { readonly [ask: string]: Json };
  /** Results of steps by name. */
  readonly steps?: { readonly [step: string]: Json };
  /** The time at the start; 2026-01-01T00:00:00Z by default. */
  readonly now?: Date;
}

/** A question that the tool would ask. */
export interface PlannedAsk {
  /** As clients see it, with `#2` for the second of a name. */
  readonly name: string;
  readonly type: AskRequest["type"];
  readonly message?: string;
  readonly schema?: JsonObject;
  readonly url?: string;
  /** Who may answer, if not the caller. */
  readonly audience?: Audience;
}

/** The result of a dry run. */
export interface DryRun {
  readonly asks: readonly PlannedAsk[];
  /** Names of the steps that would run, in order. */
  readonly steps: readonly string[];
  /** Why the tool did not reach its end, if it did not: it threw, or no valid answer could be made up. */
  readonly stopped?: string;
}

/** A tool that asks more often asks in a loop. */
const ASKS_MAX = 100;
/** Ends loops of steps as well. */
const EFFECTS_MAX = 10_000;

/** Lists what `tool` would ask when called with `args`. Throws INVALID_ARGUMENTS. */
export async function dryRun(tool: Tool | Prompt, args: JsonObject = {}, options: DryRunOptions = {}): Promise<DryRun> {
  const read = await tool.readArguments(args);
  if (!read.ok) {
    throw new ParleyError("INVALID_ARGUMENTS", `invalid arguments for ${tool.kind} ${tool.name}`, { violations: read.violations });
  }
  const asks: PlannedAsk[] = [];
  const steps: string[] = [];
  const end = Promise.withResolvers<string | undefined>();
  const stop = (why: string): Promise<never> => {
    end.resolve(why);
    return new Promise<never>(() => undefined);
  };
  tool.run(read.args, planned({ tool, args: read.args, options, asks, steps, stop })).then(
    (result) => end.resolve(result["isError"] === true ? textOf(result) : undefined),
    (error: unknown) => end.resolve(error instanceof Error ? error.message : String(error)),
  );
  const stopped = await end.promise;
  return { asks, steps, ...present({ stopped }) };
}

/** There is one run, and no later one to read the same. */
const UNKEPT: Reading = { kept: undefined, keep: () => undefined };

interface Plan {
  readonly tool: Tool | Prompt;
  readonly args: JsonObject;
  readonly options: DryRunOptions;
  readonly asks: PlannedAsk[];
  readonly steps: string[];
  readonly stop: (why: string) => Promise<never>;
}

/** The same acceptance from as many people as required. */
function made(quorum: number, { content = {} }: Extract<Answer, { action: "accept" }>, atMs: number): Acceptance[] {
  return Array.from({ length: quorum }, (_, index) => ({ by: `dry-run ${index + 1}`, content, atMs }));
}

function planned({ tool, args, options, asks, steps, stop }: Plan): Effects {
  const { answers = {}, steps: results = {}, now = new Date("2026-01-01T00:00:00Z") } = options;
  const occurrences = new Map<string, number>();
  let nowMs = now.getTime();
  let effects = 0;
  let scope = "";

  function keyOf(kind: string, name: string): string {
    const count = (occurrences.get(`${kind} ${scope}${name}`) ?? 0) + 1;
    occurrences.set(`${kind} ${scope}${name}`, count);
    return `${scope}${name}${count === 1 ? "" : `#${count}`}`;
  }

  function isTooMuch(): boolean {
    effects += 1;
    return effects > EFFECTS_MAX || asks.length >= ASKS_MAX;
  }

  return {
    taskId: "dry-run",
    call: {
      kind: tool.kind,
      name: tool.name,
      principal: "dry-run",
      caller: { name: "dry-run", email: "dry-run@example.com", subject: "dry-run" },
      tenant: DEFAULT_TENANT,
      capabilities: { elicitation: { form: true, url: true }, sampling: { tools: true }, roots: true },
      createdAtMs: nowMs,
      retentionMs: 0,
      hidden: false,
      arguments: args,
      seed: "dry-run",
    },
    signal: new AbortController().signal,
    storedValueMax: DEFAULT_SETTINGS.storedValueMax,
    // Steps are not run, and only they read deposits.
    deposit: async (key) => `left on the page of ${key}`,
    answeredBy: () => ({ principal: "dry-run" }),
    readingOf: () => UNKEPT,
    accessToken: async (key) => `token for ${key}`,
    kept: undefined,
    openFile: async () => new Blob(["made up"]).stream(),
    async ask(name, request, { audience } = {}): Promise<Settled> {
      if (isTooMuch()) return stop(`it asks ${ASKS_MAX} times or more`);
      const key = keyOf("ask", name);
      const last = asks.at(-1);
      if (last && isAgain(last, request)) return stop(`it refuses the answer that was made up for "${last.name}": give one in answers`);
      asks.push({ name: key, type: request.type, ...wordingOf(request), ...present({ audience }) });
      const answer = answerTo(request, answers[key]);
      if (answer?.action === "accept" && audience?.quorum !== undefined)
        return { ...answer, accepted: made(audience.quorum, answer, nowMs) };
      return answer ?? stop(`no answer could be made up for "${key}": give one in answers`);
    },
    event(name, { schema }) {
      const key = keyOf("event", name);
      const body = answers[key] ?? {};
      const fits = validateJson(schema, body).length === 0;
      const answer: Promise<Answer> = fits
        ? Promise.resolve({ action: "accept", content: { body } })
        : stop(`no body could be made up for the event "${key}": give one in answers`);
      return { token: "dry-run", url: "https://parley.invalid/events/dry-run", answer, reading: () => UNKEPT };
    },
    async callTool(name) {
      if (isTooMuch()) return stop(`it has ${EFFECTS_MAX} effects or more`);
      const key = keyOf("call", name);
      const given = results[key] ?? results[name];
      const text = typeof given === "string" ? given : "";
      return { type: "result", result: { content: [{ type: "text", text }], ...(isData(given) && { structuredContent: given }) } };
    },
    async step(name) {
      if (isTooMuch()) return stop(`it has ${EFFECTS_MAX} effects or more`);
      const key = keyOf("step", name);
      steps.push(key);
      return results[key] ?? results[name];
    },
    async sleep(_name, ms) {
      if (isTooMuch()) return stop(`it has ${EFFECTS_MAX} effects or more`);
      nowMs += ms;
    },
    // As for a call that is made now.
    patched: () => true,
    tookPatch: () => false,
    wasRecorded: () => false,
    deprecatePatch: () => undefined,
    now: () => nowMs,
    random: () => 0.5,
    uuid: () => "00000000-0000-4000-8000-000000000000",
    async branch(key, work) {
      const outer = scope;
      scope = `${outer}${key}/`;
      const running = work();
      // The scope covers the calls before the branch's first await; later ones cannot be told from those of its
      // siblings.
      scope = outer;
      return running;
    },
    keyed: (_key, call) => call(),
    ofCtx: (promise) => promise,
    mustBeAwaited: (promise) => promise,
    restart: () => stop("it begins again"),
    report: () => undefined,
    status: () => undefined,
    immediateResponse: () => undefined,
    announce: () => undefined,
  };
}

function wordingOf(request: AskRequest): Pick<PlannedAsk, "message" | "schema" | "url"> {
  if (request.type === "form") return { message: request.message, schema: request.schema };
  if (request.type !== "url") return {};
  return { message: request.message, url: request.page?.kind === "visit" ? request.page.url : request.url };
}

/** The question is asked again because the answer matched the form but not the author's schema. */
function isAgain({ message }: PlannedAsk, request: AskRequest): boolean {
  return request.type === "form" && message !== undefined && request.message.startsWith(`${message}${ASKED_AGAIN}`);
}

function isData(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What the page would have collected. */
function leftOn(page: Page): JsonObject {
  if (page.kind === "secret") return { deposit: "dry-run" };
  if (page.kind === "visit") return { query: {} };
  if (page.kind === "oauth") return { deposit: "dry-run", provider: page.provider, scopes: [...page.scopes] };
  return { files: [{ id: "dry-run", name: "made-up", type: "application/octet-stream", size: 7, sha256: "" }] };
}

function answerTo(request: AskRequest, given: Json | undefined): Answer | undefined {
  switch (request.type) {
    case "form": {
      const content = contentOf(request.schema, given);
      return validateJson(request.schema, content).length === 0 ? { action: "accept", content } : undefined;
    }
    case "url":
      // A page of Parley's own returns a reference to what was entered.
      return request.page ? { action: "accept", content: leftOn(request.page) } : { action: "accept" };
    case "sampling":
      return {
        action: "reply",
        result: { role: "assistant", content: { type: "text", text: typeof given === "string" ? given : "" }, model: "dry-run" },
      };
    case "roots":
      return { action: "reply", result: { roots: [] } };
  }
}

function contentOf(schema: JsonObject, given: Json | undefined): JsonObject {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given;
  const fields = fieldsOf(schema);
  const [field] = fields;
  if (given !== undefined && field) return { [field.name]: given };
  return leastContent(schema);
}

/** The smallest content that a form accepts, as far as it can be derived without a search. */
export function leastContent(schema: JsonObject): JsonObject {
  const required = fieldsOf(schema).filter(({ isRequired }) => isRequired);
  return Object.fromEntries(required.map((each) => [each.name, each.default ?? leastOf(each)]));
}

function leastOf({ kind, choices, schema }: Field): Json {
  switch (kind) {
    case "boolean":
      return true;
    case "number":
    case "integer":
      return boundOf(schema["minimum"], Math.min(0, boundOf(schema["maximum"], 0)));
    case "choice":
      return choices[0] ? valueOf(choices[0]) : "";
    case "choices":
      return choices.slice(0, boundOf(schema["minItems"], 0)).map((choice) => valueOf(choice));
    case "text":
      return SAMPLES.get(schema["format"]) ?? "x".repeat(Math.min(boundOf(schema["minLength"], 1), SAMPLE_CHARS_MAX));
  }
}

function boundOf(value: Json | undefined, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

const SAMPLE_CHARS_MAX = 10_000;

const SAMPLES: ReadonlyMap<Json | undefined, string> = new Map([
  ["date", "2026-01-01"],
  ["date-time", "2026-01-01T00:00:00Z"],
  ["email", "ada@example.com"],
  ["uri", "https://example.com/"],
]);

function textOf(result: JsonObject): string {
  const { content } = result as { readonly content?: readonly { readonly text?: string }[] };
  return (content ?? []).map(({ text = "" }) => text).join("\n");
}
