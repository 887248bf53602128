/**
 * What fifty models cost that call the poll tools in a tight loop, and what callers of another tenant and of the same one notice. Each model is a
 * caller of its own, or all are one. They run in a thread of their own, so that their work is not measured as the others' time.
 *
 *   REDIS_URL=redis://… node bench/models.ts
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { rpc } from "../apps/server/client.fixture.ts";
import type { Front } from "../apps/server/deployment.fixture.ts";

interface Looping {
  readonly url: string;
  /** A caller's token and a task of theirs, for each model. */
  readonly models: readonly { readonly token: string; readonly taskId: string }[];
  readonly tool: string;
  readonly args: "own task" | "no task" | "nothing";
}

const MODELS = 50;
const SECONDS = 8;
const PUBLIC_URL = "https://models.example";
const TICKS_PER_SECOND = 100;

async function call({ url, token }: { readonly url: string; readonly token: string }, name: string, args: object) {
  const headers = { authorization: `Bearer ${token}` };
  return await rpc({ url } as Front, "tools/call", { name, arguments: args }, { tasks: false, capabilities: {}, headers });
}

/** Never ends. */
async function loop({ url, models, tool, args }: Looping): Promise<void> {
  const count = { calls: 0, refused: 0 };
  parentPort?.on("message", () => parentPort?.postMessage({ ...count }));
  await Promise.all(
    models.map(async ({ token, taskId }) => {
      const given = args === "nothing" ? {} : { taskId: args === "own task" ? taskId : "0-none" };
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- as a model does
        const { status } = await call({ url, token }, tool, given);
        count.calls += 1;
        if (status === 429) count.refused += 1;
      }
    }),
  );
}

async function countOf(worker: Worker): Promise<{ readonly calls: number; readonly refused: number }> {
  const said = new Promise<{ calls: number; refused: number }>((resolve) => worker.once("message", resolve));
  worker.postMessage("count");
  return await said;
}

async function main(): Promise<void> {
  const { startDeployment } = await import("../test/support/deployment.ts");
  const { startIssuer } = await import("../test/support/issuer.ts");
  const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
  const deployment = await startDeployment({
    frontEnds: 1,
    workers: 1,
    tools: [join(import.meta.dirname, "../test/e2e/tools/every-kind.ts")],
    env: {
      PARLEY_AUTH: "required",
      PARLEY_AUTH_ISSUERS: issuer.url,
      PARLEY_PUBLIC_URL: PUBLIC_URL,
      PARLEY_AUTH_TENANT_CLAIM: "org",
    },
  });
  const { url } = deployment;
  const [frontEnd] = deployment.frontEnds;
  const tokenOf = async (sub: string, org: string) => await issuer.token({ sub, org, scope: "tools tasks asks" });
  const frontEndMs = () => {
    const fields = readFileSync(`/proc/${frontEnd?.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1_000;
  };
  const redisMs = async () => {
    const info = await deployment.redis.redis.info("cpu");
    const of = (name: string) => Number(new RegExp(`used_cpu_${name}:([\\d.]+)`).exec(info)?.[1]) * 1_000;
    return of("sys") + of("user");
  };
  const [other, colleague] = [await tokenOf("other", "others"), await tokenOf("colleague", "models")];
  const apart = await Promise.all(
    Array.from({ length: MODELS }, async (_, index) => {
      const token = await tokenOf(`model-${index}`, "models");
      const { result } = await call({ url, token }, "form", {});
      const [, taskId = ""] = /taskId "([^"]+)"/.exec(JSON.stringify(result).replaceAll("\\", "")) ?? [];
      return { token, taskId };
    }),
  );
  const together = apart.flatMap(() => apart.slice(0, 1));
  const loops = [
    ["nobody polls", [], "", "nothing"],
    ["50 callers: `parley_task` without `seen`", apart, "parley_task", "own task"],
    ["50 callers: `parley_task` of a task that does not exist", apart, "parley_task", "no task"],
    ["50 callers: `parley_asks`", apart, "parley_asks", "nothing"],
    ["one caller 50 times: `parley_asks`", together, "parley_asks", "nothing"],
    ["one caller 50 times: `parley_task` without `seen`", together, "parley_task", "own task"],
  ] as const;
  console.log(
    "| the models | calls per second | of them refused | CPU of the front end | CPU of Redis | a call of another tenant, p50 (p99) | calls of the same tenant refused |",
  );
  console.log("|---|---|---|---|---|---|---|");
  for (const [what, models, tool, args] of loops) {
    const worker = new Worker(new URL(import.meta.url), { workerData: { url, models, tool, args } satisfies Looping });
    await sleep(3_000);
    const [startMs, frontBefore, redisBefore, before] = [performance.now(), frontEndMs(), await redisMs(), await countOf(worker)];
    const took: number[] = [];
    let denied = 0;
    while (performance.now() - startMs < SECONDS * 1_000) {
      const sentMs = performance.now();
      const { error } = await call({ url, token: other }, "folders", {});
      if (error) throw new Error(`the other tenant was refused: ${error.message}`);
      took.push(performance.now() - sentMs);
      if ((await call({ url, token: colleague }, "folders", {})).status === 429) denied += 1;
      await sleep(50);
    }
    const ms = performance.now() - startMs;
    const [front, store, after] = [frontEndMs() - frontBefore, (await redisMs()) - redisBefore, await countOf(worker)];
    await worker.terminate();
    const rates = [after.calls - before.calls, after.refused - before.refused].map((count) => Math.round((count / ms) * 1_000));
    took.sort((one, next) => one - next);
    const at = (part: number) => `${(took[Math.floor(took.length * part)] ?? 0).toFixed(1)} ms`;
    const percent = (share: number) => `${Math.round(share * 100)} %`;
    const cells = [what, ...rates, percent(front / ms), percent(store / ms), `${at(0.5)} (${at(0.99)})`, percent(denied / took.length)];
    console.log(`| ${cells.join(" | ")} |`);
    // Requests that the thread left behind end meanwhile.
    await sleep(3_000);
  }
  await deployment.close();
  await issuer.close();
}

await (isMainThread ? main() : loop(workerData as Looping));
