/**
 * Makes a tool of an upstream a tool of Parley, and a prompt a prompt. The handler leads the call: each event at the upstream is the result of a
 * step, and each question of the upstream is an ask. It therefore waits as long as any question and can be answered through any door.
 */
import { randomUUID } from "node:crypto";
import {
  type Answer,
  type CallFacts,
  type ClientCapabilities,
  type Effects,
  type Json,
  type JsonObject,
  type Opening,
  ParleyError,
  type Prompt,
  RpcFailure,
  type Runnable,
  type RunSettings,
  type StepAttempt,
  type Tool,
} from "@parley/core";
import { createAccess } from "./access.ts";
import type { Calls } from "./calls.ts";
import { promptCompletion, type ReadThrough, withOwnUris } from "./gateway-resource.ts";
import type { ListedPrompt, ListedTool } from "./listing.ts";
import type { ElicitationSettings } from "./settings.ts";
import type { Callee, TasklessCalls } from "./taskless.ts";
import type { CallRequest } from "./call-request.ts";
import type { Given, Question, UpstreamEvent, UpstreamFailure } from "./upstream-event.ts";
import type { Upstream } from "./upstreams.ts";

export interface GatewayToolDeps {
  readonly upstream: Upstream;
  /** Undefined in a process that only lists tools. */
  readonly calls?: Calls;
  readonly elicitation?: Pick<ElicitationSettings, "timeoutMs" | "blockingTimeoutMs">;
  /** Whether links in results are rewritten to the uris under which resources are offered here. */
  readonly hasResources?: boolean;
  /** Completes arguments of prompts on front ends, if the upstream does. */
  readonly reads?: ReadThrough;
  /** Makes calls without a task, on front ends. */
  readonly taskless?: TasklessCalls;
}

/** The entry of the permit for the first call: it is the handler's first effect, in its first drain. */
const OPEN = "step:open";
const RETENTION_MS = 24 * 60 * 60 * 1_000;
/** The time that a run needs in addition to the upstream's. */
const RUN_MARGIN_MS = 30_000;
/** When a task is polled again after its upstream was down. */
const RETRY_MS = 1_000;
/** After so many polls in a row, five seconds each, a task that waits for an answer without showing a question has lost its question. */
const UNHEARD_MAX = 3;
/** How often one call may require input first (input_required, −32042). */
const ROUNDS_MAX = 50;

export function gatewayTool(listed: ListedTool, deps: GatewayToolDeps): Tool {
  const { upstream } = deps;
  const { title, description, outputSchema, annotations, icons, _meta: meta } = listed;
  const name = `${upstream.prefix}${listed.name}`;
  return {
    kind: "tool",
    name,
    settings: settingsOf(upstream),
    inputSchema: listed.inputSchema,
    task: "optional",
    askFirst: false,
    earlyReplies: false,
    needs: {},
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(outputSchema && { outputSchema }),
    ...(annotations && { annotations }),
    ...(icons && { icons }),
    ...(meta && { meta }),
    // The upstream validates its arguments. A stranger's schema is not compiled here.
    readArguments: (args) => ({ ok: true, args }),
    // A tool that requires a task upstream has one here as well.
    ...(mayRepeat(upstream, listed) &&
      listed.execution?.taskSupport !== "required" &&
      withoutTask({ kind: "tool", name: listed.name }, deps)),
    open: () => openingOf(mayRepeat(upstream, listed), deps),
    run(args, effects) {
      return leadCall(effects, { kind: "tool", listed, args, mayRepeat: mayRepeat(upstream, listed), ...atWork(name, deps) });
    },
  };
}

/** Getting a prompt has no effect, so it may be repeated. */
export function gatewayPrompt(listed: ListedPrompt, deps: GatewayToolDeps): Prompt {
  const { upstream, reads } = deps;
  const { title, description, icons, _meta: meta } = listed;
  const name = `${upstream.prefix}${listed.name}`;
  const completed = (argument: string) => reads && { complete: promptCompletion(listed.name, argument, { upstream, reads }) };
  return {
    kind: "prompt",
    name,
    settings: settingsOf(upstream),
    earlyReplies: false,
    arguments: (listed.arguments ?? []).map(({ required = false, ...rest }) => ({ ...rest, required, ...completed(rest.name) })),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(icons && { icons }),
    ...(meta && { meta }),
    readArguments: (args) => ({ ok: true, args }),
    ...withoutTask({ kind: "prompt", name: listed.name }, deps),
    open: () => openingOf(true, deps),
    run: (args, effects) => leadCall(effects, { kind: "prompt", listed, args, mayRepeat: true, ...atWork(name, deps) }),
  };
}

function withoutTask(callee: Callee, { upstream, taskless, hasResources = false }: GatewayToolDeps): Pick<Runnable, "callTaskless"> {
  if (!taskless || !upstream.isTaskless) return {};
  return {
    async callTaskless(call) {
      const made = await taskless.call(upstream, callee, call);
      return made && hasResources ? { ...made, result: withOwnUris(made.result, upstream) } : made;
    },
  };
}

function settingsOf({ connectTimeoutMs, callTimeoutMs }: Upstream): RunSettings {
  return { attempts: 1, backoffMs: 1_000, runTimeoutMs: connectTimeoutMs + callTimeoutMs + RUN_MARGIN_MS, retentionMs: RETENTION_MS };
}

/** Throws in a process that only lists tools. */
function atWork(
  name: string,
  { upstream, calls, elicitation, hasResources = false }: GatewayToolDeps,
): Pick<LeadCall, "upstream" | "calls" | "elicitation" | "hasResources"> {
  if (!calls || !elicitation) throw new Error(`${name} is listed here and runs elsewhere`);
  return { upstream, calls, elicitation, hasResources };
}

/**
 * The permit for the first call, written together with `begin`. With `oauth`, the handler first asks for access, and the permit is drawn by the step.
 *
 * The permit becomes valid in this process only once the journal holds it. Otherwise a second `begin` of the same task in this process would
 * invalidate the permit of the first.
 */
function openingOf(isRepeatedFreely: boolean, { upstream, calls }: Pick<GatewayToolDeps, "upstream" | "calls">): Opening | undefined {
  if (!calls || upstream.oauth) return undefined;
  const callId = randomUUID();
  const outcome = { type: "value", value: { callId, mayRepeat: isRepeatedFreely } } as const;
  return {
    entries: [{ key: OPEN, entry: { digest: "", calledAt: "0", place: 1, outcome } }],
    begun(taskId, journal) {
      const recorded = journal.get(OPEN)?.outcome;
      if (recorded?.type === "value" && (recorded.value as JsonObject)["callId"] === callId) calls.permit(taskId, callId);
    },
  };
}

/** Whether a call may be repeated after the outcome of the first was lost. */
export function mayRepeat({ repeatable }: Upstream, { name, annotations }: ListedTool): boolean {
  const { readOnlyHint, idempotentHint } = annotations ?? {};
  return repeatable(name) ?? (readOnlyHint === true || idempotentHint === true);
}

const LOST_QUESTION = "its task waits for an answer to a question that a worker read before it died, and that the upstream does not repeat";

type Led = Pick<LeadCall, "kind" | "listed">;

interface LeadCall {
  readonly kind: "tool" | "prompt";
  readonly listed: Pick<ListedTool, "name" | "execution">;
  readonly mayRepeat: boolean;
  readonly args: JsonObject;
  readonly upstream: Upstream;
  readonly hasResources: boolean;
  readonly calls: Calls;
  readonly elicitation: Pick<ElicitationSettings, "timeoutMs" | "blockingTimeoutMs">;
}

async function leadCall(
  effects: Effects,
  { kind, listed, args, mayRepeat: isRepeatedFreely, upstream, hasResources, calls, elicitation }: LeadCall,
): Promise<JsonObject> {
  const { taskId, call } = effects;
  const given: Given[] = [];
  let round: CallRequest["round"];
  // A session holds its request open in the meantime. A client that answers input_required comes back.
  const isBlocking = call.hidden && call.request !== undefined;
  const timeoutMs = upstream.questionTimeoutMs ?? (isBlocking ? elicitation.blockingTimeoutMs : elicitation.timeoutMs);

  /** The answers so far; and those to an earlier call of this task, which answer the same questions of this call, each once (I4). */
  const answers: Given[] = [];
  let recorded: readonly Given[] = [];

  async function answered(question: Question): Promise<Given> {
    const { key, request, digest } = question;
    const before = recorded.find((one) => one.question.digest === digest);
    recorded = recorded.filter((one) => one !== before);
    const answer = before?.answer ?? (await effects.ask(key, request, { timeoutMs: question.timeoutMs }));
    const one = { question, answer };
    given.push(one);
    if (!before) answers.push(one);
    return one;
  }

  const access =
    upstream.oauth && createAccess(effects, { upstream, oauth: upstream.oauth, what: about(upstream, { kind, listed }), timeoutMs });
  await access?.ask();

  let rounds = 0;
  let unheard = 0;
  let waitedMs = 0;

  /** The interval grows with the age of the task: a long task must not fill the journal, and its end is noticed in proportion. */
  async function waitForTask(pollMs: number): Promise<void> {
    const waitMs = Math.max(pollMs, Math.floor(waitedMs / 10));
    waitedMs += waitMs;
    if (waitedMs > upstream.callTimeoutMs) {
      throw failureOf({ type: "timeout", message: `neither asked nor ended within ${upstream.callTimeoutMs} ms` }, upstream, {
        kind,
        listed,
      });
    }
    await effects.sleep("poll", waitMs);
  }

  while (rounds < ROUNDS_MAX) {
    const opened = await effects.step("open", () => ({ callId: calls.permit(taskId), mayRepeat: isRepeatedFreely }));
    const { callId, mayRepeat: isCallRepeatable } = opened as { callId: string; mayRepeat: boolean };
    // A poll starts nothing at the upstream, and its answers count once.
    const isRepeatable = isCallRepeatable || round?.task !== undefined;
    const leadOnce = async (name: string): Promise<UpstreamEvent> => {
      const request: CallRequest = {
        upstream,
        kind,
        tool: listed.name,
        args,
        ...(listed.execution?.taskSupport !== undefined && { asTask: true }),
        principal: call.principal,
        capabilities: askable(call),
        ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
        questionTimeoutMs: timeoutMs,
        askedBefore: given.length,
        given: [...given],
        ...(round && { round }),
      };
      const last = Promise.withResolvers<UpstreamEvent>();
      const follow = async ({ signal }: StepAttempt): Promise<UpstreamEvent> => {
        const accessToken = await access?.token();
        if (access && accessToken === undefined) return { type: "expired" };
        const came = await calls.lead({
          taskId,
          callId,
          mayRepeat: isRepeatable,
          request: { ...request, ...(accessToken !== undefined && { accessToken }) },
          accessToken,
          given: [...given],
          signal,
          report: effects.report,
        });
        if (came.type !== "result") return came;
        // The task ends with this event. Both are one write, because nothing is done in between.
        last.resolve(came);
        await aborted(signal);
        return came;
      };
      const event = effects.step(name, follow, { isRecordedLater: isOfHolder });
      return await Promise.race([event as unknown as Promise<UpstreamEvent>, last.promise]);
    };
    const lead = async (name: string): Promise<Exclude<UpstreamEvent, { type: "expired" }>> => {
      const event = await leadOnce(name);
      if (event.type !== "expired") return event;
      await access?.ask();
      return await lead(name);
    };

    const first = await leadOnce("call");
    if (first.type === "expired") {
      await access?.ask();
      // No call was made. The next run may be on another worker, which cannot use this permit.
      continue;
    }
    let event = first;
    while (event.type === "asked") {
      const { questions } = event;
      const isOnly = questions.length === 1;
      await Promise.all(
        questions.map(async (question) => {
          await answered(question);
          // Each answer is passed on at once: the upstream may need it before it asks anything else.
          if (!isOnly) await effects.step(`deliver-${question.key}`, () => calls.give(taskId, callId, [...given]));
        }),
      );
      event = await lead("continue");
    }
    if (event.type === "unauthorized") {
      await access?.refused();
      continue;
    }
    if (event.type === "result") return hasResources ? withOwnUris(event.result, upstream) : event.result;
    // The upstream's task survives an upstream that is down for a while.
    if (round?.task && (event.type === "unavailable" || event.type === "lost" || event.type === "busy")) {
      await waitForTask(RETRY_MS);
      continue;
    }
    if (event.type !== "required") throw failureOf(event, upstream, { kind, listed });
    const { refused, questions, state, task } = event;
    unheard = task?.isUnheard === true ? unheard + 1 : 0;
    if (unheard === UNHEARD_MAX) {
      if (!isRepeatedFreely) throw failureOf({ type: "lost", message: LOST_QUESTION }, upstream, { kind, listed });
      // The upstream's task is cancelled, as it is when the call fails.
      await effects.step("let-go", () => calls.drop(taskId));
      recorded = answers.filter(({ answer }) => answer.action !== "withdrawn");
      round = undefined;
      unheard = 0;
      rounds += 1;
      continue;
    }
    if (task && questions.length === 0) {
      await waitForTask(task.pollMs);
      round = { responses: {}, task: { id: task.id, asked: round?.task?.asked ?? [] } };
      continue;
    }
    rounds += 1;
    waitedMs = 0;
    const replies = await Promise.all(questions.map(answered));
    if (refused && replies.some(({ answer }) => answer.action !== "accept")) throw rpcFailure(refused);
    round = {
      ...(state !== undefined && { state }),
      ...(task && { task: { id: task.id, asked: [...(round?.task?.asked ?? []), ...questions.map(({ id }) => id)] } }),
      responses: refused ? {} : Object.fromEntries(replies.map(({ question, answer }): [string, Answer] => [question.id, answer])),
    };
  }
  throw new ParleyError(
    "UPSTREAM_INVALID",
    `${about(upstream, { kind, listed })} required input or a visit to a page ${ROUNDS_MAX} times without returning a result`,
  );
}

/**
 * A question of a held call is recorded together with the asks that it leads to, because it is lost with its holder in any case. Any other event is
 * recorded first: it outlives this process, and any worker continues from it.
 */
function isOfHolder(event: Json | undefined): boolean {
  return (event as UpstreamEvent | undefined)?.type === "asked";
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * What can be asked in this call: whatever its client declared. If the client got a handle on the task, forms and pages can be asked as well,
 * because another client of the owner, or the command line, can answer them.
 */
export function askable({ capabilities, hidden }: Pick<CallFacts, "capabilities" | "hidden">): ClientCapabilities {
  return hidden ? capabilities : { ...capabilities, elicitation: { form: true, url: true } };
}

function failureOf(
  event: Exclude<UpstreamEvent, { type: "asked" | "required" | "result" | "unauthorized" | "expired" }>,
  upstream: Upstream,
  led: Led,
): Error {
  if (event.type === "error") return rpcFailure(event.error);
  const code = (
    {
      lost: "UPSTREAM_LOST",
      unavailable: "UPSTREAM_UNAVAILABLE",
      timeout: "UPSTREAM_TIMEOUT",
      invalid: "UPSTREAM_INVALID",
      large: "TOO_LARGE",
      busy: "UPSTREAM_BUSY",
    } as const
  )[event.type];
  const data = { upstream: upstream.name, ...(event.type === "busy" && { retryAfterMs: 1_000 }) };
  return new ParleyError(code, `${about(upstream, led)}: ${event.message}`, { data });
}

function about({ name }: Upstream, { kind, listed }: Led): string {
  return `${kind} ${listed.name} of upstream ${name}`;
}

function rpcFailure({ code, message, data }: UpstreamFailure): RpcFailure {
  return new RpcFailure(code, message, data as Json | undefined);
}
