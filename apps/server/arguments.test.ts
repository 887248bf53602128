/** The arguments of a call, on the wire of both families. */
import { describe, expect, test } from "vitest";
import { rpc } from "./client.fixture.ts";
import { deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";
import { offered } from "./tools.fixture.ts";

async function oneFront(options: Omit<Parameters<typeof deploy>[0], "catalogue"> = {}) {
  const deployment = await deploy({ catalogue: offered, fronts: 1, ...options });
  const [here] = deployment.fronts;
  if (!here) throw new Error("a front end is needed");
  return { ...deployment, here };
}

describe("arguments that are null", () => {
  test("are none in 2026-07-28, for tools and prompts", async () => {
    const { here } = await oneFront();
    expect(await rpc(here, "tools/call", { name: "touch", arguments: null })).toMatchObject({ result: { content: [{ text: "touched" }] } });
    const inputResponses = { from: { action: "accept", content: { name: "Alice" } } };
    expect(await rpc(here, "prompts/get", { name: "note", arguments: null, inputResponses })).toMatchObject({
      result: { messages: [{ content: { text: "Note of Alice" } }] },
    });
  });

  test.each(["2025-11-25", "2025-06-18", "2025-03-26"])("are none in %s", async (version) => {
    const { here } = await oneFront();
    const client = await openSession(here, { version });
    const called = await client.request(here, "tools/call", { name: "touch", arguments: null });
    expect(called.messages.at(-1)?.result).toMatchObject({ content: [{ text: "touched" }] });
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
