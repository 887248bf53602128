/** Asking back, and what workers make of the deadline. */
import { expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import { answerTask } from "./answer-task.ts";
import { askBack, replyToAsk } from "./join-thread.ts";
import { deployment, size, text } from "./run-task.fixture.ts";

const HOUR = 3_600_000;
const alice = callerNamed("alice");
const frida = callerNamed("frida", { groups: ["finance"] });

/** A question that is open for 10 hours. */
async function asking({ quorum }: { readonly quorum?: number } = {}) {
  const deployed = deployment(async (effects) => {
    const about = { allow: ["askBack", "pause"] } as const;
    const { action } = await effects.ask(
      "size",
      { ...size, about },
      { timeoutMs: 10 * HOUR, audience: { to: { groups: ["finance"] }, ...(quorum !== undefined && { quorum }) } },
    );
    return text(action);
  });
  deployed.stopClock();
  const taskId = await deployed.create();
  await deployed.work();
  const { services, sweep, work, skip } = deployed;
  const ref = { taskId, key: "size" };
  return {
    services,
    ref,
    back: async () => expect(await askBack(services, { ...ref, caller: frida, text: "Which?" })).toEqual({ type: "asked_back" }),
    reply: async () => expect(await replyToAsk(services, { ...ref, caller: alice, text: "This." })).toEqual({ type: "replied" }),
    /** Lets time pass hour by hour, and does whatever is due. Resolves to whether the question is open then. */
    async after(hours: number) {
      for (let hour = 0; hour < hours; hour += 1) {
        skip(HOUR);
        await sweep();
        await work();
      }
      return (await services.store.load(taskId))?.status === "input_required";
    },
  };
}

test("a question closes later by as long as nobody replied, and no sooner", async () => {
  const { back, reply, after } = await asking();
  expect(await after(8)).toBe(true);
  await back();
  // Its deadline was then.
  expect(await after(6)).toBe(true);
  await reply();
  expect(await after(1)).toBe(true);
  expect(await after(1)).toBe(false);
});

test("a question to which nobody replies closes all the same, when it has stood still as long as it was to be open", async () => {
  const { back, after } = await asking();
  expect(await after(1)).toBe(true);
  await back();
  expect(await after(18)).toBe(true);
  expect(await after(1)).toBe(false);
});

test("whoever has accepted cannot hold up the others by asking back, and those who are missing can", async () => {
  const { services, ref, back, after } = await asking({ quorum: 2 });
  const frank = callerNamed("frank", { groups: ["finance"] });
  const reply = { action: "accept", content: { n: 1 } };
  const { receipts } = await answerTask(services, { taskId: ref.taskId, caller: frank, replies: { size: reply } });
  expect(receipts.get("size")).toEqual({ type: "accepted", missing: 1 });
  const deadlineMs = async () => (await services.store.load(ref.taskId))?.asks[0]?.deadlineMs;
  const before = await deadlineMs();
  expect(await askBack(services, { ...ref, caller: frank, text: "Why?" })).toEqual({ type: "accepted" });
  expect(await deadlineMs()).toBe(before);
  await back();
  expect(await after(18)).toBe(true);
});
