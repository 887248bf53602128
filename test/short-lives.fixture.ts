/** Runs many small handlers, 50 at once, and prints how many full garbage collections that took. `node short-lives.fixture.ts [as worker]` */
import { PerformanceObserver, constants } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { createScope, expectShortLives } from "@parley/node";
import { createContext } from "../packages/sdk/context/create-context.ts";
import { accept, subject } from "../packages/core/replay.fixture.ts";

const AT_ONCE = 50;
const EACH = 200;

if (process.argv[2] === "worker") expectShortLives();
let full = 0;
const observer = new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries() as { detail?: { kind: number } }[])
    if (detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) full += 1;
});
observer.observe({ entryTypes: ["gc"] });

const scope = createScope();
const schema = { type: "object", properties: { n: { type: "number" } } };

/** Asks, is answered, and ends in its second run. */
async function life(): Promise<void> {
  const task = subject(async (effects) => ({ ...(await createContext(effects).elicit("size", { message: "How many?", schema })) }));
  task.wire({ scope });
  await task.run();
  task.answer("size", accept(3));
  const end = await task.run();
  if (end.type !== "returned") throw new Error(`the run ${end.type}`);
}

await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let lives = 0; lives < EACH; lives += 1) await life();
  }),
);
// What has been observed comes in a turn of its own.
await sleep(10);
process.stdout.write(`${full}\n`);
