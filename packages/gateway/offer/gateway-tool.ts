/**
 * Makes a tool of an upstream a tool of Parley, and a prompt a prompt. Its handler leads the call (lead-call.ts). A question of the upstream
 * therefore waits as long as any other, and can be answered through any door.
 */
import type { Opening, Prompt, Runnable, RunSettings, Tool } from "@parley/core";
import type { Calls } from "../call/calls.ts";
import { promptCompletion, type ReadThrough, withOwnUris } from "../lists/gateway-resource.ts";
import { ownMeta } from "../lists/own-uri.ts";
import { firstPermit, type LeadCall, leadCall } from "../call/lead-call.ts";
import type { ListedPrompt, ListedTool } from "../lists/listing.ts";
import { paramHeaders } from "../wire/param-headers.ts";
import { CONNECT_WAIT_MS } from "../connection/connects.ts";
import type { ElicitationSettings } from "../config/settings.ts";
import type { Callee, TasklessCalls } from "../call/taskless.ts";
import type { Upstream } from "../config/upstreams.ts";

export interface GatewayToolDeps {
  readonly upstream: Upstream;
  /** Undefined in a process that only lists tools. */
  readonly calls?: Calls;
  readonly elicitation?: Pick<ElicitationSettings, "timeoutMs" | "blockingTimeoutMs">;
  /** Whether links in lists and results are rewritten to the uris under which resources are offered here. */
  readonly hasResources?: boolean;
  /** Completes arguments of prompts on front ends, if the upstream does. */
  readonly reads?: ReadThrough;
  /** Makes calls without a task, on front ends. */
  readonly taskless?: TasklessCalls;
}

/** The time that a run needs in addition to the upstream's. */
const RUN_MARGIN_MS = 30_000;

export function gatewayTool(listed: ListedTool, deps: GatewayToolDeps): Tool {
  const { upstream, hasResources = false } = deps;
  const { title, description, outputSchema, annotations, icons, _meta } = listed;
  const meta = _meta && hasResources ? ownMeta(upstream, _meta) : _meta;
  const name = `${upstream.prefix}${listed.name}`;
  const headersOf = paramHeaders(listed.inputSchema);
  return {
    kind: "tool",
    name,
    settings: settingsOf(upstream),
    inputSchema: listed.inputSchema,
    task: "optional",
    askFirst: false,
    earlyReplies: false,
    isSequential: true,
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
      withoutTask({ kind: "tool", name: listed.name, headersOf }, deps)),
    open: () => openingOf(mayRepeat(upstream, listed), deps),
    run(args, effects) {
      const call = { kind: "tool", listed, args, paramHeaders: headersOf(args), mayRepeat: mayRepeat(upstream, listed) } as const;
      return leadCall(effects, { ...call, ...atWork(name, deps) });
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
    isSequential: true,
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
  // Any worker makes such a call, and state is at one.
  if (!taskless || !upstream.isTaskless || upstream.keepsState) return {};
  return {
    async callTaskless(call) {
      const made = await taskless.call(upstream, callee, call);
      return made && hasResources ? { ...made, result: withOwnUris(made.result, upstream) } : made;
    },
  };
}

/** A call waits for its session, and in one with state for the call before it, before its own time begins. */
function settingsOf({ connectTimeoutMs, callTimeoutMs, keepsState }: Upstream): RunSettings {
  const turnMs = CONNECT_WAIT_MS + (keepsState ? callTimeoutMs : 0);
  return { attempts: 1, backoffMs: 1_000, runTimeoutMs: turnMs + connectTimeoutMs + callTimeoutMs + RUN_MARGIN_MS };
}

/** Throws in a process that only lists tools. */
function atWork(
  name: string,
  { upstream, calls, elicitation, hasResources = false }: GatewayToolDeps,
): Pick<LeadCall, "upstream" | "calls" | "elicitation" | "hasResources"> {
  if (!calls || !elicitation) throw new Error(`${name} is listed here and runs elsewhere`);
  return { upstream, calls, elicitation, hasResources };
}

/** With `oauth`, the handler first asks for access, and its step draws the permit. */
function openingOf(isRepeatedFreely: boolean, { upstream, calls }: Pick<GatewayToolDeps, "upstream" | "calls">): Opening | undefined {
  return calls && !upstream.oauth ? firstPermit(isRepeatedFreely, calls) : undefined;
}

/** Whether a call may be repeated after the outcome of the first was lost. */
export function mayRepeat({ repeatable }: Upstream, { name, annotations }: ListedTool): boolean {
  const { readOnlyHint, idempotentHint } = annotations ?? {};
  return repeatable(name) ?? (readOnlyHint === true || idempotentHint === true);
}
