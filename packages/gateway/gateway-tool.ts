/**
 * A tool of an upstream as a tool of Parley. Its handler leads the call: what happens at the upstream is the result of a step, what the
 * upstream asks is an ask, and so it waits as long as any question does, and is answered by any door.
 */
import {
  type Answer,
  type CallFacts,
  type ClientCapabilities,
  type Effects,
  type Json,
  type JsonObject,
  ParleyError,
  RpcFailure,
  type RunSettings,
  type Tool,
} from "@parley/core";
import type { Calls } from "./calls.ts";
import type { ListedTool } from "./listing.ts";
import type { ElicitationSettings } from "./settings.ts";
import type { CallRequest, Given, Question, UpstreamEvent, UpstreamFailure } from "./upstream-call.ts";
import type { Upstream } from "./upstreams.ts";

export interface GatewayToolDeps {
  readonly upstream: Upstream;
  /** Undefined where tools are only listed. */
  readonly calls?: Calls;
  readonly elicitation?: Pick<ElicitationSettings, "timeoutMs" | "blockingTimeoutMs">;
}

const RETENTION_MS = 24 * 60 * 60 * 1_000;
/** What a run needs beside the upstream's own time. */
const RUN_MARGIN_MS = 30_000;
/** How often one call may want other things first (input_required, −32042). */
const ROUNDS_MAX = 50;

export function gatewayTool(listed: ListedTool, deps: GatewayToolDeps): Tool {
  const { upstream } = deps;
  const { title, description, outputSchema, annotations, icons, _meta: meta } = listed;
  const name = `${upstream.prefix}${listed.name}`;
  const settings: RunSettings = {
    attempts: 1,
    backoffMs: 1_000,
    runTimeoutMs: upstream.connectTimeoutMs + upstream.callTimeoutMs + RUN_MARGIN_MS,
    retentionMs: RETENTION_MS,
  };
  return {
    kind: "tool",
    name,
    settings,
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
    // The upstream judges its arguments: a schema of somebody else is not compiled here.
    readArguments: (args) => ({ ok: true, args }),
    run(args, effects) {
      const { calls, elicitation } = deps;
      if (!calls || !elicitation) throw new Error(`${name} is listed here and runs elsewhere`);
      return leadCall(effects, { listed, args, upstream, calls, elicitation });
    },
  };
}

/** Whether a call may be made a second time when nobody knows what became of the first. */
export function mayRepeat({ repeatable }: Upstream, { name, annotations }: ListedTool): boolean {
  const { readOnlyHint, idempotentHint } = annotations ?? {};
  return repeatable(name) ?? (readOnlyHint === true || idempotentHint === true);
}

interface LeadCall {
  readonly listed: ListedTool;
  readonly args: JsonObject;
  readonly upstream: Upstream;
  readonly calls: Calls;
  readonly elicitation: Pick<ElicitationSettings, "timeoutMs" | "blockingTimeoutMs">;
}

async function leadCall(effects: Effects, { listed, args, upstream, calls, elicitation }: LeadCall): Promise<JsonObject> {
  const { taskId, call } = effects;
  const given: Given[] = [];
  let round: CallRequest["round"];
  // A session's request is held open meanwhile; a client that answers input_required comes back.
  const isBlocking = call.hidden && call.request !== undefined;
  const timeoutMs = upstream.questionTimeoutMs ?? (isBlocking ? elicitation.blockingTimeoutMs : elicitation.timeoutMs);

  async function answered(question: Question): Promise<Given> {
    const { key, request } = question;
    const answer = await effects.ask(key, request, { timeoutMs: question.timeoutMs });
    const one = { question, answer };
    given.push(one);
    return one;
  }

  for (let rounds = 1; rounds <= ROUNDS_MAX; rounds += 1) {
    const opened = await effects.step("open", () => ({ callId: calls.permit(taskId), mayRepeat: mayRepeat(upstream, listed) }));
    const { callId, mayRepeat: isRepeatable } = opened as { callId: string; mayRepeat: boolean };
    const lead = async (name: string): Promise<UpstreamEvent> => {
      const request: CallRequest = {
        upstream,
        tool: listed.name,
        args,
        principal: call.principal,
        capabilities: askable(call),
        ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
        questionTimeoutMs: timeoutMs,
        askedBefore: given.length,
        given: [...given],
        ...(round && { round }),
      };
      const event = await effects.step(name, ({ signal }) =>
        calls.lead({ taskId, callId, mayRepeat: isRepeatable, request, given: [...given], signal, report: effects.report }),
      );
      return event as unknown as UpstreamEvent;
    };

    let event = await lead("call");
    while (event.type === "asked") {
      const { questions } = event;
      const isOnly = questions.length === 1;
      await Promise.all(
        questions.map(async (question) => {
          await answered(question);
          // Each answer goes on at once: the upstream may need it to go on with something else.
          if (!isOnly) await effects.step(`deliver-${question.key}`, () => calls.give(taskId, callId, [...given]));
        }),
      );
      event = await lead("continue");
    }
    if (event.type === "result") return event.result;
    if (event.type !== "required") throw failureOf(event, upstream, listed);
    const { refused, questions, state } = event;
    const answers = await Promise.all(questions.map(answered));
    if (refused && answers.some(({ answer }) => answer.action !== "accept")) throw rpcFailure(refused);
    round = {
      ...(state !== undefined && { state }),
      responses: refused ? {} : Object.fromEntries(answers.map(({ question, answer }): [string, Answer] => [question.id, answer])),
    };
  }
  throw new ParleyError("UPSTREAM_INVALID", `${about(upstream, listed)} wants something first again and again (${ROUNDS_MAX} times)`);
}

/**
 * What can be asked in this call: what its client declared, and forms and pages where there is a handle on the task, since another client of
 * its owner, or the command line, can answer them.
 */
export function askable({ capabilities, hidden }: Pick<CallFacts, "capabilities" | "hidden">): ClientCapabilities {
  return hidden ? capabilities : { ...capabilities, elicitation: { form: true, url: true } };
}

function failureOf(
  event: Exclude<UpstreamEvent, { type: "asked" | "required" | "result" }>,
  upstream: Upstream,
  listed: ListedTool,
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
  return new ParleyError(code, `${about(upstream, listed)}: ${event.message}`, { data });
}

function about({ name }: Upstream, { name: tool }: ListedTool): string {
  return `tool ${tool} of upstream ${name}`;
}

function rpcFailure({ code, message, data }: UpstreamFailure): RpcFailure {
  return new RpcFailure(code, message, data as Json | undefined);
}
