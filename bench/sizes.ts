/**
 * What a task, a question and an owner take in Redis, waiting and finished: the rows of docs/scaling.md.
 *
 *   node bench/sizes.ts [--count 5000]
 *
 * Each row is the growth of `used_memory` of a Redis of its own by that many of it, written by the store as front ends and workers would: once with what
 * the shipped deploy/redis/redis.conf sets, and once with Redis' defaults. Sizes do not depend on what else the machine does.
 */
import { parseArgs } from "node:util";
import { layGround } from "./ground.ts";
import { bytesOf, ROWS, SHIPPED } from "./sizes-of.ts";

const { values } = parseArgs({ options: { count: { type: "string", default: "5000" } } });
const count = Number(values.count);
if (!Number.isInteger(count) || count < 100) throw new Error("--count is a whole number, at least 100");

async function weighed(settings: Readonly<Record<string, number>>): Promise<number[]> {
  const ground = await layGround();
  try {
    return await bytesOf({ ...ground, settings, count });
  } finally {
    await ground.close();
  }
}

const [shipped, plain] = [await weighed(SHIPPED), await weighed({})];
console.log("| | shipped | defaults | 1 GB of `maxmemory` has room for |");
console.log("|---|---|---|---|");
const bytes = (size = Number.NaN) => `${Math.round(size).toLocaleString("en")} B`;
for (const [row, { what }] of ROWS.entries()) {
  const [size = Number.NaN] = [shipped[row]];
  console.log(`| ${what} | ${bytes(size)} | ${bytes(plain[row])} | ${Number((1e9 / size).toPrecision(2)).toLocaleString("en")} |`);
}
