/** The catalogue may change between two requests and differ by caller. Clients that cache a list are notified. */
import type { Catalogue, Catalogues } from "@parley/core";
import { catalogue, definePrompt, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { rpc, stream } from "./client.fixture.ts";
import { deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const echo = defineTool({ name: "echo", run: () => "echo" });
const greet = defineTool({
  name: "greet",
  async run(_args, ctx) {
    const { name } = await ctx.elicit("who", { message: "Who are you?", schema: z.object({ name: z.string() }) });
    return `Hello, ${name}!`;
  },
});
const letter = definePrompt({ name: "letter", run: () => "Write a letter." });

/** Ann and Bob have different catalogues, which the test can change. */
async function offering(first: Readonly<Record<string, Catalogue>>) {
  const offers = new Map(Object.entries(first));
  const everything = catalogue(echo, greet, letter);
  const nothing: Catalogue = { ...everything, tools: new Map(), prompts: new Map() };
  let reads = 0;
  const catalogues: Catalogues = {
    // Some catalogues take a moment, like one that is read from an upstream server.
    async current({ principal }) {
      reads += 1;
      return await Promise.resolve({ isPrivate: true, ...(offers.get(principal) ?? nothing) });
    },
    runnable: () => everything,
  };
  const deployment = await deploy({ catalogue: catalogues });
  return {
    ...deployment,
    get reads() {
      return reads;
    },
    async offer(principal: string, offered: Catalogue): Promise<void> {
      offers.set(principal, offered);
      await deployment.services.wakeUps.announce({ type: "tools" });
    },
  };
}

const namesIn = (result: unknown) => (result as { tools: { name: string }[] }).tools.map(({ name }) => name);

describe("in 2026-07-28", () => {
  test("two callers see and call different tools, as offered at the time of each request", async () => {
    const { fronts, offer } = await offering({ ann: catalogue(echo), bob: catalogue(greet) });
    const [here, there] = fronts as [(typeof fronts)[0], (typeof fronts)[0]];
    const list = async (principal: string) => namesIn((await rpc(here, "tools/list", {}, { principal })).result);
    const call = (principal: string, name: string) => rpc(there, "tools/call", { name, arguments: {} }, { principal, tasks: false });

    expect([await list("ann"), await list("bob"), await list("eve")]).toEqual([["echo"], ["greet"], []]);
    expect((await call("ann", "echo")).result).toMatchObject({ content: [{ text: "echo" }] });
    expect((await call("bob", "echo")).error).toMatchObject({ code: -32602, message: 'no tool "echo"' });

    await offer("ann", catalogue(greet));
    await offer("bob", catalogue(greet, echo));

    expect([await list("ann"), await list("bob")]).toEqual([["greet"], ["greet", "echo"]]);
    expect((await call("ann", "echo")).error).toMatchObject({ code: -32602 });
    expect((await call("bob", "echo")).result).toMatchObject({ content: [{ text: "echo" }] });
  });

  test("lists that differ by caller are not cached for others, and capabilities that a caller cannot use are not declared", async () => {
    const { fronts } = await offering({ ann: catalogue(echo, letter), bob: catalogue(echo) });
    const discovered = await Promise.all(
      ["ann", "bob"].map(async (principal) => (await rpc(fronts[0]!, "server/discover", {}, { principal })).result),
    );
    expect(discovered.map((result) => Object.keys(result?.["capabilities"] ?? {}).includes("prompts"))).toEqual([true, false]);
    const listed = await rpc(fronts[0]!, "tools/list", {}, { principal: "ann" });
    expect([listed.result, ...discovered].map((result) => result?.["cacheScope"])).toEqual(["private", "private", "private"]);

    const shared = await deploy({ catalogue: catalogue(echo), fronts: 1 });
    expect((await rpc(shared.fronts[0]!, "tools/list", {})).result).toMatchObject({ cacheScope: "public" });
  });

  test("a stream reports that the tools have changed", async () => {
    const { fronts, offer } = await offering({ ann: catalogue(echo) });
    const listening = await stream(fronts[1]!, "subscriptions/listen", { notifications: { toolsListChanged: true } }, { principal: "ann" });
    await listening.next();
    await offer("ann", catalogue(greet));
    expect(await listening.next()).toMatchObject({ method: "notifications/tools/list_changed" });
    listening.close();
  });

  test("a call that waits for an answer ends although its tool is no longer offered", async () => {
    const { fronts, offer } = await offering({ ann: catalogue(greet) });
    const call = { name: "greet", arguments: {} };
    const asked = await rpc(fronts[0]!, "tools/call", call, { principal: "ann", tasks: false });
    const task = await rpc(fronts[0]!, "tools/call", call, { principal: "ann" });
    await offer("ann", catalogue(echo));

    const inputResponses = { who: { action: "accept", content: { name: "Ann" } } };
    const retried = { ...call, requestState: asked.result?.["requestState"], inputResponses };
    expect((await rpc(fronts[1]!, "tools/call", retried, { principal: "ann", tasks: false })).result).toMatchObject({
      content: [{ text: "Hello, Ann!" }],
    });
    const { taskId } = task.result as unknown as { taskId: string };
    await rpc(fronts[1]!, "tasks/update", { taskId, inputResponses }, { principal: "ann" });
    expect((await rpc(fronts[0]!, "tasks/get", { taskId }, { principal: "ann" })).result).toMatchObject({ status: "completed" });
    expect((await rpc(fronts[1]!, "tools/call", call, { principal: "ann" })).error).toMatchObject({ code: -32602 });
  });

  test("the catalogue is read once for each request", async () => {
    const offered = await offering({ ann: catalogue(echo) });
    await rpc(offered.fronts[0]!, "tools/call", { name: "echo", arguments: {} }, { principal: "ann", tasks: false });
    expect(offered.reads).toBe(1);
  });
});

describe("in a session", () => {
  test("two callers see and call different tools, as offered at the time of each request", async () => {
    const { fronts, offer } = await offering({ ann: catalogue(echo, letter), bob: catalogue(greet) });
    const [here, there] = fronts as [(typeof fronts)[0], (typeof fronts)[0]];
    const [ann, bob] = await Promise.all(["ann", "bob"].map((principal) => openSession(here, { principal })));
    if (!ann || !bob) throw new Error("no session");
    const list = async (client: typeof ann) => namesIn((await client.request(there, "tools/list")).messages[0]?.result);
    const call = async (client: typeof ann) => (await client.request(there, "tools/call", { name: "echo", arguments: {} })).messages.at(-1);

    expect([ann, bob].map(({ initialized }) => "prompts" in (initialized.result?.["capabilities"] ?? {}))).toEqual([true, false]);
    expect([await list(ann), await list(bob)]).toEqual([["echo"], ["greet"]]);
    expect(await call(ann)).toMatchObject({ result: { content: [{ text: "echo" }] } });
    expect(await call(bob)).toMatchObject({ error: { code: -32602 } });

    const listening = await bob.listen(there);
    await offer("bob", catalogue(greet, echo));
    expect(await listening.next()).toMatchObject({ method: "notifications/tools/list_changed" });
    await offer("ann", catalogue(greet));

    expect([await list(ann), await list(bob)]).toEqual([["greet"], ["greet", "echo"]]);
    expect(await call(ann)).toMatchObject({ error: { code: -32602 } });
    expect(await call(bob)).toMatchObject({ result: { content: [{ text: "echo" }] } });
    listening.close();
  });
});
