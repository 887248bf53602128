/**
 * One task with many listeners at another replica: the time from the answer until the last listener has the result, and the memory of each
 * stream.
 */
import type { Benchmark, Metric } from "../benchmark.ts";
import { createClient } from "../client.ts";
import { publishLatencies } from "../floor/publish.ts";
import { liveHeapBytes } from "../heap.ts";
import { ANSWER, parked } from "../lifecycle.ts";
import { listen, type Listener } from "../listener.ts";
import { median } from "../measure.ts";
import type { Inspected } from "../ground.ts";
import { atMost } from "../target.ts";

const TOGETHER = 50;

const STREAM_METRICS: readonly Metric[] = [
  { metric: "live heap of the front end per stream, after a collection", figure: "heap", unit: "B", target: atMost(15_000, "B") },
  { metric: "resident memory of the front end per stream, the first time, sockets and garbage and all", figure: "resident", unit: "B" },
];

export const fanOuts: readonly Benchmark[] = [100, 1_000].map((listeners) => ({
  name: `fan-out-${listeners}`,
  group: `One task, ${listeners.toLocaleString("en")} listen streams on one front end`,
  async open({ quick, redisUrl, frontEnd, otherFrontEnd, floor }) {
    const client = createClient(`${frontEnd.url}/mcp`, 1);
    const times = quick ? 1 : 3;
    return {
      async floor() {
        const all = median(await publishLatencies(redisUrl, { count: times, listeners }));
        const { open, ...weight } = await openListeners(floor, { url: `${floor.url}/listen`, taskId: "", listeners });
        for (const listener of open) listener.close();
        return { all, ...weight };
      },
      async parley() {
        const took: number[] = [];
        const weights: Weight[] = [];
        for (let time = 0; time < times; time += 1) {
          const { taskId } = await parked(client);
          const { open, ...weight } = await openListeners(otherFrontEnd, { url: `${otherFrontEnd.url}/mcp`, taskId, listeners });
          weights.push(weight);
          const pushed = Promise.all(open.map((listener) => listener.told("completed")));
          const sentAt = performance.now();
          await Promise.all([client.answer(taskId, ANSWER), pushed]);
          took.push(performance.now() - sentAt);
          for (const listener of open) listener.close();
        }
        // Resident memory is not given back, so only the first time tells.
        return { all: median(took), heap: median(weights.map(({ heap }) => heap)), resident: weights[0]?.resident ?? Number.NaN };
      },
      close: async () => client.close(),
    };
  },
  metrics: [
    { metric: "answer → all hold the result (floor: PUBLISH → all connections have the message)", figure: "all", unit: "ms" },
    ...(listeners === 1_000 ? STREAM_METRICS : []),
  ],
}));

interface Weight {
  /** Bytes for each stream. */
  readonly heap: number;
  readonly resident: number;
}

async function openListeners(
  at: Inspected,
  { url, taskId, listeners }: { readonly url: string; readonly taskId: string; readonly listeners: number },
): Promise<Weight & { readonly open: readonly Listener[] }> {
  const memory = async () => ({ heap: await liveHeapBytes(at.inspectorPort), resident: at.memoryBytes() });
  const before = await memory();
  const open: Listener[] = [];
  while (open.length < listeners) {
    const more = Array.from({ length: Math.min(TOGETHER, listeners - open.length) }, () => listen(url, taskId));
    await Promise.all(more.map((listener) => listener.told("input_required")));
    open.push(...more);
  }
  const after = await memory();
  return { open, heap: (after.heap - before.heap) / listeners, resident: (after.resident - before.resident) / listeners };
}
