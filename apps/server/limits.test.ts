/** Limits of a front end that no other file tests, at the limit and one beyond. docs/limits.md lists all limits. */
import { catalogue, definePrompt, defineResource } from "@parley/sdk";
import { CompactEncrypt } from "jose";
import { describe, expect, test } from "vitest";
import { rpc, stream } from "./client.fixture.ts";
import { deploy, type Deploy, type Deployment, type Front } from "./deployment.fixture.ts";
import { requestStates } from "./seals/request-state.ts";
import { stateKeys } from "./seals/state-keys.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

async function one(request: Partial<Deploy> = {}): Promise<Deployment & Front> {
  const deployment = await deploy({ catalogue: offered, fronts: 1, ...request });
  return { ...deployment, ...deployment.fronts[0]! };
}

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => `name${index}`);

describe("one request", () => {
  test("has a limited number of answers", async () => {
    const here = await one({ settings: { repliesMax: 3 } });
    const { result } = await rpc(here, "tools/call", { name: "greet", arguments: {} });
    const taskId = result?.["taskId"];
    const answer = (count: number) =>
      rpc(here, "tasks/update", { taskId, inputResponses: Object.fromEntries(many(count).map((key) => [key, { action: "decline" }])) });
    expect((await answer(3)).error).toBeUndefined();
    expect((await answer(4)).error).toMatchObject({ code: -32602, data: { code: "TOO_MANY_ANSWERS" } });
  });

  test("has a limited number of messages", async () => {
    const here = await one({ limits: { batchMax: 3 } });
    const client = await openSession(here, { version: "2025-03-26" });
    const batch = (count: number) =>
      client.post(
        here,
        many(count).map((id) => ({ jsonrpc: "2.0", id, method: "ping" })),
      );
    expect((await batch(3)).status).toBe(200);
    const refused = await batch(4);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("PARLEY_BATCH_MAX")]);
  });

  test.each([
    ["taskIds", "PARLEY_LISTEN_TASKS_MAX"],
    ["resourceSubscriptions", "PARLEY_LISTEN_RESOURCES_MAX"],
  ])("follows a limited number of %s", async (kind, setting) => {
    const here = await one({ limits: { listenTasksMax: 3, listenResourcesMax: 3 } });
    const listening = await stream(here, "subscriptions/listen", { notifications: { [kind]: many(3) } });
    expect(await listening.next()).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
    listening.close();
    const refused = await rpc(here, "subscriptions/listen", { notifications: { [kind]: many(4) } });
    expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining(setting) as string });
  });

  test("carries a requestState of at most 16,384 characters", async () => {
    const keys = stateKeys(["a secret that is long enough to be one"]);
    const states = requestStates(keys);
    const bound = { principal: "ann", kind: "tool" as const, name: "greet", argumentsDigest: "digest" };
    const sealed = (length: number) =>
      states.seal({ ...bound, taskId: "0-task", asked: ["x".repeat(length)], deadlineMs: 1_000, expiresAtMs: 1_000 });
    let length = 12_000;
    const isSealed = async (chars: number) =>
      await sealed(chars).then(
        () => true,
        () => false,
      );
    while (await isSealed(length + 1)) length += 1;
    const longest = await sealed(length);
    expect(longest.length).toBeGreaterThan(16_380);
    expect(await states.open(longest, bound, 0)).toMatchObject({ taskId: "0-task" });
    await expect(sealed(length + 1)).rejects.toMatchObject({ code: "TOO_LARGE" });
    const { kid, key } = keys.sealing;
    const long = { ...bound, taskId: "0-task", asked: ["x".repeat(length + 1)], deadlineMs: 1_000, expiresAtMs: 1_000 };
    const tooLong = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(long)))
      .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid })
      .encrypt(key);
    await expect(states.open(tooLong, bound, 0)).rejects.toMatchObject({ code: "REQUEST_STATE_INVALID" });
  });

  test("is read, and completions are made, for a limited time", async () => {
    const never = () => new Promise<never>(() => undefined);
    const endless = catalogue([
      defineResource({ uri: "test://never", name: "never", read: never }),
      defineResource({ uri: "test://soon", name: "soon", read: () => "read" }),
      definePrompt({ name: "never", arguments: { to: { complete: never } }, run: () => "" }),
    ]);
    const here = await one({ catalogue: endless, times: { callTimeoutMs: 50 } });
    const read = await rpc(here, "resources/read", { uri: "test://never" });
    expect(read).toMatchObject({
      status: 200,
      error: { code: -32603, message: "reading the resource did not finish within 50 ms", data: { code: "CALL_TIMEOUT" } },
    });
    const completing = { ref: { type: "ref/prompt", name: "never" }, argument: { name: "to", value: "" } };
    const { error } = await rpc(here, "completion/complete", completing);
    expect(error).toMatchObject({ message: "completing the argument did not finish within 50 ms", data: { code: "CALL_TIMEOUT" } });
    expect((await rpc(here, "resources/read", { uri: "test://soon" })).result).toMatchObject({ contents: [{ text: "read" }] });
  });

  test("waits for the first question of a tool for a limited time, and then gets the task", async () => {
    const here = await one({ worker: false, times: { askFirstTimeoutMs: 200 } });
    const startedAtMs = performance.now();
    const { result } = await rpc(here, "tools/call", { name: "ask-first", arguments: {} });
    expect(result).toMatchObject({ resultType: "task", status: "working" });
    // Node's timers count from the start of their tick.
    expect(performance.now() - startedAtMs).toBeGreaterThan(150);
  });
});

describe("one session", () => {
  test("subscribes to a limited number of resources", async () => {
    const here = await one({ limits: { sessionSubscriptionsMax: 2 } });
    const client = await openSession(here);
    const subscribe = async (uri: string) => (await client.request(here, "resources/subscribe", { uri })).messages[0];
    expect([await subscribe("test://a"), await subscribe("test://b"), await subscribe("test://b")]).toMatchObject([
      { result: {} },
      { result: {} },
      { result: {} },
    ]);
    expect(await subscribe("test://c")).toMatchObject({ error: { data: { code: "TOO_MANY_SUBSCRIPTIONS" } } });
  });

  test("receives reports of a limited number of unfinished tasks, and the next one is logged", async () => {
    const here = await one({ limits: { sessionTasksMax: 2 } });
    const client = await openSession(here);
    const call = () => client.request(here, "tools/call", { name: "greet", arguments: {}, task: {} });
    const warnings = () => here.logged.filter(({ message }) => message.startsWith("session follows too many tasks"));
    await call();
    await call();
    expect(warnings()).toEqual([]);
    expect((await call()).messages[0]?.result).toHaveProperty("task");
    expect(warnings()).toHaveLength(1);
  });
});
