/**
 * Whether a lifecycle costs more in a larger deployment: one front end and one worker, then eight of each, with ten clients for each pair.
 *
 * All processes share one core. Sixteen processes evict each other's caches there, so their CPU time is reported but not judged. The number
 * of Redis commands is.
 */
import type { Benchmark, Figures, Metric } from "../benchmark.ts";
import { createClient } from "../client.ts";
import { cost } from "../cost.ts";
import { lifecycle } from "../lifecycle.ts";
import { inParallel } from "../measure.ts";
import { openStage, type Pair, type Stage } from "../stage.ts";
import { atMost } from "../target.ts";

const PAIRS = 8;
const CLIENTS_EACH = 10;
/** Of each pair, so that every process has done as much when it is measured. */
const COUNT_EACH = 1_000;

const COSTS = {
  cpuMs: { what: "CPU of front ends and workers, on one core", unit: "ms", judged: false },
  redisCpuMs: { what: "CPU of Redis", unit: "ms", judged: true },
  commands: { what: "Redis commands", unit: "", judged: true },
  reads: { what: "Redis reads from sockets", unit: "", judged: true },
  bytesIn: { what: "bytes to Redis", unit: "B", judged: true },
  bytesOut: { what: "bytes from Redis", unit: "B", judged: true },
} as const;

export const fleet: Benchmark = {
  name: "fleet",
  group: `A lifecycle's cost with ${PAIRS} front ends and ${PAIRS} workers, beside one of each in turn`,
  alone: true,
  async open(stage) {
    const large = await openStage(stage.quick);
    const pairs: Pair[] = [{ frontEnd: large.frontEnd, worker: large.worker }];
    while (pairs.length < PAIRS) pairs.push(await large.startPair());
    const one = openFleet(stage, [{ frontEnd: stage.frontEnd, worker: stage.worker }]);
    const many = openFleet(large, pairs);
    await one.look();
    await many.look(); // processes that have been up for a while
    return {
      async parley() {
        const [small, grown] = [await one.look(), await many.look()];
        const figures: Record<string, number> = {};
        for (const name of Object.keys(COSTS)) {
          figures[`${name}@1`] = small[name] ?? Number.NaN;
          figures[`${name}@${PAIRS}`] = grown[name] ?? Number.NaN;
          figures[`${name}Ratio`] = (grown[name] ?? Number.NaN) / (small[name] ?? Number.NaN);
        }
        return figures;
      },
      async close() {
        one.leave();
        many.leave();
        await large.close();
      },
    };
  },
  metrics: Object.entries(COSTS).flatMap(([name, { what, unit, judged }]): Metric[] => [
    ...[1, PAIRS].map((pairs): Metric => ({ metric: `${what}, ${pairs} of each`, figure: `${name}@${pairs}`, unit })),
    { metric: `${what}, ${PAIRS} : 1`, figure: `${name}Ratio`, unit: "×", ...(judged && { target: atMost(1.25, "×") }) },
  ]),
};

interface Fleet {
  look(): Promise<Figures>;
  leave(): void;
}

function openFleet({ redis, some }: Stage, pairs: readonly Pair[]): Fleet {
  const clients = pairs.map(({ frontEnd }) => createClient(`${frontEnd.url}/mcp`, CLIENTS_EACH));
  const processes = Object.fromEntries(
    pairs.flatMap(({ frontEnd, worker }, index) => [
      [`frontEnd${index}`, frontEnd],
      [`worker${index}`, worker],
    ]),
  );
  const operations = pairs.length * some(COUNT_EACH);
  return {
    async look() {
      let turn = 0;
      return await cost({ redis, processes, operations }, () =>
        inParallel(pairs.length * CLIENTS_EACH, operations, async () => {
          const client = clients[(turn += 1) % clients.length];
          if (client) await lifecycle(client);
        }),
      );
    },
    leave() {
      for (const client of clients) client.close();
    },
  };
}
