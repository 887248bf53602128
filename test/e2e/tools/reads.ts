/**
 * One tool for each way in which people write code that reads something outside ctx before a step, from caches of this worker that are warm or cold. The
 * file stands for the outside world: a line for each charge, with the key that a payment service would see.
 */
import { appendFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { defineTool, type Context } from "@parley/sdk";
import { z } from "zod";

const ITEMS = ["ada", "bob", "cyd", "dan"] as const;
/** What is outside ctx. Tests in the kit declare it as that. */
export const world = {
  wait: async (ms: number): Promise<unknown> => await setTimeout(ms),
  forget() {
    cache.clear();
    memo.clear();
  },
};
const cache = new Map<string, string>();
const memo = new Map<string, Promise<string>>();

/** A read-through cache: a hit answers in a microtask, a miss after some milliseconds that differ from item to item and from worker to worker. */
async function load(id: string): Promise<string> {
  const hit = cache.get(id);
  if (hit !== undefined) return hit;
  await world.wait(5 + ((id.charCodeAt(0) * 7 + process.pid * 13) % 60));
  cache.set(id, `row of ${id}`);
  return `row of ${id}`;
}

/** A second layer, which only some items have. */
async function layered(id: string): Promise<string> {
  if ((id.charCodeAt(0) + process.pid) % 2 === 0) return await load(id);
  const known = memo.get(id) ?? load(id);
  memo.set(id, known);
  return await known;
}

type Charge = (id: string) => Promise<string>;
interface Given {
  readonly ctx: Context;
  readonly charge: Charge;
}

async function retried<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt === 3) throw error;
      await world.wait(1);
    }
  }
}

const KINDS: Readonly<Record<string, (given: Given) => Promise<readonly string[]>>> = {
  async loop({ charge }) {
    const done: string[] = [];
    for (const id of ITEMS) {
      await load(id);
      done.push(await charge(id));
    }
    return done;
  },
  async helper({ charge }) {
    const one: Charge = async (id) => {
      await layered(id);
      return await charge(id);
    };
    const done: string[] = [];
    for (const id of ITEMS) done.push(await one(id));
    return done;
  },
  reduce: async ({ charge }) =>
    await ITEMS.reduce<Promise<string[]>>(async (before, id) => {
      const done = await before;
      await load(id);
      return [...done, await charge(id)];
    }, Promise.resolve([])),
  fromAsync: async ({ charge }) =>
    await Array.fromAsync(ITEMS, async (id) => {
      await load(id);
      return await charge(id);
    }),
  async generator({ charge }) {
    async function* rows() {
      for (const id of ITEMS) {
        await load(id);
        yield id;
      }
    }
    const done: string[] = [];
    for await (const id of rows()) done.push(await charge(id));
    return done;
  },
  async retries({ charge }) {
    const done: string[] = [];
    for (const id of ITEMS)
      done.push(
        await retried(async (attempt) => {
          await load(id);
          if (attempt === 1) throw new Error("busy");
          return await charge(id);
        }),
      );
    return done;
  },
  async helpers({ charge }) {
    const first = async () => [await charge((await load("ada")).slice("row of ".length))];
    const others = async () => {
      const done: string[] = [];
      for (const id of ITEMS.slice(1)) {
        await layered(id);
        done.push(await charge(id));
      }
      return done;
    };
    return [...(await first()), ...(await others())];
  },
  async chain({ charge }) {
    const done: string[] = [];
    let chain: Promise<unknown> = Promise.resolve();
    for (const id of ITEMS)
      chain = chain
        .then(() => load(id))
        .then(() => charge(id))
        .then((receipt) => done.push(receipt));
    await chain;
    return done;
  },
  async memoised({ charge }) {
    const done: string[] = [];
    for (const id of ITEMS) {
      await layered(id);
      await layered(id);
      done.push(await charge(id));
    }
    return done;
  },
  async imported({ charge }) {
    const done: string[] = [];
    for (const id of ITEMS) {
      await import("node:zlib");
      done.push(await charge(id));
    }
    return done;
  },
  async chunks({ charge }) {
    const done: string[] = [];
    for (const chunk of [ITEMS.slice(0, 2), ITEMS.slice(2)])
      done.push(
        ...(await Promise.all(
          chunk.map(async (id) => {
            await load(id);
            return await charge(id);
          }),
        )),
      );
    return done;
  },
  // Concurrent: each item is told apart by its number in the list that is awaited, or by its key.
  all: async ({ charge }) =>
    await Promise.all(
      ITEMS.map(async (id) => {
        await layered(id);
        return await charge(id);
      }),
    ),
  // The plainest cache: cold in the first run, and filled by it.
  readThrough: async ({ charge }) =>
    await Promise.all(
      ITEMS.map(async (id) => {
        await load(id);
        return await charge(id);
      }),
    ),
  async unawaitedHelper({ charge }) {
    const save: Charge = async (id) => {
      await layered(id);
      return await charge(id);
    };
    return await Promise.all(ITEMS.map(async (id) => save(id)));
  },
  unawaited: async ({ charge }) =>
    await Promise.all(
      ITEMS.map(async (id) => {
        await load(id);
        return charge(id);
      }),
    ),
  map: async ({ ctx, charge }) =>
    await ctx.map(
      ITEMS,
      (id) => id,
      async (id) => {
        await layered(id);
        return await charge(id);
      },
      { concurrency: 2 },
    ),
};

export const reads = defineTool({
  name: "reads",
  input: z.object({ kind: z.enum(Object.keys(KINDS) as [string, ...string[]]), file: z.string() }),
  async run({ kind, file }, ctx) {
    const charge: Charge = (id) =>
      ctx.step("charge", async ({ idempotencyKey }) => {
        await appendFile(file, `${kind} ${id} ${idempotencyKey}\n`);
        await world.wait(30);
        return `receipt of ${id}`;
      });
    const done = (await KINDS[kind]?.({ ctx, charge })) ?? [];
    await ctx.confirm("ok", { message: `Is it right that ${done.length} were charged?` });
    return done.join(", ");
  },
  /** A helper in a loop, which reads before each step. */
  async compensate({ kind, file }, ctx) {
    const undo = async (id: string) => {
      await layered(id);
      await ctx.step("undo", ({ idempotencyKey }) => appendFile(file, `undo-${kind} ${id} ${idempotencyKey}\n`));
    };
    for (const id of ITEMS.toReversed()) await undo(id);
  },
});

export const kinds = Object.keys(KINDS);
export default [reads];
