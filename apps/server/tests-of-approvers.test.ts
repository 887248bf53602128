/** A test of those who approve (docs/adr/0027): what people see of it before they answer, and afterwards, at every door. */
import type { Tool } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy, type Front } from "./deployment.fixture.ts";

const wire = defineTool({
  name: "wire",
  title: "Wire money",
  async run(_args, ctx) {
    const answer = await ctx.ask("approval", { message: "Wire it?", schema: z.object({}), to: { groups: ["ops"] }, not: "caller" });
    return answer.action;
  },
});

const pair = defineTool({
  name: "pair",
  title: "Wire much money",
  async run(_args, ctx) {
    const answer = await ctx.ask("approval", { message: "Wire it?", schema: z.object({}), to: { groups: ["ops"] }, quorum: 2 });
    return answer.action;
  },
});

/** As workers run it; called here as nobody can call it in a deployment. */
async function subject() {
  const tools = catalogue([wire, pair]);
  const asTest: Tool = { ...wire, name: "wire#test" };
  const { fronts, services } = await deploy({
    catalogue: { ...tools, tools: new Map([...tools.tools, ["wire#test", asTest], ["pair#test", { ...pair, name: "pair#test" }]]) },
    visitors: {
      authenticate: ({ headers }) => {
        const name = String(headers["x-principal"] ?? "bob");
        return callerNamed(name, { groups: ["bob", "carol"].includes(name) ? ["ops"] : [] });
      },
      ticket: undefined,
    },
    authenticate: ({ headers }) => {
      const name = String(headers["x-principal"] ?? "bob");
      return callerNamed(name, { groups: ["bob", "carol"].includes(name) ? ["ops"] : [] });
    },
  });
  const [front] = fronts as [Front];
  async function asked(name: string): Promise<string> {
    const { result } = await rpc(front, "tools/call", { name, arguments: {} }, { principal: "ann" });
    const taskId = String(result!["taskId"]);
    await until(async () => (await services.store.load(taskId))?.asks.length === 1);
    return taskId;
  }
  const text = async (
    path: string,
    { headers = {}, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {},
  ) => {
    const response = await fetch(new URL(path, front.url), { ...init, headers: { "x-principal": "bob", ...headers } });
    return await response.text();
  };
  return { front, services, asked, text };
}

/** Without what differs between two tasks. */
const bare = (said: string, taskId: string) =>
  said
    .replaceAll(taskId, "<task>")
    .replaceAll(
      /<script[^>]*>|nonce="[^"]*"|value="[^"]{20,}"|data-(?:digest|version)="[^"]*"|"digest":"[^"]*"|"ttlMs":\d+|\b\d{13}\b|\d{2}:\d{2}(?::\d{2}(?:\.\d+)?Z?)?/g,
      "",
    );

test("before it is answered it differs from a call at no door", async () => {
  const { front, services, asked, text } = await subject();
  const seen: Record<string, string[]> = {};
  for (const name of ["wire", "wire#test"]) {
    const taskId = await asked(name);
    const polled = await rpc(front, "tools/call", { name: "parley_asks", arguments: {} }, { principal: "bob", tasks: false });
    seen[name] = [
      await text(`/inbox?ask=${encodeURIComponent(`${taskId}/approval`)}`),
      await text(`/asks/${taskId}/approval`),
      await text("/api/v1/asks?owner=others"),
      await text(`/api/v1/asks/${taskId}/approval`),
      JSON.stringify(polled.result ?? polled.error),
      await text("/api/v1/tasks?owner=others"),
      await text("/api/v1/tasks?owner=others&tool=wire"),
      await text(`/api/v1/tasks/${taskId}`),
      JSON.stringify((await rpc(front, "tasks/get", { taskId }, { principal: "bob" })).result),
    ].map((each) => bare(each, taskId));
    await text(`/api/v1/asks/${taskId}/approval`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"action":"decline"}',
    });
    await until(async () => (await services.store.load(taskId))?.status === "completed");
  }
  expect(seen["wire#test"]).toEqual(seen["wire"]);
  expect(seen["wire#test"]?.[0]).toContain("Wire money");
  expect(seen["wire#test"]?.join()).not.toContain("#test");
});

test("its timeline names the tool", async () => {
  const { asked, text } = await subject();
  for (const name of ["wire", "wire#test"]) {
    const timeline = await text(`/api/v1/tasks/${await asked(name)}/timeline`, { headers: { "x-principal": "ann" } });
    expect(JSON.parse(timeline)).toMatchObject({ task: { name: "wire", toolTitle: "Wire money" } });
    expect(timeline).not.toContain("#test");
  }
});

test("once it is answered, page, record and API say that it was a test, and of a call they do not", async () => {
  const { services, asked, text } = await subject();
  for (const [name, isTest] of [
    ["wire", false],
    ["wire#test", true],
  ] as const) {
    const taskId = await asked(name);
    const page = await text(`/asks/${taskId}/approval`);
    const fields = [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(
      ([, field, value]) => [field!, value!] as const,
    );
    const body = new URLSearchParams([...fields.map(([field, value]): [string, string] => [field, value]), ["action", "accept"]]);
    const replied = await text(`/asks/${taskId}/approval`, { method: "POST", body });
    await until(async () => (await services.store.load(taskId))?.status === "completed");
    const said = [replied, await text(`/asks/${taskId}/approval`)];
    expect(said.map((each) => each.includes("This was a test: nobody made this call, and nothing ran."))).toEqual([isTest, isTest]);
    const read = JSON.parse(await text(`/api/v1/asks/${taskId}/approval`)) as { isTest?: true; tool: string; state: string };
    expect([read.state, read.tool, read.isTest === true]).toEqual(["settled", "wire", isTest]);
  }
});

test("answered together with a call, it alone is named as a test", async () => {
  const { asked, text } = await subject();
  const ids = [await asked("wire"), await asked("wire#test")];
  const inbox = `/inbox?${new URLSearchParams(ids.map((id) => ["batch", `${id}/approval`] as [string, string])).toString()}`;
  const page = await text(inbox);
  const shown = /<form class="flow question"[^]*?<\/form>/.exec(page)?.[0] ?? "";
  const fields = [...shown.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, field, value]): [string, string] => [
    field!,
    value!.replaceAll("&amp;", "&"),
  ]);
  expect(page).not.toContain("This was a test");
  const action = /action="([^"]*)"/.exec(shown)?.[1] ?? "";
  const replied = await text(new URL(action, new URL(inbox, "http://x")).pathname, {
    method: "POST",
    body: new URLSearchParams([...fields, ["action", "accept"]]),
  });
  const lines = [...replied.matchAll(/<li>[^]*?<\/li>/g)].map(([line]) => [line.includes(ids[1]!), line.includes("This was a test")]);
  expect(lines).toEqual([
    [false, false],
    [true, true],
  ]);
  // So that it stays in sight until it is closed.
  expect(replied).toContain('data-receipts="some"');
});

test("with a quorum nobody is told before the last one has answered", async () => {
  const { asked, text } = await subject();
  const taskId = await asked("pair#test");
  const path = `/asks/${taskId}/approval`;
  const accept = async (name: string) => {
    const headers = { "x-principal": name };
    const page = await text(path, { headers });
    const fields = [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, field, value]): [string, string] => [
      field!,
      value!,
    ]);
    const replied = await text(path, { method: "POST", headers, body: new URLSearchParams([...fields, ["action", "accept"]]) });
    return replied.includes("This was a test");
  };
  expect([await accept("bob"), await accept("bob"), await accept("carol")]).toEqual([false, false, true]);
  expect(await text(path)).toContain("This was a test");
});
