/** What a tool says about a question besides asking it: at every door, for those who are asked. */
import { catalogue, defineTool } from "@parley/sdk";
import type { FastifyRequest } from "fastify";
import { expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy } from "./deployment.fixture.ts";
import { asDescribed } from "./routes/api/described.fixture.ts";

const HOUR = 3_600_000;

const tools = catalogue([
  defineTool({
    name: "release",
    async run(_args, ctx) {
      await ctx.confirm("release", {
        message: "Release?",
        priority: "urgent",
        due: "4 hours",
        timeout: "2 days",
        to: { groups: ["finance"] },
        context: [
          { type: "text", title: "Why <now>", text: "The <b>bank</b> closes" },
          { type: "table", columns: ["Payee", "Amount"], rows: [["Bo & Co", 40]] },
          { type: "link", title: "The invoice", url: "https://shop.example/42" },
          { type: "picture", title: "The chair", url: "https://shop.example/chair.png" },
          { type: "diff", title: "Account", before: "name: Bo\niban: 1", after: "name: Bo\niban: 2" },
        ],
      });
      return "released";
    },
  }),
  defineTool({
    name: "plain",
    run: async (_args, ctx) => {
      await ctx.elicit("plain", { message: "How much?", schema: z.object({ n: z.int() }), to: { groups: ["finance"] } });
      return "done";
    },
  }),
]);

const onOwnPage = catalogue([
  defineTool({
    name: "secret",
    async run(_args, ctx) {
      await ctx.secret("key", { message: "Key?", to: { groups: ["finance"] }, context: [{ type: "text", text: "For <b>" }] });
      return "done";
    },
  }),
]);

const callerOf = (name = "ann") => callerNamed(name, name === "bob" ? { groups: ["finance"] } : {});

async function subject(offered = tools) {
  const authenticate = ({ headers }: Pick<FastifyRequest, "headers">) => callerOf(headers["x-principal"]?.toString());
  const deployment = await deploy({ catalogue: offered, authenticate, visitors: { authenticate, ticket: undefined } });
  const [front] = deployment.fronts;
  const { origin } = new URL(front!.url);
  const call = async (name: string) => {
    const { result } = await rpc(front!, "tools/call", { name, arguments: {} }, { principal: "ann" });
    const taskId = String(result!["taskId"]);
    await until(async () => (await deployment.services.store.load(taskId))?.status === "input_required");
    return taskId;
  };
  const read = async (path: string) => {
    const response = await fetch(`${origin}/api/v1${path}`, { headers: { "x-principal": "bob" } });
    const body: unknown = await response.json();
    asDescribed({ method: "GET", path, status: response.status, body });
    return body;
  };
  const page = async (path: string) => {
    const response = await fetch(`${origin}${path}`, { headers: { "x-principal": "bob" } });
    return (await response.text()).replace(/<style>[^]*<\/style>/, "");
  };
  return { ...deployment, front: front!, call, read, page };
}

test("the API says how urgent a question is and what to look at, and lists can be filtered by it", async () => {
  const { call, read } = await subject();
  const taskId = await call("release");
  await call("plain");

  interface Shown {
    readonly due: string;
    readonly askedAt: string;
  }
  const listed = async (priority: string) => ((await read(`/asks?priority=${priority}`)) as { readonly asks: readonly [Shown] }).asks;

  const asks = await listed("urgent");
  expect(asks).toMatchObject([{ taskId, priority: "urgent" }]);
  expect(Date.parse(asks[0].due) - Date.parse(asks[0].askedAt)).toBe(4 * HOUR);
  const others = await listed("normal");
  expect(others).toMatchObject([{ tool: "plain", priority: "normal" }]);
  expect(others[0]).not.toHaveProperty("due");

  const one = await read(`/asks/${taskId}/release`);
  expect(one).toMatchObject({ context: [{ type: "text" }, { type: "table" }, { type: "link" }, { type: "picture" }, { type: "diff" }] });
  expect(one).not.toHaveProperty("request.about");
});

test("its page and the inbox show it above the form, as text, and load nothing from elsewhere", async () => {
  const { call, page } = await subject();
  const taskId = await call("release");

  for (const text of [await page(`/asks/${taskId}/release`), await page(`/inbox?ask=${taskId}/release`)]) {
    for (const part of [
      "<strong>Urgent</strong>",
      "Answer wanted by",
      "Why &lt;now&gt;",
      "The &lt;b&gt;bank&lt;/b&gt; closes",
      '<th scope="col" dir="auto"><div>Amount</div></th>',
      "Bo &amp; Co",
      'href="https://shop.example/42" target="_blank" rel="noopener noreferrer"',
      '<del><span class="sr-only">Removed: </span>iban: 1</del>',
      '<ins><span class="sr-only">Added: </span>iban: 2</ins>',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain("<img");
    expect(text.indexOf("iban: 2")).toBeLessThan(text.indexOf(`class="flow question"`));
  }
  expect(await page("/inbox")).toContain('<span class="tag soon">Urgent</span>');
});

test("the page of a secret shows it as well", async () => {
  const { call, page } = await subject(onOwnPage);
  const text = await page(`/asks/${await call("secret")}/key`);
  expect(text).toContain("For &lt;b&gt;");
  expect(text.indexOf("For &lt;b&gt;")).toBeLessThan(text.indexOf("<form "));
});

test("MCP clients read it in the message", async () => {
  const { call, front } = await subject();
  const taskId = await call("release");

  const { result } = await rpc(front, "tasks/get", { taskId }, { principal: "bob" });
  const { message } = (result!["inputRequests"] as Record<string, { params: { message: string } }>)["release"]!.params;
  expect(message).toMatch(/^Release\?\n\nWhy <now>:\nThe <b>bank<\/b> closes\n\nPayee \| Amount\nBo & Co \| 40\n\n/);
  expect(message).toMatch(/- iban: 1\n\+ iban: 2\n\nPriority: urgent\. Please answer by \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/);
});
