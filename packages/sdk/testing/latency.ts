/**
 * Varies how long things outside `ctx` take, from run to run of a task under test: a handler that depends on which of them is faster then behaves
 * differently in another run, and its test fails.
 *
 *   run 1   load(ada) ──▶            run 2   load(ada) ────────────▶
 *           load(bob) ────────▶              load(bob) ──▶
 *
 * The lengths are drawn from a seed, so a test that fails fails again.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

export interface Latency {
  /** Lets nothing, some microtasks or some turns of the event loop pass. */
  pass(): Promise<void> | undefined;
  /** From 0 to 4: how many turns something takes, or milliseconds. */
  draw(): number;
}

/** 0: at once, as a cache hit. */
const LENGTHS = ["at once", "microtasks", "turns"] as const;

export function createLatency(seed: number): Latency {
  const random = mulberry32(seed);
  const draw = () => Math.floor(random() * 5);
  return {
    draw,
    pass() {
      const length = LENGTHS[Math.floor(random() * LENGTHS.length)];
      const count = 1 + draw();
      return length === "at once" ? undefined : length === "microtasks" ? microtasks(count) : turns(count);
    },
  };
}

async function microtasks(count: number): Promise<void> {
  for (let passed = 0; passed < count; passed += 1) await Promise.resolve();
}

export async function turns(count: number): Promise<void> {
  for (let passed = 0; passed < count; passed += 1) await nextTurn();
}

/** A small generator of numbers in [0, 1), by Tommy Ettinger: nothing depends on how random it is. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
