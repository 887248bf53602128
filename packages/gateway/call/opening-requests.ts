/**
 * What an upstream asks as soon as it is connected, before any call: the roots of its client, to which it then restricts the session.
 *
 *   connected ─▶ ping ─▶ roots/list ─▶ the answer, applied ─▶ the call
 *
 * A call that came first would find the session wider than the caller allows. So where a caller has roots, the call waits for what the upstream asks
 * first. A session that served an earlier call is told that the roots may have changed, because the caller's client tells nobody but Parley.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { CallRequest } from "../wire/call-request.ts";
import type { Questions } from "./questions.ts";
import type { UpstreamSession } from "../connection/upstream-session.ts";

/** How long a question may be on its way after the reply to a ping. Over HTTP, it comes on another stream than the reply. */
const ARRIVES_MS = { command: 10, url: 30 };
/**
 * How long the upstream may take to apply an answer, such as looking whether the directories exist. It does not say when it has. On a busy machine that
 * is more than a time: as many times what it took for its reply to a ping, and each further reply shows that it has been at work.
 */
const APPLIES_MS = { least: 100, most: 3_000 };
const APPLIES_PINGS = 10;
const PINGS = 5;

export interface Opening {
  readonly request: CallRequest;
  readonly questions: Pick<Questions, "asked" | "whenAnswered">;
  readonly signal: AbortSignal;
}

/** Resolves when the upstream has the answers to what it asked, or the call has ended. Never rejects: the call finds out what is wrong. */
export async function answerOpening(
  { client, isStateless, isMute = false, isPrepared = false }: UpstreamSession,
  opening: Opening,
): Promise<void> {
  const { request, questions, signal } = opening;
  const { connectTimeoutMs, reached } = request.upstream;
  if (request.capabilities.roots !== true || isStateless || isMute) return;
  const before = questions.asked();
  const ping = () => client.ping({ timeout: connectTimeoutMs, signal }).catch(() => undefined);
  if (isPrepared) await client.sendRootsListChanged().catch(() => undefined);
  await ping();
  if (questions.asked() === before) await passed(ARRIVES_MS[reached.by]);
  if (questions.asked() === before) return;
  await questions.whenAnswered();
  if (signal.aborted) return;
  const begun = performance.now();
  await ping();
  const { least, most } = APPLIES_MS;
  await passed(Math.min(most, Math.max(least, APPLIES_PINGS * (performance.now() - begun))));
  for (let pings = 0; pings < PINGS && !signal.aborted; pings += 1) await ping();
}

/** After the time, and after what had arrived by then was read: in a process that is behind, timers come first. */
async function passed(ms: number): Promise<void> {
  await sleep(ms);
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
