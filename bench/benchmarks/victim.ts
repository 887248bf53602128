/**
 * A quiet tenant's held calls beside each kind of flood of a noisy one, on one front end and one worker with their default places. The floor is
 * the same deployment a moment before, without the flood. A call is: `tools/call` on a stream, a question, an answer, the result.
 *
 * Every other call goes to a second deployment, with a Redis of its own, which the flood does not reach. It shares nothing with the first one but the
 * machine and the process that measures, so what a call takes longer there is CPU that the flood needs, and no turn that was taken wrongly.
 */
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { startIssuer } from "../../test/support/issuer.ts";
import type { Benchmark, Figures } from "../benchmark.ts";
import { type Client, createClient } from "../client.ts";
import { layGround } from "../ground.ts";
import { ANSWER, ARGUMENTS, pollUntil } from "../lifecycle.ts";
import { listen } from "../listener.ts";
import { inParallel, median, quantile } from "../measure.ts";
import { untilServed } from "../processes.ts";
import { blockingLifecycle, openSession, type Session } from "../session.ts";
import type { Stage } from "../stage.ts";
import { atMost, atMostOfFloor } from "../target.ts";

const PUBLIC_URL = "http://parley.example";
const CALLS = 400;
/** A call every so often: a caller in a loop would measure how much is left of a core. */
const EVERY_MS = 20;

interface Noise {
  /** The address of the MCP endpoint. */
  readonly url: string;
  readonly client: Client;
  readonly token: string;
}

interface Kind {
  readonly name: string;
  readonly what: string;
  /** Resolves when the flood is there, to what ends it. */
  flood(noise: Noise): Promise<() => void>;
}

const KINDS: readonly Kind[] = [
  {
    name: "running",
    what: "130 running tasks of 25 s",
    async flood({ client }) {
      await inParallel(20, 130, async () => void (await client.call("work", { ms: 25_000 })));
      await sleep(500);
      return () => undefined;
    },
  },
  {
    name: "answered",
    what: "80 answered tasks of a second, again and again",
    async flood({ client }) {
      let isOver = false;
      const rounds = async () => {
        while (!isOver) {
          const parked: string[] = [];
          await inParallel(20, 80, async () => {
            const { taskId } = await client.call("ask_and_work", { ms: 1_000 });
            await pollUntil(client, taskId, "input_required");
            parked.push(taskId);
          });
          await Promise.all(parked.map((taskId) => client.answer(taskId, ANSWER)));
        }
      };
      // What fails while the deployment ends is not measured.
      void rounds().catch(() => undefined);
      await sleep(1_500);
      return () => void (isOver = true);
    },
  },
  {
    name: "held",
    what: "900 held calls",
    async flood({ url, token }) {
      const sessions: Session[] = [];
      for (let each = 0; each < 9; each += 1) sessions.push(await openSession({ url, token }));
      for (const session of sessions) {
        let asked = 0;
        const { promise: allAsk, resolve } = Promise.withResolvers<void>();
        for (let call = 0; call < 100; call += 1) {
          session
            .request("tools/call", { name: "ask_when", arguments: ARGUMENTS }, () => void (++asked === 100 && resolve()))
            .catch(() => undefined);
        }
        await allAsk;
      }
      return () => sessions.forEach((session) => session.close());
    },
  },
  {
    name: "streams",
    what: "900 streams",
    async flood({ url, client, token }) {
      const { taskId } = await client.call("ask_and_work", { ms: 1_000 });
      const listeners = Array.from({ length: 900 }, () => listen(url, taskId, token));
      await Promise.all(listeners.map((listener) => listener.told("input_required")));
      return () => listeners.forEach((listener) => listener.close());
    },
  },
  {
    name: "events",
    what: "200 invalid events a second",
    async flood({ url, client }) {
      const { promise: told, resolve: tell } = Promise.withResolvers<string>();
      const listener = createServer((incoming, response) => {
        void text(incoming).then(tell);
        response.end();
      }).listen(0, "127.0.0.1");
      await once(listener, "listening");
      await client.call("await_event", { tell: `http://127.0.0.1:${(listener.address() as AddressInfo).port}` });
      const path = new URL(await told).pathname;
      listener.close();
      const agent = new Agent({ keepAlive: true, maxSockets: 10 });
      const report = setInterval(() => {
        const outgoing = request(new URL(path, url), { agent, method: "POST", headers: { "content-type": "application/json" } });
        outgoing.on("response", (incoming) => incoming.resume());
        outgoing.on("error", () => undefined);
        outgoing.end(JSON.stringify({ amount: "no number" }));
      }, 5);
      return () => {
        clearInterval(report);
        agent.destroy();
      };
    },
  },
];

/** The quotas of rates are none of what is measured. */
const SETTINGS = {
  PARLEY_AUTH: "required",
  PARLEY_AUTH_TENANT_CLAIM: "tenant",
  PARLEY_PUBLIC_URL: PUBLIC_URL,
  PARLEY_TOOLS: new URL("../flood-tools.ts", import.meta.url).pathname,
  PARLEY_QUOTA_CALLS: "1000000",
  PARLEY_QUOTA_READS: "1000000",
  PARLEY_QUOTA_SESSIONS: "1000000",
};

export const victims: readonly Benchmark[] = KINDS.map(({ name, what, flood }) => ({
  name: `victim-${name}`,
  group: `A quiet tenant's held call beside a noisy tenant's ${what} (floor: alone)`,
  rounds: 1,
  async open(stage) {
    const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
    const token = (tenant: string) => issuer.token({ sub: tenant, tenant, exp: Math.floor(Date.now() / 1_000) + 3_600 });
    const [flooded, apart] = [await deployed(issuer.url), await deployed(issuer.url)];
    const { url } = flooded;
    const noise: Noise = { url, client: createClient(url, 20, await token("noisy")), token: await token("noisy") };
    const quiet = await token("quiet");
    const [beside, elsewhere] = [await openSession({ url, token: quiet }), await openSession({ url: apart.url, token: quiet })];
    const measured = () => calls(stage, { beside, elsewhere });
    await measured(); // processes that have been up for a while
    let end: (() => void) | undefined;
    return {
      floor: measured,
      async parley() {
        end ??= await flood(noise);
        return await measured();
      },
      async close() {
        end?.();
        noise.client.close();
        for (const session of [beside, elsewhere]) session.close();
        for (const { close } of [flooded, apart]) await close();
        await issuer.close();
      },
    };
  },
  metrics: [
    { metric: "p50", figure: "p50", unit: "ms", target: atMostOfFloor(2) },
    { metric: "p99", figure: "p99", unit: "ms", target: atMostOfFloor(2) },
    { metric: "meanwhile at a deployment that the flood does not reach: p50", figure: "p50 elsewhere", unit: "ms" },
    { metric: "… p99", figure: "p99 elsewhere", unit: "ms" },
    { metric: "p99 : p99 there", figure: "p99 to elsewhere", unit: "", target: atMost(2, "") },
  ],
}));

async function deployed(issuers: string): Promise<{ readonly url: string; close(): Promise<unknown> }> {
  const { serve, close } = await layGround();
  try {
    const settings = { ...SETTINGS, PARLEY_AUTH_ISSUERS: issuers };
    const frontEnd = await serve({ args: ["apps/server/main.ts"], portName: "PARLEY_PORT", inspected: false, settings });
    const worker = await serve({ args: ["apps/worker/main.ts"], portName: "PARLEY_METRICS_PORT", inspected: false, settings });
    for (const { url } of [frontEnd, worker]) await untilServed(`${url}/readyz`);
    return { url: `${frontEnd.url}/mcp`, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Sessions {
  readonly beside: Session;
  readonly elsewhere: Session;
}

async function calls({ quick }: Stage, { beside, elsewhere }: Sessions): Promise<Figures> {
  const took = new Map<Session, number[]>([beside, elsewhere].map((session) => [session, []]));
  for (let call = 0; call < (quick ? CALLS / 2 : CALLS); call += 1) {
    for (const [session, times] of took) {
      const sentAt = performance.now();
      await blockingLifecycle(session, "ask_when", ARGUMENTS);
      times.push(performance.now() - sentAt);
      await sleep(EVERY_MS);
    }
  }
  const [here = [], there = []] = took.values();
  const [p99, p99There] = [quantile(here, 0.99), quantile(there, 0.99)];
  return { p50: median(here), p99, "p50 elsewhere": median(there), "p99 elsewhere": p99There, "p99 to elsewhere": p99 / p99There };
}
