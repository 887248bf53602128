/** Changes the run queue as a network, an operator or a lost write could: jobs arrive twice, late, out of order, or never. */
import { connectRedis } from "@parley/redis";
import type { Random } from "./random.ts";
import { until } from "../support/until.ts";
import type { System } from "./system.ts";

export interface Meddler {
  /** Adds runs of these tasks anew: old ones, the present one, and one that is not due yet. */
  repeatJobs(taskIds: readonly (string | undefined)[], random: Random): Promise<boolean>;
  /** Takes waiting jobs away, as if they had never been added. */
  loseJobs(count: number): Promise<boolean>;
  close(): Promise<void>;
}

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

export async function openMeddler({ topology, prefix, partitions }: System): Promise<Meddler> {
  const { url } = topology;
  const backend = await until(() => connectRedis({ url, prefix, partitions, commandTimeoutMs: 1_000 }, { log: silent }));
  const nodes = await topology.open();
  for (const node of nodes) node.on("error", () => undefined); // broken on purpose

  return {
    async repeatJobs(taskIds, random) {
      const known = taskIds.flatMap((taskId) => (taskId === undefined ? [] : [taskId]));
      const added = known.map((taskId) => backend.queue.add({ taskId, run: random.between(1, 4) }));
      return (await Promise.allSettled(added)).some(({ status }) => status === "fulfilled");
    },
    async loseJobs(count) {
      let lost = 0;
      for (const node of nodes) {
        for (let partition = 0; partition < partitions; partition += 1) {
          const queue = `${prefix}:{p${partition}}:run`;
          // A key of another node's is refused, and a server that is away has nothing to lose.
          const answered = (await node.lpop(`${queue}:wait`, count).catch(() => null)) ?? [];
          const created = (await node.zpopmin(`${queue}:prioritized`, count).catch(() => [])).filter((_, index) => index % 2 === 0);
          const ids = [...answered, ...created];
          await Promise.all(ids.map((id) => node.del(`${queue}:${id}`).catch(() => 0)));
          lost += ids.length;
        }
      }
      return lost > 0;
    },
    async close() {
      for (const node of nodes) node.disconnect();
      await backend.close();
    },
  };
}
