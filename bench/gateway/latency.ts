/**
 * What the gateway adds to a call. One client with one session at a time calls the upstream directly, a tool of Parley's own that does the
 * same, and the upstream through the gateway: in a new session, in a reused session, and in a reused session without a task. A few calls of
 * each alternate.
 */
import { median, quantile } from "../measure.ts";
import { blockingLifecycle, openSession, type Session } from "../session.ts";
import type { GatewayDeployment } from "./deployment.ts";

export interface Latency {
  /** Milliseconds. */
  readonly direct: Spread;
  readonly own: Spread;
  readonly gateway: Spread;
  /** In sessions that are used again. */
  readonly again: Spread;
  /** In such sessions, and without a task unless it asks. */
  readonly taskless: Spread;
}

interface Spread {
  readonly p50: number;
  readonly p99: number;
}

const IN_TURN = 10;

export interface Calls {
  /** Of each kind. */
  readonly measured: number;
  /** Before these: until V8 has optimized the code, a call costs up to half as much again. */
  readonly warmUp: number;
}

export async function callLatency(
  { url, upstreamUrl }: GatewayDeployment,
  tool: "plain" | "ask" | "ask_thrice",
  { measured, warmUp }: Calls,
): Promise<Latency> {
  const [direct, gateway] = await Promise.all([openSession({ url: upstreamUrl }), openSession({ url })]);
  const taken = { direct: [] as number[], own: [] as number[], gateway: [] as number[], again: [] as number[], taskless: [] as number[] };
  try {
    for (let done = 0; done < warmUp + measured; done += IN_TURN) {
      for (const [side, session, name] of [
        ["direct", direct, tool],
        ["own", gateway, `own_${tool}`],
        ["gateway", gateway, `up_${tool}`],
        ["again", gateway, `again_${tool}`],
        ["taskless", gateway, `taskless_${tool}`],
      ] as const) {
        for (let each = 0; each < IN_TURN; each += 1) {
          const sentAt = performance.now();
          await callOnce(session, name);
          if (done >= warmUp) taken[side].push(performance.now() - sentAt);
        }
      }
    }
  } finally {
    direct.close();
    gateway.close();
  }
  return {
    direct: spread(taken.direct),
    own: spread(taken.own),
    gateway: spread(taken.gateway),
    again: spread(taken.again),
    taskless: spread(taken.taskless),
  };
}

/** The client answers as soon as it is asked. */
export async function callOnce(session: Session, name: string): Promise<void> {
  const args = { text: "n".repeat(280) };
  if (/(^|_)ask/.test(name)) return await blockingLifecycle(session, name, args);
  const { isError, content } = await session.request<{ isError?: boolean; content: { text: string }[] }>("tools/call", {
    name,
    arguments: args,
  });
  if (isError || content[0]?.text !== args.text) throw new Error(`${name} went wrong`);
}

function spread(values: readonly number[]): Spread {
  return { p50: median(values), p99: quantile(values, 0.99) };
}
