/**
 * Posts again what was given up, the oldest first, with the same ids: a receiver that remembers ids does nothing twice. One that was taken is given up no
 * longer; every other stays. Whatever dies in between, an event is posted once more rather than not at all: it is forgotten only after it was taken.
 */
import type { DeadLetter } from "./deliver.ts";
import { PACE, postTo, reasonOf, targetOf } from "./deliver.ts";
import type { Webhook } from "./webhooks-file.ts";

export interface ReplayDead {
  readonly webhook: Webhook;
  readonly states: {
    /** The newest first. */
    dead(name: string): Promise<readonly object[]>;
    /** Forgets one of them. */
    exhume(name: string, letter: object): Promise<void>;
  };
  /** Only these. Default: all. */
  readonly ids?: ReadonlySet<string>;
  readonly limit: number;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export interface Replayed {
  readonly id: string;
  readonly type: string;
  readonly taken: boolean;
  readonly why?: string;
}

export interface ReplayEnd {
  /** Of those that were asked for, how many were not tried: beyond the limit, or after the receiver did not answer. */
  readonly left: number;
}

/** Yields what became of each. Ends early where the receiver does not answer at all: each of a thousand would wait for it. */
export async function* replayDead({ webhook, states, ids, limit, now, signal }: ReplayDead): AsyncGenerator<Replayed, ReplayEnd> {
  const dead = ((await states.dead(webhook.name)) as readonly DeadLetter[]).toReversed();
  const wanted = ids === undefined ? dead : dead.filter(({ id }) => ids.has(id));
  const target = targetOf(webhook);
  let tried = 0;
  // oxlint-disable no-await-in-loop -- in their order
  for (const letter of wanted.slice(0, limit)) {
    const { id, type, atMs, data } = letter;
    const message = target.message({ id, type, atMs, data: data as never, cursor: "" });
    const posted = await postTo(target, message, { nowMs: now(), timeoutMs: PACE.timeoutMs, signal });
    if (signal.aborted) break;
    tried += 1;
    const why = reasonOf(posted);
    if (why === undefined) await states.exhume(webhook.name, letter);
    yield { id, type, taken: why === undefined, ...(why !== undefined && { why }) };
    if (posted.type === "failed") break;
  }
  // oxlint-enable no-await-in-loop
  return { left: wanted.length - tried };
}
