/** What somebody who reads Redis learns of questions while content is sealed: who called and when, and nobody else, and nothing of what anyone said. */
import { catalogue, defineTool } from "@parley/sdk";
import type { Redis } from "ioredis";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { aContentKey } from "../../test/contract/content-keys.ts";
import { keysOf, type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy, type Front } from "./deployment.fixture.ts";

const DAY_MS = 86_400_000;
const TO = { people: ["said-person"], groups: ["said-group"], roles: ["said-role"] };

const pay = defineTool({
  name: "pay",
  async run(_args, ctx) {
    const answer = await ctx.ask("it", {
      message: "said-question",
      schema: z.object({ word: z.string().meta({ title: "said-title" }) }),
      context: [{ type: "text", title: "said-heading", text: "said-context" }],
      to: TO,
      allow: ["delegate", "askBack"],
      escalate: { after: "1 day", to: { groups: ["said-leads"] } },
      timeout: "5 days",
    });
    return `said-result ${answer.action}`;
  },
});

const PEOPLE = Object.fromEntries(
  ["said-person", "said-bob", "said-deputy"].map((name) => [
    name,
    callerNamed(name, { names: [name], groups: name === "said-bob" ? TO.groups : [], displayName: "said-display" }),
  ]),
);

let redis: OpenRedis;
let front: Front;
let taskId: string;

async function begin(contentKeys?: string): Promise<void> {
  redis = await openRedis({
    partitions: 1,
    outbox: { lengthMax: 1_000, ageMs: DAY_MS },
    ...(contentKeys !== undefined && { contentKeys }),
  });
  const { fronts, services } = await deploy({
    catalogue: catalogue([pay]),
    fronts: 1,
    stored: redis,
    authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"])] ?? callerNamed("ann", { names: ["ann"] }),
  });
  [front] = fronts as [Front];
  const created = await rpc(front, "tools/call", { name: "pay", arguments: {} }, { principal: "ann" });
  taskId = String(created.result?.["taskId"]);
  await until(async () => (await services.store.load(taskId))?.asks.length === 1);
}

beforeEach(() => begin(aContentKey()));
afterEach(() => redis.close());

/** Does something with the question, as a person would. */
async function act(who: string, what: string, body: object = {}): Promise<void> {
  const url = new URL(`/api/v1/asks/${taskId}/it${what}`, front.url);
  const headers = { "x-principal": who, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  expect([response.status, what, await response.text()]).toEqual([200, what, expect.any(String)]);
}

test("no key and no value has the name of anybody who is asked, takes part or answers, or a word of what was said", async () => {
  expect(await wordsIn()).toEqual([]);
  await act("said-bob", "/claim", { minutes: 5 });
  await act("said-bob", "/comments", { text: "said-comment" });
  await act("said-bob", "/ask-back", { text: "said-back" });
  await act("ann", "/reply", { text: "said-reply" });
  await act("said-bob", "/snooze", { until: new Date(Date.now() + DAY_MS).toISOString() });
  await act("said-person", "/delegate", { to: { people: ["said-deputy"] }, reason: "said-reason" });
  expect(await wordsIn()).toEqual([]);
  await act("said-deputy", "", { action: "accept", content: { word: "said-word" } });
  await until(async () => (await redis.store.load(taskId))?.status === "completed");
  expect(await wordsIn()).toEqual([]);
});

test("without a key ring they are found", async () => {
  await redis.close();
  await begin();
  await act("said-bob", "/comments", { text: "said-comment" });
  const found = (await wordsIn()).join("\n");
  for (const word of ["said-question", "said-context", "said-person", "said-group", "said-comment"]) expect(found).toContain(word);
});

/** Each word that is found, with the type of its key and where it is. */
async function wordsIn(): Promise<readonly string[]> {
  const found = await Promise.all((await keysOf(redis.redis, redis.prefix)).map(async (key) => [key, await everything(redis.redis, key)]));
  return found.flatMap(([key = "", text = ""]) =>
    [...`${key} ${text}`.matchAll(/said-[a-z]+/g)].map(([word]) => `${word} in ${key.replaceAll(taskId, "<task>")}`),
  );
}

/** As text, also what is packed in values of the server's own. */
async function everything(client: Redis, key: string): Promise<string> {
  const read: Readonly<Record<string, () => Promise<unknown>>> = {
    string: () => client.get(key),
    hash: () => client.hgetall(key),
    list: () => client.lrange(key, 0, -1),
    set: () => client.smembers(key),
    zset: () => client.zrange(key, "0", "-1"),
    stream: () => client.xrange(key, "-", "+"),
  };
  return JSON.stringify(await read[await client.type(key)]?.());
}
