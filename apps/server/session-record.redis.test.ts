/** How much a client can make Redis hold for its session: every door is tried repeatedly, with as much as it accepts. */
import { catalogue, defineTool } from "@parley/sdk";
import { expect, test } from "vitest";
import { z } from "zod";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { createKeys } from "../../packages/redis/keys.ts";
import { until } from "../../test/support/until.ts";
import { deploy, type Front } from "./deployment.fixture.ts";
import { openSession, type SessionClient } from "./session-client.fixture.ts";

const LIMITS = { sessionTasksMax: 4, sessionSubscriptionsMax: 5, sessionWaitsMax: 6 };
const MANY = 20;
const LARGE = "☃".repeat(100_000);

const person = z.object({ name: z.string().min(1) });
const tools = catalogue([
  defineTool({ name: "greet", run: async (_args, ctx) => (await ctx.elicit("who", { message: "Who?", schema: person })).name }),
  defineTool({
    name: "interview",
    async run(_args, ctx) {
      for (let i = 0; i <= MANY; i += 1) await ctx.ask("next", { message: String(i), schema: person });
      return "done";
    },
  }),
  defineTool({ name: "echo", run: () => "done" }),
]);

interface Attack {
  readonly client: SessionClient;
  readonly a: Front;
  readonly b: Front;
}

const times = async (work: (index: number) => Promise<unknown>): Promise<void> => {
  for (let index = 0; index < MANY; index += 1) await work(index);
};
const accept = { action: "accept", content: { name: "Ann" } };
const longId = (index: number) => `${index}`.padEnd(1_024, "\u0001");

/** By the kind of field that they create. */
const DOORS: Readonly<Record<string, (attack: Attack) => Promise<unknown>>> = {
  async "asked:"({ client, a, b }) {
    await client.request(a, "tools/call", { name: "interview", arguments: {}, task: {} });
    const own = await client.listen(b);
    for (let answered = 0; answered < MANY;) {
      const { id, method } = await own.next();
      if (method !== "elicitation/create") continue;
      await client.reply(a, id, { action: "accept", content: { name: "" } });
      await client.reply(a, id, accept);
      answered += 1;
    }
    own.close();
  },
  async level({ client, a }) {
    await times((index) => client.request(a, "logging/setLevel", { level: index % 2 === 0 ? "debug" : LARGE }));
  },
  async "uri:"({ client, a, b }) {
    await times((index) => client.request(a, "resources/subscribe", { uri: `${index}${LARGE}` }));
    await times((index) => client.request(b, "resources/subscribe", { uri: `${index}`.padEnd(2_048, "☃") }));
    await times((index) => client.request(b, "resources/unsubscribe", { uri: `${index}` }));
  },
  async "task:"({ client, a, b }) {
    await times((index) => client.request(index % 2 === 0 ? a : b, "tools/call", { name: "echo", arguments: {}, task: {} }));
    await times((index) => client.request(index % 2 === 0 ? a : b, "tools/call", { name: "greet", arguments: {}, task: {} }));
    await times(() => client.request(a, "tools/call", { name: "greet", arguments: LARGE, task: {} }));
    await times((index) => client.request(a, "tools/call", { name: "greet", arguments: {}, task: { ttl: `${index}` } }));
    await times((index) => client.request(b, "tasks/get", { taskId: `0-${index}${LARGE}` }));
  },
  async "call:"({ client, a, b }) {
    await times((index) => client.request(a, "tools/call", { name: "echo", arguments: {} }, longId(index)));
    await times((index) => client.request(a, "tools/call", { name: "nothing" }, longId(index)));
    await times((index) => client.request(a, "tools/call", { name: "greet", _meta: { progressToken: LARGE } }, index));
    await times(async (index) => {
      // The client disconnects at once, so no stream removes the calls.
      const params = { name: "greet", arguments: {}, _meta: { progressToken: "☃".repeat(128) } };
      const call = await client.stream(index % 2 === 0 ? a : b, "tools/call", params, longId(index));
      call.close();
    });
  },
  async "stream:"({ client, a, b }) {
    await times(async (index) => (await client.listen(index % 2 === 0 ? a : b)).close());
    const { messages } = await client.request(a, "tasks/list");
    const taskId = messages[0]?.result?.["tasks"]?.[0]?.["taskId"];
    await times(async (index) => await client.stream(index % 2 === 0 ? a : b, "tasks/result", { taskId }, longId(index)));
  },
};

async function attacked(redis: OpenRedis): Promise<Attack & { readonly fields: () => Promise<Record<string, string>> }> {
  const { fronts } = await deploy({ catalogue: tools, limits: LIMITS, sessions: redis.sessions });
  const [a, b] = fronts;
  if (!a || !b) throw new Error("two front ends are needed");
  const client = await openSession(a, {
    clientInfo: { name: LARGE, version: LARGE },
    capabilities: { elicitation: {}, experimental: { LARGE } },
  });
  const key = createKeys(redis.prefix).session(client.sessionId) ?? "";
  return { client, a, b, fields: () => redis.redis.hgetall(key) };
}

function countOf(fields: Record<string, string>, kind: string): number {
  return Object.keys(fields).filter((field) => field.startsWith(kind)).length;
}

test("a session holds a limited number of fields of each kind, and no long ones, regardless of what its client sends", async () => {
  const redis = await openRedis();
  try {
    const attack = await attacked(redis);
    for (const [kind, door] of Object.entries(DOORS)) {
      await door(attack);
      // Proves that the doors work: each creates at least one field of its kind.
      expect([kind, countOf(await attack.fields(), kind)]).toEqual([kind, expect.toSatisfy((count: number) => count > 0)]);
    }
    await until(() => attack.a.waiting <= LIMITS.sessionWaitsMax + 1);

    const fields = await attack.fields();
    const kinds = new Set(Object.keys(fields).map((field) => /^\w+:?/.exec(field)?.[0]));
    expect(kinds).toEqual(new Set(["session", ...Object.keys(DOORS)]));
    expect(countOf(fields, "uri:")).toBeLessThanOrEqual(LIMITS.sessionSubscriptionsMax);
    expect(countOf(fields, "task:")).toBeLessThanOrEqual(LIMITS.sessionTasksMax);
    expect(countOf(fields, "call:")).toBeLessThanOrEqual(LIMITS.sessionWaitsMax);
    expect(countOf(fields, "stream:")).toBeLessThanOrEqual(LIMITS.sessionWaitsMax + 1);
    // One field for each open question of an unfinished task; hold-stream.test.ts tests their limit.
    expect(countOf(fields, "asked:")).toBeLessThanOrEqual(LIMITS.sessionTasksMax + MANY + 1);
    for (const [field, value] of Object.entries(fields)) {
      const most = field.startsWith("uri:") ? 2_048 + 4 : field === "session" ? 300 : 200;
      expect([field.slice(0, 50), field.length + value.length]).toEqual([
        field.slice(0, 50),
        expect.toSatisfy((length: number) => length <= most),
      ]);
    }
  } finally {
    await redis.close();
  }
});
