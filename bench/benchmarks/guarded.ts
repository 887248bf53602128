/**
 * What identity and encryption add to a lifecycle: 50 clients, once with access tokens and once with encrypted content. The floor is the
 * same deployment without either.
 */
import { randomBytes } from "node:crypto";
import { startIssuer } from "../../test/support/issuer.ts";
import type { Benchmark, Figures } from "../benchmark.ts";
import { type Client, createClient } from "../client.ts";
import { cost } from "../cost.ts";
import { lifecycle, parked } from "../lifecycle.ts";
import { inParallel, median } from "../measure.ts";
import type { Pair, Stage } from "../stage.ts";
import { atMost, atMostOfFloor, type Target } from "../target.ts";

const CLIENTS = 50;
const LIFECYCLES = 1_500;
const PARKED = 100;
const PUBLIC_URL = "http://parley.example";
/** All clients are one caller here: its quotas are counted as ever, and never full. */
const ROOMY = {
  PARLEY_QUOTA_CALLS: "1000000",
  PARLEY_QUOTA_READS: "1000000",
  PARLEY_QUOTA_ANSWERS: "1000000",
  PARLEY_QUOTA_TASKS: "1000000",
};

interface Guard {
  readonly name: string;
  readonly what: string;
  readonly targets: { readonly cpu?: Target; readonly bytes?: Target };
  open(): Promise<{ readonly settings: Readonly<Record<string, string>>; readonly token?: string; close?(): Promise<void> }>;
}

const GUARDS: readonly Guard[] = [
  {
    name: "token-lifecycle",
    what: "with an access token",
    targets: { cpu: atMostOfFloor(1.1) },
    async open() {
      const issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
      return {
        settings: { ...ROOMY, PARLEY_AUTH: "required", PARLEY_AUTH_ISSUERS: issuer.url, PARLEY_PUBLIC_URL: PUBLIC_URL },
        token: await issuer.token({ exp: Math.floor(Date.now() / 1_000) + 3_600 }),
        close: () => issuer.close(),
      };
    },
  },
  {
    name: "sealed-lifecycle",
    what: "with content encrypted",
    targets: { cpu: atMostOfFloor(1.2), bytes: atMost(200, "B") },
    open: async () => ({ settings: { PARLEY_CONTENT_KEYS: randomBytes(32).toString("base64") } }),
  },
];

export const guardedLifecycles: readonly Benchmark[] = GUARDS.map(({ name, what, targets, open }) => ({
  name,
  group: `Lifecycle, ${CLIENTS} clients, ${what} (floor: without)`,
  async open(stage) {
    const { settings, token, close } = await open();
    const guarded = await startSide(stage, { ...settings, PARLEY_PREFIX: name }, token);
    const bare = await startSide(stage, { PARLEY_PREFIX: `${name}-floor` });
    for (const { client } of [guarded, bare]) await inParallel(CLIENTS, stage.some(1_000), () => lifecycle(client)); // processes that have been up for a while
    return {
      floor: () => measured(stage, bare),
      async parley() {
        const figures = await measured(stage, guarded);
        return { ...figures, moreBytes: (figures["parkedBytes"] ?? 0) - (await bytesOfParked(stage, bare)) };
      },
      async close() {
        guarded.client.close();
        bare.client.close();
        await close?.();
      },
    };
  },
  metrics: [
    { metric: "CPU of front end and worker", figure: "cpuMs", unit: "ms", ...(targets.cpu && { target: targets.cpu }) },
    { metric: "CPU of Redis", figure: "redisCpuMs", unit: "ms" },
    { metric: "p50", figure: "p50", unit: "ms" },
    { metric: "Redis memory per parked task", figure: "parkedBytes", unit: "B" },
    { metric: "more than without, per parked task", figure: "moreBytes", unit: "B", ...(targets.bytes && { target: targets.bytes }) },
  ],
}));

interface Side {
  readonly pair: Pair;
  readonly client: Client;
}

async function startSide(stage: Stage, settings: Readonly<Record<string, string>>, token?: string): Promise<Side> {
  const pair = await stage.startPair(settings);
  return { pair, client: createClient(`${pair.frontEnd.url}/mcp`, CLIENTS, token) };
}

async function measured(stage: Stage, { pair, client }: Side): Promise<Figures> {
  const { frontEnd, worker } = pair;
  const operations = stage.some(LIFECYCLES);
  let latencies: readonly number[] = [];
  const each = await cost({ redis: stage.redis, processes: { frontEnd, worker }, operations }, async () => {
    ({ latencies } = await inParallel(CLIENTS, operations, () => lifecycle(client)));
  });
  return { ...each, p50: median(latencies), parkedBytes: await bytesOfParked(stage, { pair, client }) };
}

/** What Redis says of the keys of each, which other work of the deployment does not reach. */
async function bytesOfParked({ redis, some }: Stage, { client }: Side): Promise<number> {
  const sizes: number[] = [];
  await inParallel(CLIENTS, some(PARKED), async () => {
    const { taskId } = await parked(client);
    const each = (await redis.keys(`*${taskId}*`)).map((key) => redis.memory("USAGE", key));
    sizes.push((await Promise.all(each)).reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0));
  });
  return median(sizes);
}
