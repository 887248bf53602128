/**
 * Clients that show forms and no pages, or pages and no forms. A form is asked by its page; what they do not show otherwise is told in words, and their call
 * goes on as a task. Both families.
 */
import { catalogue, defineTool } from "@parley/sdk";
import { ParleyError } from "@parley/core";
import type { MemoryWakeUps } from "@parley/core/memory";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { type Message, rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front, holdNext } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const size = z.object({ n: z.number().int() });
const ask = { message: "How many?", schema: size } as const;

const asking = catalogue([
  defineTool({ name: "form", run: async (_args, ctx) => `${(await ctx.elicit("size", ask)).n} will come` }),
  defineTool({ name: "page", run: async (_args, ctx) => ((await ctx.secret("key", { message: "The key?" })) ? "opened" : "") }),
  defineTool({
    name: "form-then-page",
    async run(_args, ctx) {
      const { n } = await ctx.elicit("size", ask);
      return (await ctx.secret("key", { message: "The key?" })) ? `${n} opened` : "";
    },
  }),
  defineTool({
    name: "both",
    async run(_args, ctx) {
      const [{ n }] = await Promise.all([ctx.elicit("size", ask), ctx.secret("key", { message: "The key?" })]);
      return `${n} opened`;
    },
  }),
  defineTool({
    name: "for-ann",
    run: async (_args, ctx) => `${(await ctx.elicit("size", { ...ask, to: { people: ["ann", "bob"] } })).n}`,
  }),
  defineTool({ name: "login", run: async (_args, ctx) => `${(await ctx.elicit("size", { ...ask, assurance: "login" })).n}` }),
  defineTool({
    name: "model-after-form",
    async run(_args, ctx) {
      const thought = async () => (await ctx.elicit("size", ask), await ctx.sample("thought", { messages: [], maxTokens: 9 }));
      const all = await Promise.allSettled([ctx.secret("key", { message: "The key?" }), thought()]);
      return all.map(({ status }) => status).join(", ");
    },
  }),
  defineTool({
    name: "page-then-model",
    async run(_args, ctx) {
      await Promise.allSettled([ctx.secret("key", { message: "The key?" })]);
      const [model] = await Promise.allSettled([ctx.sample("thought", { messages: [], maxTokens: 9 })]);
      const [folders] = await Promise.allSettled([ctx.roots("folders")]);
      return `${model.status}, ${folders.status}`;
    },
  }),
  defineTool({
    name: "page-and-model",
    async run(_args, ctx) {
      const model = ctx.sample("thought", { messages: [], maxTokens: 9 });
      const all = await Promise.allSettled([ctx.secret("key", { message: "The key?" }), model, ctx.roots("folders")]);
      return all.map(({ status }) => status).join(", ");
    },
  }),
  defineTool({
    name: "page-or-model",
    async run(_args, ctx) {
      await Promise.all([ctx.secret("key", { message: "The key?" }), ctx.sample("thought", { messages: [], maxTokens: 9 })]);
      return "";
    },
  }),
]);

interface Called {
  /** Of the question that is asked first, if one is asked. */
  readonly asked?: Message;
  readonly text?: string;
  /** Answers the question; what the call then comes to. Of a page: agrees to visit it. */
  answer(content?: object): Promise<Called>;
  decline(): Promise<Called>;
}

interface Client {
  call(name: string, args?: object): Promise<Called>;
  tools(): Promise<readonly string[]>;
}

const textIn = (result: Message["result"]) => (result as { content?: readonly { text: string }[] } | undefined)?.content?.[0]?.text;
const namesIn = (result: unknown) => (result as { readonly tools: readonly { readonly name: string }[] }).tools.map(({ name }) => name);

const CLIENTS: { readonly [family: string]: (front: Front, capabilities: object) => Promise<Client> } = {
  "2026-07-28": async (front, capabilities) => {
    const options = { tasks: false, capabilities, principal: "ann" };
    const call = async (params: object): Promise<Called> => {
      const { result, error } = await rpc(front, "tools/call", params, options);
      const { inputRequests, requestState } = (result ?? {}) as { inputRequests?: Record<string, Message>; requestState?: string };
      const [[key, asked] = []] = Object.entries(inputRequests ?? {});
      const text = textIn(result) ?? error?.message;
      const reply = (given: object) => call({ ...params, requestState, inputResponses: { [key ?? ""]: given } });
      return {
        ...(asked && { asked }),
        ...(text !== undefined && { text }),
        answer: (content) => reply({ action: "accept", ...(content && { content }) }),
        decline: () => reply({ action: "decline" }),
      };
    };
    return {
      call: (name, args = {}) => call({ name, arguments: args }),
      tools: async () => namesIn((await rpc(front, "tools/list", {}, options)).result),
    };
  },
  "2025-11-25": async (front, capabilities) => {
    const session = await openSession(front, { capabilities, principal: "ann" });
    return {
      async call(name, args = {}) {
        const stream = await session.stream(front, "tools/call", { name, arguments: args });
        const next = async (): Promise<Called> => {
          for (;;) {
            // oxlint-disable-next-line no-await-in-loop -- one after the other
            const message = await stream.next().catch(() => JSON.parse(stream.text) as Message);
            if (message.id === undefined) continue;
            const text = textIn(message.result) ?? message.error?.message;
            const reply = async (given: object) => {
              const { status } = await session.reply(front, message.id, given);
              if (status !== 202) throw new Error(`the reply was refused: ${status}`);
              return await next();
            };
            return {
              ...(message.method !== undefined && { asked: message }),
              ...(text !== undefined && { text }),
              answer: (content) => reply({ action: "accept", ...(content && { content }) }),
              decline: () => reply({ action: "decline" }),
            };
          }
        };
        return await next();
      },
      tools: async () => namesIn((await session.request(front, "tools/list", {})).messages.at(-1)!.result),
    };
  },
};

const FORMS = { elicitation: { form: {} } };
const PAGES = { elicitation: { url: {} } };

async function start(family: string, capabilities: object, options: Partial<Deploy> = {}) {
  const authenticate = () => callerNamed("ann", { authenticatedBy: "oidc" });
  const deployment = await deploy({ catalogue: asking, fronts: 1, authenticate, ...options });
  const [front] = deployment.fronts as [Front];
  const client = await CLIENTS[family]!(front, capabilities);
  const listed = async () => (await deployment.services.store.list({ principal: "ann", limit: 9 })).tasks.map(({ id }) => id);
  /** As a person does elsewhere. */
  const answer = async (taskId: string, key: string, content: object, action = "accept") => {
    const url = `${new URL(front.url).origin}/api/v1/asks/${taskId}/${key}`;
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ action, ...(action === "accept" && { content }) }),
    });
    return response.status;
  };
  return { ...deployment, front, client, listed, answer };
}

const idIn = (text = "") => /taskId "([^"]+)"/.exec(text)?.[1] ?? "";

describe.each(Object.keys(CLIENTS))("a client of %s", (family) => {
  test("that shows pages and no forms is sent to the page of a form, and has the result once its user has answered there", async () => {
    const visitors = { authenticate: () => callerNamed("ann", { authenticatedBy: "oidc" }), ticket: undefined };
    const { client, listed, answer, services } = await start(family, PAGES, { visitors });
    const first = await client.call("form");
    const [, taskId = ""] = /\/asks\/([^/]+)\/size$/.exec(String(first.asked?.params?.["url"])) ?? [];
    expect(first.asked?.params).toMatchObject({ mode: "url", message: "How many?" });
    expect(first.asked?.params).not.toHaveProperty("requestedSchema");
    expect(await (await fetch(String(first.asked?.params?.["url"]))).text()).toMatch(/How many\?.*<form/s);
    const agreed = first.answer();
    await until(async () => (await services.store.load(taskId))?.asks[0]?.agreed);
    expect(await listed()).toEqual([]);
    expect(await answer(taskId, "size", { n: 4 })).toBe(200);
    expect((await agreed).text).toBe("4 will come");
    expect(await listed()).toEqual([]);
  });

  test("that shows pages and no forms agrees too late, when its user has answered on the page already", async () => {
    const { client, answer } = await start(family, PAGES);
    const first = await client.call("form");
    const [, taskId = ""] = /\/asks\/([^/]+)\/size/.exec(String(first.asked?.params?.["url"])) ?? [];
    expect(await answer(taskId, "size", { n: 4 })).toBe(200);
    expect((await first.answer()).text).toBe("4 will come");
  });

  test("that shows pages and no forms declines a form without a visit", async () => {
    const { client } = await start(family, PAGES);
    expect((await (await client.call("form")).decline()).text).toMatch(/^The user declined/);
  });

  test("that shows pages and no forms is sent to one page after the other", async () => {
    const { client, answer, services } = await start(family, PAGES);
    const first = await client.call("form-then-page");
    const [, taskId = ""] = /\/asks\/([^/]+)\/size/.exec(String(first.asked?.params?.["url"])) ?? [];
    const second = first.answer();
    await until(async () => (await services.store.load(taskId))?.asks[0]?.agreed);
    await answer(taskId, "size", { n: 4 });
    expect((await second).asked?.params).toMatchObject({
      mode: "url",
      message: "The key?",
      url: expect.stringContaining(`/asks/${taskId}/key`),
    });
  });

  test("that shows forms and no pages is asked the form, and then told of the page", async () => {
    const { client, listed } = await start(family, FORMS);
    const first = await client.call("form-then-page");
    expect(first.asked?.params).toMatchObject({ message: "How many?" });
    expect(await listed()).toEqual([]);
    const { text } = await first.answer({ n: 4 });
    expect(text).toMatch(/^NOT FINISHED: form-then-page waits for an answer\.\n\nQuestion: The key\?/);
    expect(await listed()).toEqual([idIn(text)]);
  });

  test("is asked what it shows before it is told of the rest, if both are open at once", async () => {
    const { client } = await start(family, FORMS);
    const first = await client.call("both");
    expect(first.asked?.params).toMatchObject({ message: "How many?" });
    expect((await first.answer({ n: 4 })).text).toMatch(/^NOT FINISHED: both waits for an answer\.\n\nQuestion: The key\?/);
  });

  test.each([FORMS, PAGES])("is told where its user answers what needs a login: %j", async (capabilities) => {
    const { client, listed, answer } = await start(family, capabilities);
    const { text } = await client.call("login");
    const taskId = idIn(text);
    expect(text).toMatch(/^NOT FINISHED: login waits for an answer\.\n\nQuestion: How many\?/);
    expect(text).toMatch(new RegExp(`Page: \\S+/asks/${taskId}/size`));
    expect(text).toContain("Call parley_task with taskId");
    expect(text).not.toContain("parley_asks");
    // It has a handle now, so its owner finds it.
    expect(await listed()).toEqual([taskId]);
    const polled = client.call("parley_task", { taskId });
    expect(await answer(taskId, "size", {}, "decline")).toBe(403);
    expect((await polled).text).toMatch(/^NOT FINISHED/);
  });

  test("is told in the end that its model cannot be asked, whatever else is open", async () => {
    const { client } = await start(family, FORMS);
    const { text } = await client.call("page-or-model");
    const taskId = idIn(text);
    const told = taskId === "" ? text : (await client.call("parley_task", { taskId, seen: 99 })).text;
    expect(told).toMatch(/declare/);
  });

  test("is offered the tool to wait with, unless it shows forms and pages, which are then asked of it", async () => {
    const tools = async (capabilities: object) =>
      (await (await start(family, capabilities)).client.tools()).filter((name) => name.startsWith("parley"));
    expect(await tools(FORMS)).toEqual(["parley_task"]);
    expect(await tools(PAGES)).toEqual(["parley_task"]);
    expect(await tools({ elicitation: { form: {}, url: {} } })).toEqual([]);
  });

  test("is waited for by no request to its model, which it did not declare, also if a run asks it that began before the call was told", async () => {
    const { client, services, answer } = await start(family, FORMS);
    const first = await client.call("model-after-form");
    const held = holdNext(services.store, "reveal");
    const told = first.answer({ n: 4 });
    const [taskId] = await until(async () => {
      const [due] = held.awaited ? await services.store.overdue({ partition: 0, nowMs: Number.MAX_SAFE_INTEGER, limit: 1 }) : [];
      const task = due && (await services.store.load(due.taskId));
      return task?.asks.some(({ key }) => key === "thought") && [task.id];
    });
    held.resolve();
    expect(idIn((await told).text)).toBe(taskId);
    expect(await answer(taskId, "key", {}, "decline")).toBe(200);
    expect((await client.call("parley_task", { taskId, seen: 99 })).text).toBe("rejected, rejected");
  });

  test.each([
    ["shows forms", { ...FORMS, sampling: {}, roots: {} }],
    ["knows tools", { sampling: {}, roots: {} }],
  ])(
    "that %s and was told in words is asked no more for its model and its folders: that ends at once, with a clear error",
    async (_what, capabilities) => {
      const { client, services, answer } = await start(family, capabilities);
      const taskId = idIn((await client.call("page-then-model")).text);
      expect((await services.store.load(taskId))?.call).toMatchObject({ hidden: false, capabilities: {} });
      expect(await answer(taskId, "key", {}, "decline")).toBe(200);
      await until(async () => (await services.store.load(taskId))?.status === "completed");
      expect((await client.call("parley_task", { taskId, seen: 99 })).text).toBe("rejected, rejected");
    },
  );

  test("is told of the page, also if a model and folders are asked for at the same time that it did not declare", async () => {
    const { client, answer } = await start(family, FORMS);
    const { text } = await client.call("page-and-model");
    expect(text).toMatch(/^NOT FINISHED: page-and-model waits for an answer\.\n\nQuestion: The key\?/);
    const taskId = idIn(text);
    expect(await answer(taskId, "key", {}, "decline")).toBe(200);
    expect((await client.call("parley_task", { taskId, seen: 99 })).text).toBe("rejected, rejected, rejected");
  });

  test("is told once Redis is back, if it was away when the call got its handle", async () => {
    const { client, listed, services } = await start(family, FORMS);
    const reveal = vi.spyOn(services.store, "reveal");
    reveal.mockRejectedValueOnce(new ParleyError("UNAVAILABLE", "Redis did not answer in time"));
    const called = client.call("page");
    const taskId = String(await until(() => reveal.mock.settledResults.length > 0 && reveal.mock.calls[0]?.[0]));
    (services.wakeUps as MemoryWakeUps).changed(taskId);
    expect(idIn((await called).text)).toBe(taskId);
    expect(await listed()).toEqual([taskId]);
  });

  test("gets the error as before where a deployment forbids text, or ends what a client cannot be asked", async () => {
    for (const options of [
      { ladder: { rungs: new Set(["task", "input_required", "held", "apps"] as const) } },
      { settings: { taskWithoutCapability: "end" as const } },
    ]) {
      const { client, listed } = await start(family, FORMS, options);
      expect((await client.call("page")).text).toMatch(/declare/);
      expect(await listed()).toEqual([]);
      expect(await client.tools()).not.toContain("parley_task");
    }
  });
});

test("a task of 2026-07-28 sends a client that shows pages and no forms to the page of a form, and says meanwhile that it waits for it", async () => {
  const { front, answer } = await start("2026-07-28", PAGES);
  const options = { capabilities: PAGES, principal: "ann" };
  const taskId = String((await rpc(front, "tools/call", { name: "form", arguments: {} }, options)).result?.["taskId"]);
  const read = async () => (await rpc(front, "tasks/get", { taskId }, options)).result!;
  const asked = await until(async () => (await read())["inputRequests"]);
  expect(asked["size"]?.["params"]).toMatchObject({ mode: "url", url: expect.stringContaining(`/asks/${taskId}/size`) });
  await rpc(front, "tasks/update", { taskId, inputResponses: { size: { action: "accept" } } }, options);
  expect(await read()).toMatchObject({ status: "working", statusMessage: 'Waiting for a page to be completed: "How many?".' });
  expect(await answer(taskId, "size", { n: 4 })).toBe(200);
  const { result } = await until(async () => (await read())["status"] === "completed" && (await read()));
  expect(textIn(result as never)).toBe("4 will come");
});

test("a session is told that the page of a form is done, on the stream of its call and on that of a task", async () => {
  const { front, answer } = await start("2025-11-25", PAGES);
  const session = await openSession(front, { capabilities: PAGES, principal: "ann" });
  const created = (await session.request(front, "tools/call", { name: "form", arguments: {}, task: {} })).messages.at(-1)!;
  const { taskId } = created.result!["task"] as unknown as { taskId: string };
  expect(JSON.stringify(created.result?.["_meta"])).toContain(`/asks/${taskId}/size`);
  const streams = [
    await session.stream(front, "tools/call", { name: "form", arguments: {} }),
    await session.stream(front, "tasks/result", { taskId }),
  ];
  for (const stream of streams) {
    const asked = await stream.next();
    expect(asked.params).toMatchObject({
      mode: "url",
      url: expect.stringMatching(/\/asks\/[^/]+\/size\?k=/),
      elicitationId: expect.any(String),
    });
    const [, id = ""] = /\/asks\/([^/]+)\/size/.exec(String(asked.params?.["url"])) ?? [];
    expect((await session.reply(front, asked.id, { action: "accept" })).status).toBe(202);
    expect(await answer(id, "size", { n: 4 })).toBe(200);
    expect(await stream.next()).toMatchObject({
      method: "notifications/elicitation/complete",
      params: { elicitationId: asked.params?.["elicitationId"] },
    });
    expect(textIn((await stream.next()).result)).toBe("4 will come");
  }
});

test("a page that is asked of several people, or of others, is not for the client of one", async () => {
  const { client, listed } = await start("2026-07-28", PAGES);
  const { asked, text } = await client.call("for-ann");
  expect(asked).toBeUndefined();
  expect(text).toMatch(/^NOT FINISHED: for-ann waits for an answer\./);
  expect(await listed()).toEqual([idIn(text)]);
});
