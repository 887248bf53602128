/** What tools may ask, and what clients receive. */
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { cpuMs } from "../../test/support/cpu-ms.ts";
import { rpc, stream } from "./client.fixture.ts";
import { anonymous } from "./front-end/caller.ts";
import { deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const MAIL = z
  .string()
  .max(254)
  .regex(/^[^@]+@[^@]+\.[^@]+$/);

const asking = catalogue([
  defineTool({
    name: "visit",
    input: z.object({ url: z.string() }),
    run: ({ url }, ctx) => ctx.elicit("page", { message: "Go", url }),
  }),
  defineTool({
    name: "dinner",
    async run(_args, ctx) {
      const { n } = await ctx.elicit("size", { message: "How many will come?", schema: z.object({ n: z.int() }) });
      return `${n} will come`;
    },
  }),
  defineTool({
    name: "think",
    run: async (_args, ctx) => void (await ctx.sample("thought", { messages: [], maxTokens: 10 })),
  }),
  defineTool({ name: "look", run: async (_args, ctx) => void (await ctx.roots("folders")) }),
  defineTool({
    name: "write",
    input: z.object({ to: MAIL }),
    async run({ to }, ctx) {
      const { from } = await ctx.elicit("from", { message: "From?", schema: z.object({ from: MAIL }) });
      return `from ${from} to ${to}`;
    },
  }),
  defineTool({
    name: "log-in",
    run: async (_args, ctx) =>
      void (await ctx.elicit("login", { message: "Log in", schema: z.object({ user: z.string(), kennwort: z.string() }) })),
  }),
]);

async function oneFront(settings = {}) {
  const deployment = await deploy({ catalogue: asking, fronts: 1, settings });
  const [here] = deployment.fronts;
  if (!here) throw new Error("a front end is needed");
  return { ...deployment, here };
}

describe("a client with tasks that cannot be asked", () => {
  const text = (taskId: string) =>
    `Waiting for an answer to "How many will come?". This client cannot ask it: answer from one that declares elicitation, or with: parley answer ${taskId}`;
  const answer = { size: { action: "accept", content: { n: 4 } } };

  test("reads in the status of its task what is asked and where to answer, and gets the result after the answer", async () => {
    const { here } = await oneFront();
    const silent = { capabilities: {} };
    const taskId = String((await rpc(here, "tools/call", { name: "dinner", arguments: {} }, silent)).result!["taskId"]);
    const got = async () => (await rpc(here, "tasks/get", { taskId }, silent)).result!;
    await until(async () => (await got())["statusMessage"] !== undefined);
    expect(await got()).toMatchObject({ status: "working", statusMessage: text(taskId) });
    expect(await got()).not.toHaveProperty("inputRequests");
    const listening = await stream(here, "subscriptions/listen", { notifications: { taskIds: [taskId] } }, silent);
    await listening.next();
    expect((await listening.next()).params).toMatchObject({ status: "working", statusMessage: text(taskId) });
    listening.close();

    const able = (await rpc(here, "tasks/get", { taskId })).result!;
    expect(able).toMatchObject({ inputRequests: { size: { params: { message: "How many will come?" } } } });
    expect(able["statusMessage"]).toBeUndefined();
    await rpc(here, "tasks/update", { taskId, inputResponses: answer });
    const end = await until(async () => ((await got())["status"] === "completed" ? got() : undefined));
    expect(end).toMatchObject({ result: { content: [{ text: "4 will come" }] } });
    expect(end["statusMessage"]).toBeUndefined();
  });

  test("reads the same in a session, in the task and in the notification", async () => {
    const { here } = await oneFront();
    const client = await openSession(here, { capabilities: {} });
    const listening = await client.listen(here);
    const created = (await client.request(here, "tools/call", { name: "dinner", arguments: {}, task: {} })).messages.at(-1)!.result!;
    const taskId = String(created["taskId"]);
    const status = await until(async () => {
      const { result } = (await client.request(here, "tasks/get", { taskId })).messages.at(-1)!;
      return result!["statusMessage"] === undefined ? undefined : result;
    });
    expect(status).toMatchObject({ status: "working", statusMessage: text(taskId) });
    expect((await listening.next()).params).toMatchObject({ taskId, status: "working", statusMessage: text(taskId) });
    listening.close();
  });

  test.each(["think", "look"])("is not waited for if only its model or its folders can answer: %s", async (name) => {
    const { here } = await oneFront();
    const silent = { capabilities: { elicitation: {} } };
    const stateless = String((await rpc(here, "tools/call", { name, arguments: {} }, silent)).result!["taskId"]);
    const client = await openSession(here, silent);
    const created = (await client.request(here, "tools/call", { name, arguments: {}, task: {} })).messages.at(-1)!.result!;
    const ends = [
      await until(async () => {
        const { result } = await rpc(here, "tasks/get", { taskId: stateless }, silent);
        return result!["status"] === "completed" ? (result!["result"] as object) : undefined;
      }),
      (await client.request(here, "tasks/result", { taskId: created["taskId"] })).messages.at(-1)!.result!,
    ];
    for (const end of ends) {
      expect(end).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("this client cannot be asked that") }] });
    }
  });

  test.each([{}, { authenticate: anonymous, visitors: { authenticate: anonymous, ticket: undefined } }])(
    "reads the address of the page only where people log in: the address alone would let a model answer (%j)",
    async (login) => {
      const deployment = await deploy({ catalogue: asking, fronts: 1, publicUrl: "https://parley.example", ...login });
      const [here] = deployment.fronts;
      const silent = { capabilities: {} };
      const taskId = String((await rpc(here!, "tools/call", { name: "dinner", arguments: {} }, silent)).result!["taskId"]);
      const said = await until(
        async () => (await rpc(here!, "tasks/get", { taskId }, silent)).result!["statusMessage"] as string | undefined,
      );
      const at = `answer at https://parley.example/asks/${taskId}/size, or from one that declares elicitation`;
      expect(said.includes(at)).toBe("visitors" in login);
      expect(said.includes("https:")).toBe("visitors" in login);
    },
  );

  test("ends at once where the deployment wants that, and is asked nothing", async () => {
    const { here } = await oneFront({ taskWithoutCapability: "end" });
    const silent = { capabilities: {} };
    const taskId = String((await rpc(here, "tools/call", { name: "dinner", arguments: {} }, silent)).result!["taskId"]);
    const end = await until(async () => {
      const { result } = await rpc(here, "tasks/get", { taskId }, silent);
      return result!["status"] === "completed" ? result!["result"] : undefined;
    });
    expect(end).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("asks the user to fill in a form") }] });
  });

  test("is treated by its own capabilities: a client that can be asked reads nothing of this", async () => {
    const { here } = await oneFront();
    const taskId = (await rpc(here, "tools/call", { name: "dinner", arguments: {} })).result!["taskId"];
    const task = await until(async () => {
      const { result } = await rpc(here, "tasks/get", { taskId });
      return result!["status"] === "input_required" ? result : undefined;
    });
    expect(task!["statusMessage"]).toBeUndefined();
  });
});

test("a quadratic pattern blocks no other caller: a megabyte is refused at once, as argument and as answer", async () => {
  const { here } = await oneFront();
  const long = "@.".repeat(400_000);
  const calling = async () =>
    expect((await rpc(here, "tools/call", { name: "write", arguments: { to: long } })).result).toMatchObject({
      isError: true,
      content: [{ text: "invalid arguments for tool write: /to must have at most 254 characters" }],
    });
  expect(await cpuMs(calling)).toBeLessThan(2_000);

  const taskId = (await rpc(here, "tools/call", { name: "write", arguments: { to: "a@b.c" } })).result!["taskId"]!;
  await until(async () => (await rpc(here, "tasks/get", { taskId })).result!["status"] === "input_required");
  const inputResponses = { from: { action: "accept", content: { from: long } } };
  const answering = async () =>
    expect((await rpc(here, "tasks/update", { taskId, inputResponses })).error).toMatchObject({
      code: -32602,
      data: { violations: [{ path: "/from/content/from", message: "must have at most 254 characters" }] },
    });
  expect(await cpuMs(answering)).toBeLessThan(2_000);
});

describe("a question that may not be asked", () => {
  test.each(["javascript:alert(document.cookie)", "http://example.com/", "file:///etc/passwd"])(
    "never reaches a client: %s",
    async (url) => {
      const { here } = await oneFront();
      const taskId = (await rpc(here, "tools/call", { name: "visit", arguments: { url } })).result!["taskId"]!;
      const task = await until(async () => {
        const { result } = await rpc(here, "tasks/get", { taskId });
        expect(result!["status"]).not.toBe("input_required");
        return result!["status"] === "failed" ? result : undefined;
      });
      expect(task!["error"]).toMatchObject({
        message: expect.stringMatching(/^the ask "page" is invalid: \/url has the scheme \w+, and may have https/),
        data: { code: "INVALID_ASK", violations: [{ path: "/url" }] },
      });
    },
  );

  test("names the field that looks like a secret, and says what to do", async () => {
    const { here } = await oneFront();
    const { error } = await rpc(here, "tools/call", { name: "log-in", arguments: {} }, { tasks: false });
    expect(error).toMatchObject({ message: expect.stringContaining("/kennwort seems to ask for a secret") });
    expect(error!.message).toContain("use ctx.secret");
  });

  test("is asked if the deployment allows it", async () => {
    const { here } = await oneFront({ askUrlSchemes: ["http"], secretNames: ["-kennwort"] });
    const asked = await rpc(here, "tools/call", { name: "visit", arguments: { url: "http://example.com/" } }, { tasks: false });
    expect(asked.result).toMatchObject({ inputRequests: { page: { params: { mode: "url", url: "http://example.com/" } } } });
    const form = await rpc(here, "tools/call", { name: "log-in", arguments: {} }, { tasks: false });
    expect(form.result).toMatchObject({ resultType: "input_required" });
  });
});
