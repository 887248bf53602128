/** Modules, which tools of a worker share: started before its first run, stopped after its last, and on no front end. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";

const tools = [join(import.meta.dirname, "tools/pool.ts")];

test("a module is started by workers alone, and closed when they drain", async () => {
  const directory = await mkdtemp(join(tmpdir(), "parley-modules-"));
  const log = join(directory, "log");
  const lines = async () => (await readFile(log, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
  const deployment = await startDeployment({ frontEnds: 1, workers: 0, tools, env: { POOL_LOG: log } });
  const client = createClient(deployment.url, 1);
  try {
    expect(await lines()).toEqual([]);
    const worker = await deployment.addWorker();
    expect(await lines()).toEqual(["started"]);
    const { taskId } = await client.call("query", {});
    await until(async () => (await client.get(taskId)).status === "completed");
    expect(await worker.stop()).toBe(0);
    expect(await lines()).toEqual(["started", "queried", "stopped"]);
  } finally {
    client.close();
    await deployment.close();
    await rm(directory, { recursive: true });
  }
});

test("a module that does not start ends the start of its worker with one sentence", async () => {
  const deployment = await startDeployment({ frontEnds: 1, workers: 0, tools, env: { POOL_FAILS: "1", POOL_LOG: "unused" } });
  try {
    await expect(deployment.addWorker()).rejects.toThrow('the module \\"pool\\" did not start: connect ECONNREFUSED 10.0.0.1:5432"');
  } finally {
    await deployment.close();
  }
});
