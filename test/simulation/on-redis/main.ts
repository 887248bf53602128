/**
 * The simulation's programs on Redis, from the command line. Exits with 0 exactly when no rule was broken.
 *
 *   npm run test:simulation-on-redis -- [--programs N] [--seed N] [--at-once N] [--calm] [--keep]
 *   npm run test:simulation-on-redis -- --seed N --only [--times N]
 *
 * --calm kills nobody; --only runs the program of one seed, as often as --times says; --keep leaves the evidence behind.
 */
import { parseArgs } from "node:util";
import { startSharedRedis } from "../../support/shared-redis.ts";
import { describeProgram } from "../describe.ts";
import { programsFrom, runOnRedis } from "./run.ts";

const { values } = parseArgs({
  options: {
    programs: { type: "string", default: "150" },
    seed: { type: "string", default: "1" },
    "at-once": { type: "string", default: "30" },
    times: { type: "string", default: "40" },
    calm: { type: "boolean", default: false },
    only: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
  },
});

process.setMaxListeners(0);
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

const seed = Number(values.seed);
const programs = programsFrom(seed, values.only ? 1 : Number(values.programs));
const repeated = values.only ? Array.from({ length: Number(values.times) }, () => programs).flat() : programs;
const redis = await startSharedRedis();
const startMs = performance.now();
const { found, crashes, ...facts } = await runOnRedis({
  url: redis.url,
  prefix: `simulation-${process.pid}`,
  programs: repeated,
  atOnce: Number(values["at-once"]),
  kills: !values.calm,
  keep: values.keep,
});
await redis.close();
console.log({ ...facts, seconds: Math.round((performance.now() - startMs) / 1_000) });
for (const { seed: of, taskId, rule, what } of found) console.log(`seed ${of}, task ${taskId}, ${rule}: ${what}`);
for (const crash of crashes) console.log(`a worker ended by itself:\n${crash}`);
const first = programs.find((each) => each.seed === found[0]?.seed);
if (first) console.log(describeProgram(first.program));
process.exit(found.length + crashes.length === 0 ? 0 : 1);
