/**
 * The previous version and this one side by side on one Redis, under load, as docs/upgrading.md allows. The older one is a commit of the
 * history that runs with this version's dependencies.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Client, createClient } from "../../bench/client.ts";
import { ANSWER, ARGUMENTS, pollUntil } from "../../bench/lifecycle.ts";
import { checkOut, lackingHistory, type OtherVersion } from "../support/other-version.ts";
import { type FrontEnd, type Launched, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { type SharedRedis, startOwnRedis } from "../support/shared-redis.ts";
import { until } from "../support/until.ts";

/** The last release that an upgrade may come from. */
const BEFORE = "4c8a8d1";
const why = lackingHistory(BEFORE);

interface Version {
  readonly frontEnd: FrontEnd;
  readonly worker: Launched;
  readonly client: Client;
}

let before: OtherVersion | undefined;
let server: SharedRedis;
let env: Record<string, string>;

beforeAll(async () => {
  server = await startOwnRedis();
  env = { REDIS_URL: server.url, PARLEY_TOOLS: "./bench/tool.ts" };
  if (!why) before = await checkOut(BEFORE);
});

afterAll(async () => {
  await server.close();
  await before?.remove();
});

async function start(root?: string): Promise<Version> {
  const [frontEnd, worker] = await Promise.all([startFrontEnd(env, root), startWorkerProcess(env, undefined, root)]);
  return { frontEnd, worker, client: createClient(`${frontEnd.url}/mcp`, 20) };
}

async function stop({ frontEnd, worker, client }: Version): Promise<void> {
  client.close();
  expect(await Promise.all([frontEnd.stop(), worker.stop()])).toEqual([0, 0]);
}

/** One lifecycle, each request at the next of these front ends. */
async function wander(clients: readonly Client[], from: number): Promise<void> {
  let turn = from;
  const next = () => clients[(turn += 1) % clients.length]!;
  const { taskId } = await next().call("ask", ARGUMENTS);
  await pollUntil({ get: (id) => next().get(id) }, taskId, "input_required");
  await next().answer(taskId, ANSWER);
  const { result } = await pollUntil({ get: (id) => next().get(id) }, taskId, "completed");
  expect(result?.content?.[0]?.text).toBe("for 4");
}

describe(`the version before (${BEFORE}) and this one${why ? ` (skipped: ${why})` : ""}`, () => {
  test.skipIf(why)("serve each other's tasks side by side, and one takes over from the other under load, there and back", async () => {
    const root = before?.root;
    const old = await start(root);
    const young = await start();
    const both = [old.client, young.client];
    await Promise.all(Array.from({ length: 100 }, (_, from) => wander(both, from)));

    // What waits is asked under one version and answered under the other: an upgrade, and a rollback.
    const waiting = await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const { taskId } = await both[n % 2]!.call("ask", ARGUMENTS);
        return (await pollUntil(both[n % 2]!, taskId, "input_required")).taskId;
      }),
    );

    let isOver = false;
    let lifecycles = 0;
    const load = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!isOver) {
          await wander([young.client], 0);
          lifecycles += 1;
        }
      }),
    );
    await stop(old);
    const sofar = lifecycles;
    await until(() => lifecycles >= sofar + 40);
    await answerAll(young.client, waiting.slice(0, 20));

    const again = await start(root);
    isOver = true;
    await load;
    await stop(young);
    await answerAll(again.client, waiting.slice(20));
    await wander([again.client], 0);
    await stop(again);
  });

  test("can be distinguished in /healthz, by what clients receive, and in metrics", async () => {
    const frontEnd = await startFrontEnd({ ...env, PARLEY_METRICS_PORT: "0" });
    try {
      const { version } = (await (await fetch(`${frontEnd.url}/healthz`)).json()) as { version: string };
      expect(version).toMatch(/^\d+\.\d+\.\d+/);
      const operator = String(frontEnd.logs.find(({ msg }) => msg === "front end ready")!["operator"]);
      expect(await (await fetch(`${operator}/metrics`)).text()).toContain(`parley_build_info{version="${version}"`);
      const initialize = {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      };
      const response = await fetch(`${frontEnd.url}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify(initialize),
      });
      expect(await response.text()).toContain(`"version":"${version}"`);
    } finally {
      await frontEnd.stop();
    }
  });
});

async function answerAll(client: Client, taskIds: readonly string[]): Promise<void> {
  await Promise.all(
    taskIds.map(async (taskId) => {
      await client.answer(taskId, ANSWER);
      await pollUntil(client, taskId, "completed");
    }),
  );
}
