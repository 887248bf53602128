import { callTaskless, type CallTaskless, type JsonObject, type Runnable } from "@parley/core";
import type { Exchange } from "../../../front-end/exchange.ts";
import type { FrontEnd } from "../../../front-end/front-end.ts";
import type { Gate } from "../../../front-end/gate.ts";

interface Taskless extends Pick<CallTaskless, "arguments" | "capabilities" | "hidden" | "session"> {
  readonly runnable: Runnable;
  readonly idempotencyKey: string | undefined;
  readonly waits: Pick<Gate, "enter">;
}

/**
 * The result of a call that needs no task; undefined if it needs one. Only a task remembers an idempotency key. Throws INVALID_ARGUMENTS, TOO_LARGE, the error of `waits` if there is no place, and RpcFailure.
 */
export async function resultWithoutTask(
  { services }: Pick<FrontEnd, "services">,
  { caller, wants, channel, encode }: Exchange,
  { runnable, idempotencyKey, waits, ...call }: Taskless,
): Promise<JsonObject | undefined> {
  if (!runnable.callTaskless || idempotencyKey !== undefined) return undefined;
  const leave = waits.enter();
  try {
    const made = await callTaskless(services, runnable, { ...call, caller, signal: channel.closed });
    for (const item of (channel.acceptsStream && made?.reports) || []) {
      const notification = encode.feedNotification(item, wants);
      if (notification) channel.send(notification);
    }
    return made?.result;
  } finally {
    leave();
  }
}
