import { describe, expect, test } from "vitest";
import { callerNamed } from "../callers/caller.fixture.ts";
import type { Caller } from "../callers/caller.ts";
import { answerTask } from "./answer-task.ts";
import { cancelTask } from "./cancel-task.ts";
import { anAsk, bob, inMemory } from "./in-memory.fixture.ts";
import { listAnswered } from "./list-answered.ts";

const finance = { to: { groups: ["finance"] } };
const frida = callerNamed("frida", { groups: ["finance"] });

async function answering() {
  const { services, put } = inMemory();
  const answer = async (caller: Caller, taskId: string, key: string, door = "2026-07-28 tasks/update") =>
    (await answerTask(services, { taskId, caller, door, replies: { [key]: { action: "decline" } } })).receipts.get(key)?.type;
  const answered = async (caller: Caller) =>
    (await listAnswered(services, { caller, limit: 10 })).answered.map(({ ask }) => [
      ask.taskId,
      ask.key,
      ask.state === "settled" ? ask.end : ask.state,
    ]);
  return { services, put, answer, answered };
}

describe("a list of what a person has answered", () => {
  test("has what others' tasks asked them, also when the task is over and they have left the group, and nobody else's answers", async () => {
    const { services, put, answer, answered } = await answering();
    const first = await put([anAsk("approve", { audience: finance })]);
    const second = await put([anAsk("approve", { audience: finance })]);
    await put([anAsk("approve", { audience: finance })]);
    expect([await answer(frida, first, "approve"), await answer(bob, second, "approve").catch(() => "unknown")]).toEqual([
      "accepted",
      "unknown",
    ]);
    await cancelTask(services, { taskId: first, caller: callerNamed("alice") });

    expect(await answered({ ...frida, groups: [] })).toEqual([[first, "approve", "declined"]]);
    expect(await answered(callerNamed("frank", { groups: ["finance"] }))).toEqual([]);
    expect(await answered({ ...frida, authenticatedBy: "nobody" })).toEqual([]);
  });

  test("has what a person answered for a call of their own on a page, and not what their client did", async () => {
    const { put, answer, answered } = await answering();
    const [onPage, byClient] = [await put([anAsk("size")], { principal: "frida" }), await put([anAsk("size")], { principal: "frida" })];
    await answer(frida, byClient, "size");
    await answer(frida, onPage, "size", "page");
    expect(await answered(frida)).toEqual([[onPage, "size", "declined"]]);
  });

  test("has pages, and refuses what is no cursor of it", async () => {
    const { services, put, answer } = await answering();
    const taskIds: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const taskId = await put([anAsk("approve", { audience: finance })]);
      await answer(frida, taskId, "approve");
      taskIds.push(taskId);
    }
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await listAnswered(services, { caller: frida, limit: 2, ...(cursor !== undefined && { cursor }) });
      found.push(...page.answered.map(({ ask }) => ask.taskId));
      ({ nextCursor: cursor } = page);
    } while (cursor !== undefined);
    expect(found.toSorted()).toEqual(taskIds.toSorted());
    for (const forged of ["", "x", "1.2", `${"9".repeat(17)}.a.b`])
      await expect(listAnswered(services, { caller: frida, limit: 2, cursor: forged })).rejects.toMatchObject({ code: "INVALID_CURSOR" });
  });
});
