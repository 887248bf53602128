/** The arguments of calls, as clients of both families send them. */
import { catalogue, defineTool } from "@parley/sdk";
import type { Services } from "@parley/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { rpc } from "./client.fixture.ts";
import { deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

const handedOut = defineTool({ name: "handed-out", input: z.object({ text: z.string() }), run: ({ text }) => text });

async function oneFront(options: Omit<Parameters<typeof deploy>[0], "catalogue"> = {}) {
  const deployment = await deploy({
    catalogue: catalogue([handedOut, ...offered.tools.values(), ...offered.prompts.values()]),
    fronts: 1,
    ...options,
  });
  const [here] = deployment.fronts;
  if (!here) throw new Error("a front end is needed");
  return { ...deployment, here };
}

/** The whole call, as a worker receives it. Other reads of a task leave out its arguments. */
async function storedCall({ store, clock }: Services, taskId: string) {
  const begun = await store.begin({ taskId, run: 1, token: "reader", nowMs: clock.now(), leaseMs: 1_000 });
  if (begun.type !== "begun") throw new Error(`not begun: ${begun.reason}`);
  return begun.task.call;
}

describe("arguments that are null", () => {
  test("count as no arguments in 2026-07-28, for tools and prompts", async () => {
    const { here } = await oneFront();
    expect(await rpc(here, "tools/call", { name: "touch", arguments: null })).toMatchObject({ result: { content: [{ text: "touched" }] } });
    const inputResponses = { from: { action: "accept", content: { name: "Alice" } } };
    expect(await rpc(here, "prompts/get", { name: "note", arguments: null, inputResponses })).toMatchObject({
      result: { messages: [{ content: { text: "Note of Alice" } }] },
    });
  });

  test.each(["2025-11-25", "2025-06-18", "2025-03-26"])("count as no arguments in %s", async (version) => {
    const { here } = await oneFront();
    const client = await openSession(here, { version });
    const called = await client.request(here, "tools/call", { name: "touch", arguments: null });
    expect(called.messages.at(-1)?.result).toMatchObject({ content: [{ text: "touched" }] });
  });
});

describe("arguments that a tool does not know", () => {
  const long = "x".repeat(500_000);

  test("are not stored if its schema drops them, through every door", async () => {
    const { here, services } = await oneFront({ worker: false });
    const args = { text: "hi", junk: long };
    const client = await openSession(here);
    for (const call of [
      rpc(here, "tools/call", { name: "handed-out", arguments: args }),
      client.request(here, "tools/call", { name: "handed-out", arguments: args, task: {} }).then(({ messages }) => messages.at(-1)!),
    ]) {
      const taskId = (await call).result!["taskId"]!;
      expect((await storedCall(services, taskId)).arguments).toEqual({ text: "hi" });
    }
  });

  test("are kept if its schema keeps them, up to the size of a stored value", async () => {
    const { here, services, logged } = await oneFront({ worker: false, settings: { storedValueMax: 1_000 } });
    const filled = (length: number) => ({ name: "greet", arguments: { more: "x".repeat(length - '{"more":""}'.length) } });
    const taskId = (await rpc(here, "tools/call", filled(1_000))).result!["taskId"]!;
    expect((await storedCall(services, taskId)).arguments["more"]).toHaveLength(989);
    const refused = await rpc(here, "tools/call", filled(1_001));
    expect(refused).toMatchObject({ status: 200, error: { code: -32602, data: { code: "TOO_LARGE" } } });
    expect(refused.error?.message).toContain("PARLEY_STORED_VALUE_MAX");
    const client = await openSession(here);
    expect((await client.request(here, "tools/call", filled(1_001))).messages.at(-1)?.error).toMatchObject({ code: -32602 });
    expect(logged.filter(({ message }) => message === "task created")).toHaveLength(1);
  });

  test("are bounded in early replies too", async () => {
    const { here, logged } = await oneFront({ worker: false, settings: { storedValueMax: 1_000 } });
    const inputResponses = { who: { action: "accept", content: { name: "Alice", junk: "x".repeat(1_000) } } };
    const refused = await rpc(here, "tools/call", { name: "introduce", arguments: {}, inputResponses });
    expect(refused.error).toMatchObject({ code: -32602, data: { code: "TOO_LARGE" } });
    expect(logged.filter(({ message }) => message === "task created")).toEqual([]);
  });
});

describe("arguments that do not fit", () => {
  const text = "invalid arguments for tool echo: /text Invalid input: expected string, received number";
  const call = { name: "echo", arguments: { text: 5 } };

  test("are explained once in 2026-07-28", async () => {
    const { here } = await oneFront();
    expect((await rpc(here, "tools/call", call)).result?.["content"]).toEqual([{ type: "text", text }]);
  });

  test("are explained once in a session, as a result and as an error", async () => {
    const { here } = await oneFront();
    const asResult = await (await openSession(here)).request(here, "tools/call", call);
    expect(asResult.messages.at(-1)?.result).toEqual({ content: [{ type: "text", text }], isError: true });
    const asError = await (await openSession(here, { version: "2025-06-18" })).request(here, "tools/call", call);
    expect(asError.messages.at(-1)?.error).toMatchObject({ code: -32602, message: text });
  });
});
