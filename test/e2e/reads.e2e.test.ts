/**
 * Handlers that read something outside ctx, on real workers that are killed: no effect takes the record of another one, and none is done under two keys
 * (docs/adr/0024-flow-name-and-order.md). Each worker has caches of its own, so every run awaits something else.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, type Client } from "../../bench/client.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";
import { kinds } from "./tools/reads.ts";

let deployment: Deployment;
let client: Client;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-reads-"));
  deployment = await startDeployment({
    tools: [join(import.meta.dirname, "tools/reads.ts")],
    env: { PARLEY_LEASE: "3s", PARLEY_RENEW_EVERY: "1s" },
  });
  client = createClient(deployment.url, 20);
});

afterAll(async () => {
  client.close();
  await deployment.close();
  await rm(directory, { recursive: true });
});

const ITEMS = ["ada", "bob", "cyd", "dan"];

/** Of each item: the keys under which it was done. */
async function keysOf(file: string, kind: string): Promise<Map<string, Set<string>>> {
  const keys = new Map<string, Set<string>>();
  for (const line of (await readFile(file, "utf8").catch(() => "")).split("\n")) {
    const [of, id = "", key = ""] = line.split(" ");
    if (of === kind) keys.set(id, (keys.get(id) ?? new Set()).add(key));
  }
  return keys;
}

async function replaceWorkers(from: { kill(): Promise<void> }[]) {
  await Promise.all(from.splice(0).map((worker) => worker.kill()));
  for (let count = 0; count < 2; count += 1) from.push(await deployment.addWorker());
}

describe.each(["accepts", "declines"] as const)(
  "the person %s, and workers are killed in the middle of their work and while tasks wait:",
  (how) => {
    const tasks = new Map<string, { readonly taskId: string; readonly file: string }>();

    beforeAll(async () => {
      const workers = [...deployment.workers];
      for (const kind of kinds) {
        const file = join(directory, `${how}-${kind}`);
        tasks.set(kind, { file, taskId: (await client.call("reads", { kind, file })).taskId });
      }
      // Some have begun, some are done, some wait for a place.
      await until(async () =>
        (await Promise.all(kinds.map((kind) => keysOf(tasks.get(kind)?.file ?? "", kind)))).some(({ size }) => size > 1),
      );
      await replaceWorkers(workers);
      for (const { taskId } of tasks.values()) await until(async () => (await client.get(taskId)).status !== "working");
      await replaceWorkers(workers);
      const answer = how === "accepts" ? { action: "accept", content: { value: true } } : { action: "decline" };
      for (const { taskId } of tasks.values())
        if ((await client.get(taskId)).status === "input_required") await client.answer(taskId, { ok: answer });
      await until(async () => (await keysOf(tasks.get("loop")?.file ?? "", how === "accepts" ? "loop" : "undo-loop")).size > 0);
      await replaceWorkers(workers);
    }, 120_000);

    test.each(kinds)("%s", async (kind) => {
      const { taskId = "", file = "" } = tasks.get(kind) ?? {};
      const ended = await until(async () => {
        const task = await client.get(taskId);
        return task.status === "working" ? undefined : task;
      });
      const charged = await keysOf(file, kind);
      expect([...charged.keys()].toSorted()).toEqual(ITEMS);
      // Each under one key, and each under another one.
      expect(new Set([...charged.values()].flatMap((keys) => [...keys])).size).toBe(ITEMS.length);
      if (how === "accepts") {
        expect(ended).toMatchObject({ status: "completed" });
        expect(ended.result?.content?.[0]?.text).toBe(ITEMS.map((id) => `receipt of ${id}`).join(", "));
        return;
      }
      const undone = async () => {
        const keys = await keysOf(file, `undo-${kind}`);
        return keys.size === ITEMS.length ? keys : undefined;
      };
      expect(new Set([...(await until(undone)).values()].flatMap((keys) => [...keys])).size).toBe(ITEMS.length);
    });
  },
);
