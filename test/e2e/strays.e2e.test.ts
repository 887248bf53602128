/** Errors that code of authors leaves behind outside of runs end neither its process nor the calls and streams of others (I12). */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, message } from "../../bench/client.ts";
import { startParley } from "../support/parley.ts";
import { type FrontEnd, startFrontEnd, startWorkerProcess } from "../support/processes.ts";
import { openTestRedis, type TestRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

const TOOLS = join(import.meta.dirname, "tools/strays.ts");

let redis: TestRedis;
let front: FrontEnd;
beforeAll(async () => {
  redis = openTestRedis();
  front = await startFrontEnd({ REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_TOOLS: TOOLS });
});
afterAll(async () => {
  await front?.stop();
  await redis?.close();
});

async function ask(url: string, method: string, params: Readonly<Record<string, unknown>>, name = ""): Promise<unknown> {
  const { headers, body } = message(method, params, name);
  const response = await fetch(url, { method: "POST", headers, body });
  return ((await response.json()) as { result?: unknown }).result;
}

test.each(["thrown", "rejected"])(
  "what is %s by resources, completions and schemas is logged, and the front end continues",
  async (how) => {
    const url = `${front.url}/mcp`;
    const uris = [`test://${how}`, `test://${how}/1`];
    for (const uri of uris) expect(await ask(url, "resources/read", { uri }, uri)).toMatchObject({ contents: [{ uri }] });
    const completing = { ref: { type: "ref/prompt", name: how }, argument: { name: "to", value: "" } };
    expect(await ask(url, "completion/complete", completing)).toMatchObject({ completion: { values: ["Ada"] } });
    expect(await ask(url, "tools/call", { name: how, arguments: { to: "Ada" } }, how)).toMatchObject({ resultType: "task" });

    const text = how === "thrown" ? "thrown later" : "rejected unseen";
    const places = () => new Set(front.logs.filter(({ detail }) => detail === text).map(({ from }) => from));
    await until(() => places().size === 4);
    expect([...places()].toSorted()).toEqual([
      `prompt ${how}`,
      `resource template test://${how}/{id}`,
      `resource test://${how}`,
      `tool ${how}`,
    ]);
    expect(await ask(url, "server/discover", {})).toMatchObject({ resultType: "complete" });
  },
);

test("what is thrown by the limit of a tool, and by its schema as it restarts, does not end the worker", async () => {
  const worker = await startWorkerProcess({ REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_TOOLS: TOOLS });
  const client = createClient(`${front.url}/mcp`, 1);
  try {
    const { taskId } = await client.call("starts", { round: 1 });
    const ended = await until(async () => ((await client.get(taskId)).status === "completed" ? await client.get(taskId) : undefined));
    expect(ended.result?.content?.[0]?.text).toBe("done");
    await until(() => worker.logs.some(({ from, detail }) => from === "tool starts" && detail === "thrown later"));
    expect(worker.logs.map(({ msg }) => msg)).not.toContain("worker draining");
  } finally {
    client.close();
    await worker.stop();
  }
});

test("nor does it end the one process of `parley start`", async () => {
  const { url, kill } = await startParley(["--tools", TOOLS], { env: { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix } });
  try {
    const uri = "test://thrown";
    for (let time = 0; time < 3; time += 1) {
      expect(await ask(url, "resources/read", { uri }, uri)).toMatchObject({ contents: [{ text: "read" }] });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  } finally {
    await kill();
  }
});
