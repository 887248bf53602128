/**
 * What subscriptions to events by webhook cost: one caller has none, one, a hundred, a thousand of them. How many commands Redis executes while nothing
 * happens, and whether the lifecycles of another caller take longer beside them, also while every second something happens of which all of them hear.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { rpc } from "../../apps/server/client.fixture.ts";
import type { Front } from "../../apps/server/deployment.fixture.ts";
import { startIssuer } from "../../test/support/issuer.ts";
import type { Benchmark, Metric } from "../benchmark.ts";
import { createClient } from "../client.ts";
import { redisStatistics } from "../cost.ts";
import { layGround } from "../ground.ts";
import { lifecycle } from "../lifecycle.ts";
import { inParallel, median, quantile } from "../measure.ts";
import { untilServed } from "../processes.ts";
import { atMost } from "../target.ts";

const PUBLIC_URL = "http://parley.example";
const COUNTS = [0, 1, 100, 1_000] as const;
const QUIET_MS = 10_000;
/** Longer than a worker takes to see what was subscribed to, and to let go of what is over. */
const SETTLE_MS = 6_000;
const CLIENTS = 4;
const LIVES = 3_000;
const SECRET = `whsec_${randomBytes(32).toString("base64")}`;

export const subscriptions: Benchmark = {
  name: "subscriptions",
  group: "Subscriptions to events of one caller, and the lifecycles of another",
  rounds: 1,
  async open({ some }) {
    const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
    const { redis, serve, close } = await layGround();
    const settings = {
      PARLEY_TOOLS: new URL("../tool.ts", import.meta.url).pathname,
      PARLEY_OUTBOX: "true",
      PARLEY_SUBSCRIPTIONS_PRIVATE: "true",
      PARLEY_PUBLIC_URL: PUBLIC_URL,
    };
    const frontEnd = await serve({
      args: ["apps/server/main.ts"],
      portName: "PARLEY_PORT",
      inspected: false,
      settings: {
        ...settings,
        PARLEY_AUTH: "required",
        PARLEY_AUTH_ISSUERS: issuer.url,
        PARLEY_QUOTA_SUBSCRIPTIONS: "1000",
        ...Object.fromEntries(["READS", "ANSWERS", "CALLS"].map((quota) => [`PARLEY_QUOTA_${quota}`, "1000000"])),
      },
    });
    const worker = await serve({ args: ["apps/worker/main.ts"], portName: "NO_PORT", inspected: false, settings });
    await untilServed(`${frontEnd.url}/readyz`);
    const exp = Math.floor(Date.now() / 1_000) + 7_200;
    const [hearing, working] = await Promise.all(["hearing", "working"].map((sub) => issuer.token({ sub, exp })));
    const own = createClient(`${frontEnd.url}/mcp`, 1, hearing);
    const other = createClient(`${frontEnd.url}/mcp`, CLIENTS, working);

    let taken = 0;
    const receiver = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (part: string) => (text += part));
      request.on("end", () => {
        const { type, challenge } = JSON.parse(text) as { type?: string; challenge?: string };
        if (type === undefined) taken += 1;
        response.end(JSON.stringify({ challenge }));
      });
    });
    await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
    const { port } = receiver.address() as AddressInfo;

    const send = async (method: string, index: number) => {
      const delivery = { mode: "webhook", url: `http://127.0.0.1:${port}/${index}`, secret: SECRET };
      const params = { name: "task.ended", arguments: {}, delivery, ttlMs: 3_600_000 };
      const { error } = await rpc({ url: `${frontEnd.url}/mcp` } as Front, method, params, {
        headers: { authorization: `Bearer ${hearing}` },
      });
      if (error) throw new Error(`${method} was refused: ${error.message}`);
    };

    let subscribed = 0;
    async function subscribe(count: number): Promise<void> {
      const [low, high] = [Math.min(count, subscribed), Math.max(count, subscribed)];
      const method = count > subscribed ? "events/subscribe" : "events/unsubscribe";
      let next = low;
      await inParallel(8, high - low, async () => await send(method, (next += 1)));
      subscribed = count;
      await sleep(SETTLE_MS);
    }

    async function latencies(): Promise<readonly number[]> {
      return (await inParallel(CLIENTS, some(LIVES), () => lifecycle(other))).latencies;
    }

    await latencies(); // processes that have been up for a while
    return {
      async parley() {
        const figures: Record<string, number> = {};
        const byCount: Record<number, readonly number[]> = {};
        for (const count of COUNTS) {
          await subscribe(some(count));
          const before = { ...(await redisStatistics(redis)), worker: worker.cpuMs() };
          await sleep(QUIET_MS);
          const after = { ...(await redisStatistics(redis)), worker: worker.cpuMs() };
          figures[`commands@${count}`] = ((after.commands - before.commands) * 1_000) / QUIET_MS;
          figures[`redis@${count}`] = (100 * (after.redisCpuMs - before.redisCpuMs)) / QUIET_MS;
          figures[`worker@${count}`] = (100 * (after.worker - before.worker)) / QUIET_MS;
          byCount[count] = await latencies();
          if (count !== COUNTS.at(-1)) continue;
          const heardBefore = taken;
          let isOver = false;
          const heard = (async () => {
            let ended = 0;
            for (; !isOver; ended += 1) await Promise.all([lifecycle(own), sleep(1_000)]);
            return ended;
          })();
          const busy = await latencies();
          isOver = true;
          const expected = (await heard) * subscribed;
          while (taken - heardBefore < expected) await sleep(50);
          figures["p50 busy"] = median(busy);
          figures["p99 busy"] = quantile(busy, 0.99);
        }
        await subscribe(0);
        // Before and after all others, since other load on the machine comes and goes.
        byCount[0] = [...(byCount[0] ?? []), ...(await latencies())];
        for (const count of COUNTS) {
          figures[`p50@${count}`] = median(byCount[count] ?? []);
          figures[`p99@${count}`] = quantile(byCount[count] ?? [], 0.99);
          figures[`p99 to none@${count}`] = (figures[`p99@${count}`] ?? Number.NaN) / (figures["p99@0"] ?? Number.NaN);
        }
        return figures;
      },
      async close() {
        own.close();
        other.close();
        receiver.closeAllConnections();
        await new Promise((closed) => receiver.close(closed));
        await close();
        await issuer.close();
      },
    };
  },
  metrics: [
    ...COUNTS.flatMap((count): Metric[] => [
      { metric: `${count} subscriptions, nothing happens: Redis commands a second`, figure: `commands@${count}`, unit: "/s" },
      { metric: `${count} subscriptions, nothing happens: CPU of Redis`, figure: `redis@${count}`, unit: "%" },
      { metric: `${count} subscriptions, nothing happens: CPU of the worker`, figure: `worker@${count}`, unit: "%" },
      { metric: `another caller's lifecycle beside ${count} subscriptions, p50`, figure: `p50@${count}`, unit: "ms" },
      { metric: `another caller's lifecycle beside ${count} subscriptions, p99`, figure: `p99@${count}`, unit: "ms" },
      ...(count === 0
        ? []
        : [
            {
              metric: `p99 beside ${count} subscriptions : beside none`,
              figure: `p99 to none@${count}`,
              unit: "",
              ...(count === 1_000 && { target: atMost(1.1, "") }),
            },
          ]),
    ]),
    { metric: "the same while a task of the subscriber ends every second, and a thousand are posted: p50", figure: "p50 busy", unit: "ms" },
    { metric: "… p99", figure: "p99 busy", unit: "ms" },
  ],
};
