/** A question that several people must accept, through the doors of two front ends. */
import type { Caller } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const FINANCE = ["ada", "eve", "bob", "kim", "joe", "sue"];
const PEOPLE: Record<string, Caller> = Object.fromEntries(
  FINANCE.map((name) => [name, callerNamed(name, { groups: ["finance"], tenant: "acme" })]),
);
const schema = z.object({ note: z.string() });

const tools = catalogue(
  [2, 3].map((quorum) =>
    defineTool({
      name: `pay-${quorum}`,
      async run(_args, ctx) {
        const approvals = await ctx.elicit("pay", { message: "Pay?", schema, to: { groups: ["finance"] }, quorum });
        return approvals.map(({ principal, content }) => `${principal}: ${content.note}`).join(", ");
      },
    }),
  ),
);

async function subject() {
  const { fronts, services } = await deploy({
    catalogue: tools,
    authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"])] ?? callerNamed("stranger"),
  });
  const [a, b] = [fronts[0]!, fronts[1]!];
  async function called(quorum: number): Promise<string> {
    const { result } = await rpc(a, "tools/call", { name: `pay-${quorum}`, arguments: {} }, { principal: "ada" });
    const taskId = String(result!["taskId"]);
    await until(async () => (await services.store.load(taskId))?.asks.length === 1);
    return taskId;
  }
  const accept = (front: typeof a, principal: string, taskId: string, note = `note of ${principal}`) =>
    rpc(front, "tasks/update", { taskId, inputResponses: { pay: { action: "accept", content: { note } } } }, { principal });
  const get = async (principal: string, taskId: string) => (await rpc(b, "tasks/get", { taskId }, { principal })).result!;
  return { a, b, services, called, accept, get };
}

const receiptOf = ({ result, error }: { readonly result?: unknown; readonly error?: { readonly data?: unknown } }) =>
  (result as { _meta?: { "parley/receipts"?: { pay?: string } } } | undefined)?._meta?.["parley/receipts"]?.pay ??
  (error?.data as { code?: string } | undefined)?.code;

describe("tasks/get and tasks/update", () => {
  test("each of several people who accept at once, at two front ends, is counted once, and exactly the last one settles it", async () => {
    const { a, b, called, accept, get, services } = await subject();
    for (let round = 0; round < 20; round += 1) {
      const taskId = await called(3);
      // Each person twice, once at each front end.
      const sent = FINANCE.flatMap((name) => [accept(a, name, taskId), accept(b, name, taskId)]);
      const receipts = (await Promise.all(sent)).map((reply, index) => [FINANCE[Math.floor(index / 2)], receiptOf(reply)] as const);
      await until(async () => (await services.store.load(taskId))?.status === "completed");
      const said = String((await get("ada", taskId))["result"]!["content"]![0]!["text"]).split(", ");
      const counted = said.map((one) => one.split(":")[0]!);
      expect(new Set(counted).size).toBe(3);
      expect(said.toSorted()).toEqual(counted.map((name) => `${name}: note of ${name}`).toSorted());
      for (const name of FINANCE) {
        const theirs = receipts.filter(([who]) => who === name).map(([, receipt]) => receipt);
        if (counted.includes(name)) expect(theirs.toSorted()).toEqual(["accepted", "duplicate"]);
        // Once the task has ended, people whose answer did not count learn nothing more. Its owner does.
        else for (const receipt of theirs) expect(["late", "unknown", "TASK_NOT_FOUND"]).toContain(receipt);
      }
    }
  });

  test("a person who has accepted sees how many are missing, and may still decline; nobody sees the answers of others", async () => {
    const { a, called, accept, get } = await subject();
    const taskId = await called(2);
    expect(await get("eve", taskId)).toMatchObject({
      inputRequests: { pay: { params: { message: "Pay?\n\n0 of 2 have accepted so far." } } },
    });
    expect(receiptOf(await accept(a, "eve", taskId))).toBe("accepted");
    expect(receiptOf(await accept(a, "eve", taskId))).toBe("duplicate");

    const eves = await get("eve", taskId);
    expect(eves).toMatchObject({
      status: "working",
      statusMessage: 'You have accepted "Pay?", and it waits for others: 1 of 2 has accepted.',
    });
    const bobs = await get("bob", taskId);
    expect(bobs).toMatchObject({ inputRequests: { pay: { params: { message: "Pay?\n\n1 of 2 has accepted so far." } } } });
    for (const seen of [eves, bobs, await get("ada", taskId)]) expect(JSON.stringify(seen)).not.toMatch(/note of|eve/);
    expect((await rpc(a, "tasks/get", { taskId }, { principal: "stranger" })).error?.message).toMatch(/^no task/);

    const declined = { taskId, inputResponses: { pay: { action: "decline" } } };
    expect(receiptOf(await rpc(a, "tasks/update", declined, { principal: "eve" }))).toBe("accepted");
    await until(async () => (await get("ada", taskId))["status"] === "completed");
    expect(JSON.stringify(await get("ada", taskId))).toContain("declined to answer");
    expect(receiptOf(await accept(a, "eve", taskId))).toBe("duplicate");
  });

  test("a task that is cancelled in the meantime accepts no more answers", async () => {
    const { a, called, accept } = await subject();
    const taskId = await called(2);
    await accept(a, "eve", taskId);
    await rpc(a, "tasks/cancel", { taskId }, { principal: "ada" });
    expect(receiptOf(await accept(a, "bob", taskId))).toBe("TASK_NOT_FOUND");
    expect(receiptOf(await accept(a, "ada", taskId))).toBe("late");
  });
});

describe("a call that is held open", () => {
  test("asks its caller once, waits for the others, and ends with the result", async () => {
    const { a, b, services, accept } = await subject();
    const first = await rpc(a, "tools/call", { name: "pay-2", arguments: {} }, { principal: "ada", tasks: false });
    const { requestState } = first.result!;
    expect(Object.keys(first.result!["inputRequests"]!)).toEqual(["pay"]);
    const inputResponses = { pay: { action: "accept", content: { note: "mine" } } };
    const retried = rpc(
      b,
      "tools/call",
      { name: "pay-2", arguments: {}, requestState, inputResponses },
      { principal: "ada", tasks: false },
    );
    const { taskId } = await counted(services, 1);
    expect(receiptOf(await accept(a, "bob", taskId))).toBe("accepted");
    expect((await retried).result).toMatchObject({ content: [{ text: "ada: mine, bob: note of bob" }] });
  });

  test("in a session too", async () => {
    const { a, services, accept } = await subject();
    const client = await openSession(a, { principal: "ada" });
    const asking = await client.stream(a, "tools/call", { name: "pay-2", arguments: {} });
    let asked = await asking.next();
    while (asked.method !== "elicitation/create") asked = await asking.next();
    await client.reply(a, asked.id, { action: "accept", content: { note: "mine" } });
    const { taskId } = await counted(services, 1);
    await accept(a, "bob", taskId);
    let last = await asking.next();
    while (last.method === "notifications/progress") last = await asking.next();
    expect(last.result).toMatchObject({ content: [{ text: "ada: mine, bob: note of bob" }] });
  });
});

/** The only task with that many accepted answers. */
async function counted(services: Awaited<ReturnType<typeof deploy>>["services"], people: number): Promise<{ readonly taskId: string }> {
  let found: string | undefined;
  await until(async () => {
    for (const { taskId } of await services.store.overdue({ partition: 0, nowMs: Number.MAX_SAFE_INTEGER, limit: 10 })) {
      const [ask] = (await services.store.load(taskId))?.asks ?? [];
      if (ask?.accepted?.acceptances.length === people) found = taskId;
    }
    return found !== undefined;
  });
  return { taskId: found! };
}
