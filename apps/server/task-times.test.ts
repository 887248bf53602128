/** How long a task is promised to be kept: every door names the same time until the task changes. */
import { describe, expect, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { rpc, stream } from "./client.fixture.ts";
import { deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

async function twoFronts() {
  const deployment = await deploy({ catalogue: offered });
  const [here, there] = deployment.fronts;
  if (!here || !there) throw new Error("two front ends are needed");
  return { ...deployment, here, there };
}

describe("ttlMs of a task that waits", () => {
  test("is the same in every read, at every front end, and in a notification, however much time passes", async () => {
    const { here, there, skip } = await twoFronts();
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} })).result!["taskId"]!;
    const read = async (front: typeof here) => (await rpc(front, "tasks/get", { taskId })).result!;
    await until(async () => (await read(here))["status"] === "input_required");
    const { ttlMs } = await read(here);
    expect(ttlMs).toBeGreaterThan(0);
    for (const front of [here, there, here]) {
      skip(10_000);
      expect((await read(front))["ttlMs"]).toBe(ttlMs);
    }
    const listening = await stream(there, "subscriptions/listen", { notifications: { taskIds: [taskId] } });
    await listening.next();
    expect((await listening.next()).params).toMatchObject({ taskId, ttlMs });
    listening.close();
  });

  test("is the same in every read of a session", async () => {
    const { here, there, skip } = await twoFronts();
    const client = await openSession(here);
    const taskId = (await client.request(here, "tools/call", { name: "greet", arguments: {}, task: {} })).messages.at(-1)!.result![
      "taskId"
    ]!;
    const ttl = async (front: typeof here) => (await client.request(front, "tasks/get", { taskId })).messages.at(-1)!.result!["ttl"];
    const first = await ttl(here);
    expect(first).toBeGreaterThan(0);
    for (const front of [there, here]) {
      skip(10_000);
      expect(await ttl(front)).toBe(first);
    }
  });
});

describe("the poll interval", () => {
  const MINUTE = 60_000;

  test("grows to a tenth of the wait, up to five minutes, and returns to a second when the task changes", async () => {
    const { here, there, skip } = await twoFronts();
    const taskId = (await rpc(here, "tools/call", { name: "greet", arguments: {} })).result!["taskId"]!;
    const read = async (front: typeof here) => (await rpc(front, "tasks/get", { taskId })).result!;
    await until(async () => (await read(here))["status"] === "input_required");
    expect((await read(here))["pollIntervalMs"]).toBe(1_000);
    const listening = await stream(there, "subscriptions/listen", { notifications: { taskIds: [taskId] } });
    await listening.next();
    await listening.next();

    skip(10 * MINUTE);
    expect((await read(there))["pollIntervalMs"]).toSatisfy((ms: number) => ms >= MINUTE && ms < MINUTE + 1_000);
    skip(24 * 60 * MINUTE);
    expect((await read(here))["pollIntervalMs"]).toBe(5 * MINUTE);

    await rpc(here, "tasks/update", { taskId, inputResponses: { who: { action: "accept", content: { name: "Ada" } } } });
    // A listener receives the new time with the change, a client that polls with its next read.
    expect((await listening.next()).params).toMatchObject({ taskId, pollIntervalMs: 1_000 });
    expect((await read(there))["pollIntervalMs"]).toBe(1_000);
    listening.close();
  });

  test("grows for the tasks of a session too, in their list as well", async () => {
    const { here, there, skip } = await twoFronts();
    const client = await openSession(here);
    const ask = async (front: typeof here, method: string, params: object) =>
      (await client.request(front, method, params)).messages.at(-1)!.result!;
    const { taskId } = await ask(here, "tools/call", { name: "greet", arguments: {}, task: {} });
    await until(async () => (await ask(here, "tasks/get", { taskId }))["status"] === "input_required");
    expect((await ask(here, "tasks/get", { taskId }))["pollInterval"]).toBe(1_000);
    skip(55 * MINUTE); // sessions end after an hour
    expect((await ask(there, "tasks/get", { taskId }))["pollInterval"]).toBe(5 * MINUTE);
    expect((await ask(there, "tasks/list", {}))["tasks"]).toEqual([expect.objectContaining({ taskId, pollInterval: 5 * MINUTE })]);
  });
});
