/**
 * A failover of Redis loses its newest writes, an accepted answer among them: the question is open again, and the client is asked again.
 */
import type { Task } from "@parley/core";
import { describe, expect, test } from "vitest";
import { until } from "../../test/support/until.ts";
import { rpc, stream } from "./client.fixture.ts";
import { deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { held, offered } from "./tools.fixture.ts";

const alice = { action: "accept", content: { name: "Alice" } };
/** A tool that asks, and works after the answer until the test releases it. */
const sign = { name: "sign", arguments: {} };

/** A deployment whose tasks can return to an earlier state. */
async function failingOver() {
  const { fronts, services } = await deploy({ catalogue: offered });
  const wakes = new Set<() => void>();
  const { load } = services.store;
  const { watch } = services.wakeUps;
  let [before, newest] = [undefined as Task | undefined, undefined as Task | undefined];
  let isLost = false;
  services.store.load = async (taskId) => {
    newest = await load(taskId);
    return isLost ? before : newest;
  };
  services.wakeUps.watch = async (taskId, onChange) => {
    const wake = () => onChange(undefined as never);
    wakes.add(wake);
    return await watch(taskId, onChange);
  };
  // Listeners read again after every reconnect.
  const lookAgain = () => wakes.forEach((wake) => wake());
  return {
    front: fronts[0]!,
    asked: () => (before = newest),
    /** Resolves when the followers of the task have seen the answer. */
    answered: async () => {
      await until(async () => newest?.status === "working" && newest.revision > (before?.revision ?? Infinity));
    },
    lose() {
      isLost = true;
      lookAgain();
    },
    find() {
      isLost = false;
      lookAgain();
    },
  };
}

describe("a question whose accepted answer was lost", () => {
  test("is asked again on the stream of its call, with the same id, and the call ends", async () => {
    const { front, asked, answered, lose, find } = await failingOver();
    const client = await openSession(front);
    const calling = await client.stream(front, "tools/call", sign);
    const first = await calling.next();
    asked();
    expect((await client.reply(front, first.id, alice)).status).toBe(202);
    await answered();
    lose();
    expect(await calling.next()).toMatchObject({ id: first.id, method: "elicitation/create" });
    find();
    held.release();
    // It was asked again, and needs no second answer after all.
    expect(await calling.next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: first.id } });
    expect(await calling.next()).toMatchObject({ result: { content: [{ text: "signed by Alice" }] } });
  });

  test.each(["tasks/result", "the session's own stream"])("is asked again on %s", async (where) => {
    const { front, asked, answered, lose, find } = await failingOver();
    const client = await openSession(front);
    const own = where === "tasks/result" ? undefined : await client.listen(front);
    const { messages } = await client.request(front, "tools/call", { ...sign, task: {} });
    const taskId = messages.at(-1)?.result?.["task"]?.["taskId"];
    const asking = own ?? (await client.stream(front, "tasks/result", { taskId }));
    const question = async () => {
      for (;;) {
        const event = await asking.next();
        if (event.method === "elicitation/create") return event;
      }
    };
    const first = await question();
    asked();
    expect((await client.reply(front, first.id, alice)).status).toBe(202);
    await answered();
    lose();
    expect((await question()).id).toBe(first.id);
    find();
    held.release();
    asking.close();
  });

  test("is reported on a listen stream", async () => {
    const { front, asked, answered, lose, find } = await failingOver();
    const { result } = await rpc(front, "tools/call", sign);
    const taskId = result!["taskId"]!;
    const open = await stream(front, "subscriptions/listen", { notifications: { taskIds: [taskId] } });
    const followTo = async (status: string) => {
      while ((await open.next()).params!["status"] !== status);
    };
    await followTo("input_required");
    asked();
    await rpc(front, "tasks/update", { taskId, inputResponses: { who: alice } });
    await answered();
    await followTo("working");
    lose();
    await followTo("input_required");
    find();
    await followTo("working");
    held.release();
    await followTo("completed");
    open.close();
  });
});
