/** An answer at one front end; the result is pushed by another one to a client that listens there. The floor is PUBLISH → message. */
import type { Benchmark } from "../benchmark.ts";
import { createClient } from "../client.ts";
import { publishLatencies } from "../floor/publish.ts";
import { ANSWER, parked } from "../lifecycle.ts";
import { listen } from "../listener.ts";
import { inParallel, median, quantile } from "../measure.ts";
import { atMost } from "../target.ts";

export const pushes: readonly Benchmark[] = [1, 50].map((clients) => ({
  name: `push-${clients}`,
  group: `Answer → result pushed by another replica, ${clients} client${clients === 1 ? "" : "s"}`,
  async open({ some, redisUrl, frontEnd, otherFrontEnd }) {
    const count = some(clients === 1 ? 200 : 1_000);
    const client = createClient(`${frontEnd.url}/mcp`, clients);
    return {
      ...(clients === 1 && {
        floor: async () => quantiles(await publishLatencies(redisUrl, { count, listeners: 1 })),
      }),
      async parley() {
        const took: number[] = [];
        await inParallel(clients, count, async () => {
          const { taskId } = await parked(client);
          const listener = listen(`${otherFrontEnd.url}/mcp`, taskId);
          await listener.told("input_required");
          const pushed = listener.told("completed");
          const sentAt = performance.now();
          await Promise.all([client.answer(taskId, ANSWER), pushed]);
          took.push(performance.now() - sentAt);
          listener.close();
        });
        return quantiles(took);
      },
      close: async () => client.close(),
    };
  },
  metrics: [
    { metric: "p50", figure: "p50", unit: "ms", ...(clients === 1 && { target: atMost(6, "ms") }) },
    { metric: "p99", figure: "p99", unit: "ms", target: atMost(60, "ms") },
  ],
}));

function quantiles(took: readonly number[]) {
  return { p50: median(took), p99: quantile(took, 0.99) };
}
