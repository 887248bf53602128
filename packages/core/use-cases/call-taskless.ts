/** A caller calls a tool or a prompt and waits for it. Nothing is written unless the call turns out to need a task. */
import type { Runnable, TasklessCall, TasklessResult } from "../catalogue.ts";
import { withoutViews } from "../task.ts";
import { type CreateTask, keptArguments } from "./create-task.ts";
import type { Services } from "./services.ts";

export interface CallTaskless extends Pick<CreateTask, "caller" | "arguments" | "capabilities" | "hidden" | "session"> {
  readonly signal: AbortSignal;
}

/**
 * Resolves to undefined if the call needs a task; `createTask` then makes it. Throws INVALID_ARGUMENTS and TOO_LARGE as
 * `createTask` does, and RpcFailure with the error of the callee.
 *
 * With an audit, every call needs a task: the record of a call is written in one change with its task, and nothing is
 * called whose record could be lost.
 */
export async function callTaskless(
  services: Pick<Services, "settings" | "clock" | "audit" | "observer">,
  runnable: Runnable,
  { caller, arguments: given, capabilities, hidden, session, signal }: CallTaskless,
): Promise<TasklessResult | undefined> {
  const { audit, observer } = services;
  if (!runnable.callTaskless || audit) return undefined;
  const { args } = await keptArguments(services, runnable, given);
  const traceparent = observer?.traceparent();
  const call: TasklessCall = {
    arguments: args,
    principal: caller.principal,
    capabilities: withoutViews(capabilities),
    hidden,
    signal,
    ...(traceparent !== undefined && { traceparent }),
    ...(session !== undefined && { session }),
  };
  return await runnable.callTaskless(call);
}
