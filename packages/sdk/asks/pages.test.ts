import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { type JsonObject, ParleyError, RpcFailure, ToolError } from "@parley/core";
import { createPages } from "./pages.ts";
import { accept, decline, runTool, startTool } from "../testing/testing.ts";
import type { Grant } from "../values/grant.ts";
import type { Secret } from "../values/secret.ts";
import { defineTool } from "../define/tool.ts";
import type { Context } from "../context/context.ts";
import { z } from "zod";

const connect = defineTool({
  name: "connect",
  async run(_args, ctx) {
    const key = await ctx.secret("key", { message: "Your key?", timeout: "1 hour" });
    const length = await ctx.step("use", () => key.use((text) => text.length));
    await ctx.sleep("later", "1 day");
    return `${String(key)} ${inspect({ key })} ${JSON.stringify({ key })} ${length} ${await ctx.step("again", async () => (await key.reveal()).length)}`;
  },
});

describe("a secret", () => {
  test("is read by steps, in later runs too, and appears nowhere", async () => {
    const run = await runTool(connect, {}, { answers: { key: { secret: "hunter2" } }, crashAt: "every" });
    expect(run.text).toBe('[secret] { key: [secret] } {"key":"[secret]"} 7 7');
    expect(run.journal).toEqual(["ask:key", "step:use", "sleep:later", "step:again"]);
    expect(JSON.stringify([run.task, run.asks, run.feed])).not.toContain("hunter2");
  });

  test("is not recorded, as itself or as its text, at any depth", async () => {
    const leak = (leaked: (key: Secret) => unknown) =>
      defineTool({
        name: "leak",
        async run(_args, ctx) {
          const key = await ctx.secret("key", { message: "Your key?" });
          await ctx.step("leak", async () => leaked(key));
          return "recorded";
        },
      });
    const answers = { key: { secret: 'hunter2 "quoted"' } };
    const as = async (leaked: (key: Secret) => unknown) => (await runTool(leak(leaked), {}, { answers })).text;
    expect(await as((key) => ({ deep: [key] }))).toBe('the result of step "leak" is not plain data: /deep/0 is a secret');
    expect(await as(async (key) => ({ deep: [`Bearer ${await key.reveal()}`] }))).toBe(
      "the result of step leak holds a secret, which would be recorded or shown: leave it out",
    );
    // A short secret occurs in unrelated text.
    const short = await runTool(
      leak((key) => key.reveal()),
      {},
      { answers: { key: { secret: "12345" } } },
    );
    expect(short.text).toBe("recorded");
    const six = await runTool(
      leak((key) => key.reveal()),
      {},
      { answers: { key: { secret: "123456" } } },
    );
    expect(six.text).not.toBe("recorded");
  });

  test("is not shown by the result of its tool, nor by its error", async () => {
    const shown = (show: (text: string) => string) =>
      defineTool({
        name: "show",
        async run(_args, ctx) {
          const key = await ctx.secret("key", { message: "Your key?" });
          return show(await key.reveal());
        },
      });
    const errors = [
      (text: string) => new ToolError(`${text} is wrong`),
      (text: string) => new ToolError(`${text} is wrong`, { retryable: true }),
      (text: string) => new RpcFailure(-32_000, `${text} is wrong`),
      (text: string) => new RpcFailure(-32_000, "wrong", { key: text }),
    ];
    const answers = { key: { secret: "123456" } };
    expect(
      (
        await runTool(
          shown((text) => `It is ${text}.`),
          {},
          { answers },
        )
      ).error,
    ).toMatchObject({
      message: "the result holds a secret, which would be recorded or shown: leave it out",
      data: { code: "NOT_SERIALIZABLE" },
    });
    for (const refuse of errors) {
      const refusing = shown((text) => {
        throw refuse(text);
      });
      expect((await runTool(refusing, {}, { answers })).error).toMatchObject({ data: { code: "NOT_SERIALIZABLE" } });
    }
    expect(
      (
        await runTool(
          shown((text) => `It has ${text.length}.`),
          {},
          { answers },
        )
      ).text,
    ).toBe("It has 6.");
    // A short secret occurs in unrelated text.
    expect(
      (
        await runTool(
          shown((text) => text),
          {},
          { answers: { key: { secret: "12345" } } },
        )
      ).text,
    ).toBe("12345");
  });

  const SHOWN = "leave it out";
  /** Reads the secret in a step, and passes it on by accident. */
  const spilling = (spill: (ctx: Context, text: string) => unknown) =>
    defineTool({
      name: "spill",
      async run(_args, ctx) {
        const key = await ctx.secret("key", { message: "Your key?" });
        let read = "";
        await ctx.step("read", async () => void (read = await key.reveal()));
        await spill(ctx, read);
        return "done";
      },
    });
  const spilled = async (spill: (ctx: Context, text: string) => unknown, secret = 'hunter2 "quoted"') => {
    const run = await runTool(spilling(spill), {}, { answers: { key: { secret } } });
    return { ...run, all: JSON.stringify([run.task, run.asks, run.feed, run.error, (await run.exported()).journal]) };
  };

  test.each<readonly [what: string, spill: (ctx: Context, text: string) => unknown]>([
    ["question", (ctx, text) => ctx.confirm("sure", { message: `Use ${text}?` })],
    ["form", (ctx, text) => ctx.elicit("form", { message: "?", schema: z.object({ use: z.literal(text) }) })],
    ["address", (ctx, text) => ctx.url("visit", { message: "?", url: `https://example.com/${text.split(" ")[0]}` })],
    ["page", (ctx, text) => ctx.secret("other", { message: text })],
    ["sampling request", (ctx, text) => ctx.sample("s", { messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 1 })],
    ["call of another tool", (ctx, text) => ctx.call("other", { text })],
    ["restart", (ctx, text) => ctx.restart({ text })],
    ["log", (ctx, text) => ctx.log("warning", { deep: [text] })],
    ["progress", (ctx, text) => ctx.progress(1, 2, `with ${text}`)],
    ["status", (ctx, text) => ctx.status(`with ${text}`)],
    ["emitted table", (ctx, text) => ctx.emit("table", { text })],
    ["immediate response", (ctx, text) => ctx.immediateResponse(text)],
  ])("is not shown by the %s of its tool: the task fails instead", async (what, spill) => {
    const secret = what === "address" ? "hunter22" : 'hunter2 "quoted"';
    const run = await spilled(spill, secret);
    expect(run.error).toMatchObject({ message: expect.stringContaining(SHOWN), data: { code: "NOT_SERIALIZABLE" } });
    expect(run.all).not.toContain("hunter2");
  });

  test("is not shown by what a step reports: the step fails", async () => {
    const run = await spilled((ctx, text) => ctx.step("report", () => ctx.log(`with ${text}`)));
    expect(run.text).toContain(SHOWN);
    expect(run.all).not.toContain("hunter2");
  });

  test("is not recorded with the error of a step, which is tried again all the same", async () => {
    let tries = 0;
    const run = await spilled(async (ctx, text) => {
      const failing = () => {
        tries += 1;
        throw new TypeError(`no access with ${text}`, { cause: new Error(text) });
      };
      const failed: unknown = await ctx.step("fail", failing, { attempts: 2 }).catch((error: unknown) => error);
      expect(failed).toMatchObject({ message: "(the text holds a secret)" });
      const refused = await ctx.step("refuse", () => Promise.reject(new ToolError(text))).catch((error: unknown) => error);
      expect(refused).toMatchObject({ message: `the error of step refuse holds a secret, which would be recorded or shown: ${SHOWN}` });
    });
    expect(run.text).toBe("done");
    expect(tries).toBe(2);
    expect(run.all).not.toContain("hunter2");
  });

  test("is not shown with an error that nobody expected", async () => {
    const run = await spilled((_ctx, text) => {
      throw new RangeError(`${text} is too short`);
    });
    expect(run.text).toContain("(the text holds a secret)");
    expect(run.all).not.toContain("hunter2");
  });

  test("is gone when the task restarts", async () => {
    const held: Secret[] = [];
    const again = defineTool({
      name: "again",
      async run(_args, ctx) {
        const key = await ctx.secret("key", { message: "Your key?" });
        held.push(key);
        if (held.length === 1) return await ctx.restart({});
        return `${await ctx.step("read", () => key.reveal().then((text) => text.length))}`;
      },
    });
    const run = await startTool(again, {}, { strict: false });
    await run.answer({ key: { secret: "one" } });
    await expect(held[0]?.reveal()).rejects.toMatchObject({ code: "DEPOSIT_UNREADABLE" });
    await run.answer({ "key@1": { secret: "other" } });
    expect(run.text).toBe("5");
    await expect(held.at(-1)?.reveal()).rejects.toMatchObject({ code: "DEPOSIT_UNREADABLE" });
  });

  test("that is declined, or not given in time, has the outcome of other questions", async () => {
    expect((await runTool(connect, {}, { answers: { key: decline } })).text).toContain("declined");
    const run = await startTool(connect);
    await run.advance("1 hour");
    expect(run.text).toContain("was not answered in time");
  });

  test("is entered on its page: the kit says so to a script that does otherwise", async () => {
    await expect(runTool(connect, {}, { answers: { key: accept } })).rejects.toThrow(
      '"key" is answered on its page: { secret: "…" }, { grant: "…" }, { returned: { … } } or',
    );
    await expect(runTool(connect, {}, { answers: { key: { text: "hunter2" } } })).rejects.toThrow(
      'asks for a secret: answer { secret: "…" }',
    );
  });

  test("cannot be an early reply", async () => {
    const run = await startTool(connect);
    expect(run.task.asks.map(({ key, request }) => [key, request])).toEqual([
      ["key", { type: "url", message: "Your key?", url: "", page: { kind: "secret" } }],
    ]);
  });
});

describe("a file", () => {
  const count = defineTool({
    name: "count",
    async run(_args, ctx) {
      const table = await ctx.file("table", { message: "The table?", accept: [".csv"], maxBytes: 1_000 });
      const more = await ctx.file("more", { message: "More?", count: 3 });
      const lines = await ctx.step("count", async () => (await new Response(await ctx.openFile(table)).text()).split("\n").length);
      return `${table.name} ${table.type} ${table.size} ${lines} ${more.map(({ name }) => name).join()}`;
    },
  });

  test("is a reference for the tool, and its content for a step", async () => {
    const answers = {
      table: { file: { name: "a.csv", text: "a,b\n1,2", type: "text/csv" } },
      more: {
        files: [
          { name: "b", text: "" },
          { name: "c", text: "" },
        ],
      },
    };
    const run = await runTool(count, {}, { answers, crashAt: "every" });
    expect(run.text).toBe("a.csv text/csv 7 2 b,c");
    expect(run.asks.map(({ request }) => request)).toMatchObject([
      { page: { kind: "files", accept: [".csv"], bytesMax: 1_000, countMax: 1 } },
      { page: { kind: "files", accept: [], bytesMax: 10_485_760, countMax: 3 } },
    ]);
  });

  test.each([
    [{ accept: ["pdf"] }, "/accept"],
    [{ accept: Array.from({ length: 51 }, () => ".pdf") }, "/accept"],
    [{ maxBytes: 0 }, "/maxBytes"],
    [{ maxBytes: 1.5 }, "/maxBytes"],
    [{ count: 0 }, "/count"],
    [{ count: 21 }, "/count"],
  ])("cannot be asked for by %j", async (ask, path) => {
    const odd = defineTool({
      name: "odd",
      run: async (_args, ctx) => `${JSON.stringify(await ctx.file("f", { message: "?", ...(ask as object) }))}`,
    });
    const run = await startTool(odd);
    expect(`${run.text} ${run.error?.message}`).toContain(path);
  });

  test("can be up to twenty files, of up to fifty types", async () => {
    const ask = { message: "?", count: 20, accept: Array.from({ length: 50 }, (_, n) => `.e${n}`) };
    const run = await startTool(defineTool({ name: "odd", run: async (_args, ctx) => `${(await ctx.file("f", ask)).length}` }));
    expect(run.task.status).toBe("input_required");
  });
});

describe("a grant", () => {
  const granting = (use: (grant: Grant) => unknown) =>
    defineTool({
      name: "plan",
      async run(_args, ctx) {
        const grant = await ctx.oauth("calendar", {
          provider: "google",
          scopes: ["write", "read", "read"],
          message: "Your calendar?",
          timeout: "1 hour",
        });
        await ctx.sleep("later", "1 day");
        const used = await ctx.step("use", async () => use(grant));
        return `${grant.provider} ${grant.scopes.join()} ${inspect({ grant })} ${JSON.stringify({ grant })} ${String(grant)} ${JSON.stringify(used)}`;
      },
    });

  test("is read by steps, in later runs too, and appears nowhere", async () => {
    const tool = granting((grant) => grant.use((token) => token.length));
    const run = await runTool(tool, {}, { answers: { calendar: { grant: "hunter2", scopes: ["read"] } }, crashAt: "every" });
    expect(run.text).toBe('google read { grant: [grant] } {"grant":"[grant]"} [grant] 7');
    expect(run.asks).toMatchObject([
      { request: { type: "url", url: "", page: { kind: "oauth", provider: "google", scopes: ["read", "write"] } } },
    ]);
    expect(JSON.stringify([run.task, run.asks, run.feed, await run.exported()])).not.toContain("hunter2");
  });

  test("is renewed if the service refused it", async () => {
    const tool = granting(async (grant) => [(await grant.accessToken({ refused: "hunter2" })).length, (await grant.accessToken()).length]);
    const run = await runTool(tool, {}, { answers: { calendar: { grant: "hunter2" } } });
    expect(run.text).toContain("[16,16]");
  });

  test("is not recorded, as itself or as a token", async () => {
    const as = async (use: (grant: Grant) => unknown) =>
      (await runTool(granting(use), {}, { answers: { calendar: { grant: "hunter2" } } })).text;
    expect(await as((grant) => ({ deep: [grant] }))).toContain("/deep/0 is a");
    expect(await as((grant) => grant.use((token) => `Bearer ${token}`))).toContain("holds a secret, which would be recorded or shown");
  });

  test("is refused like every question", async () => {
    const refused = await runTool(
      granting(() => 1),
      {},
      { answers: { calendar: decline } },
    );
    expect(refused.text).toContain("declined");
    await expect(
      runTool(
        granting(() => 1),
        {},
        { answers: { calendar: accept } },
      ),
    ).rejects.toThrow('{ grant: "…" }');
    await expect(
      runTool(
        granting(() => 1),
        {},
        { answers: { calendar: { secret: "x" } } },
      ),
    ).rejects.toThrow('asks for access at google: answer { grant: "an access token" }');
  });
});

describe("a visit from which the person returns", () => {
  const visiting = (more: object = {}) =>
    defineTool({
      name: "pay",
      async run(_args, ctx) {
        const paid = ctx.event("paid");
        const query = await ctx.url("pay", {
          message: "Please pay",
          url: "https://shop.example/pay",
          returnTo: "return_url",
          ...more,
          ...("event" in more && { completedBy: paid }),
        } as { message: string; url: string; returnTo: string });
        return JSON.stringify(query);
      },
    });

  test("gives the tool the parameters of the return, in every run", async () => {
    const run = await runTool(visiting(), {}, { answers: { pay: { returned: { status: "paid" } } }, crashAt: "every" });
    expect(run.text).toBe('{"status":"paid"}');
    expect(run.asks).toMatchObject([
      { request: { type: "url", url: "", page: { kind: "visit", url: "https://shop.example/pay", returnTo: "return_url" } } },
    ]);
    await expect(runTool(visiting(), {}, { answers: { pay: { secret: "x" } } })).rejects.toThrow("answer { returned: { … } }");
  });

  test.each([
    [{ url: "http://shop.example" }, "/url has the scheme http"],
    [{ returnTo: "a b" }, "/returnTo must be the name of a parameter"],
    [{ returnTo: "" }, "/returnTo must be the name of a parameter"],
    [{ event: true }, "/returnTo and completedBy both say when the person is done"],
  ])("cannot be asked for with %o", async (more, problem) => {
    const run = await runTool(visiting(more), {}, { answers: { pay: { returned: {} } } });
    expect(run.text + (run.error?.message ?? "")).toContain(problem);
  });
});

describe("a deployment without a service for a page", () => {
  /** The pages of a deployment that keeps secrets, with the services that a test provides. */
  function over(more: Partial<Parameters<typeof createPages>[0]>, given: JsonObject = { deposit: "key" }) {
    const effects = { deposit: async (key: string) => `text of ${key}`, accessToken: undefined, openFile: undefined, ...more };
    return { effects, pages: createPages(effects, async () => given) };
  }
  const ask = { message: "?" };
  const oauthAsk = { ...ask, provider: "google", scopes: ["read"] };
  const refusal = (error: unknown) => {
    if (!(error instanceof ParleyError)) throw error;
    return [error.code, error.message];
  };

  test("reports it when files or a provider are requested", async () => {
    const { pages } = over({});
    const noProviders = ["OAUTH_UNAVAILABLE", 'the ask "q" is for access at a provider, but none is set up here (PARLEY_OAUTH)'];
    expect(await pages.files("q", ask, 1).catch(refusal)).toStrictEqual([
      "FILES_UNAVAILABLE",
      'the ask "q" is for files, but this deployment stores none (PARLEY_FILES)',
    ]);
    expect(await pages.openFile({ id: "x" }).catch(refusal)).toStrictEqual([
      "FILES_UNAVAILABLE",
      "this front end stores no files (PARLEY_FILES)",
    ]);
    expect(await pages.oauth("q", oauthAsk).catch(refusal)).toStrictEqual(noProviders);
    const later = over({ accessToken: async () => "token" });
    const grant = await later.pages.oauth("q", oauthAsk);
    expect([grant.scopes, await grant.accessToken()]).toStrictEqual([[], "token"]);
    Object.assign(later.effects, { accessToken: undefined });
    expect(await grant.accessToken().catch(refusal)).toStrictEqual([noProviders[0], noProviders[1]?.replace('"q"', '"key"')]);
  });

  test("reports a page's question that was answered elsewhere", async () => {
    const { pages } = over({ accessToken: async () => "token" }, {});
    const unreadable = ["DEPOSIT_UNREADABLE", 'the ask "q" was answered without its page'];
    expect(await pages.secret("q", ask).catch(refusal)).toStrictEqual(unreadable);
    expect(await pages.oauth("q", oauthAsk).catch(refusal)).toStrictEqual(unreadable);
  });

  test("passes scopes that are not a list to core, which says what is wrong", async () => {
    const asked: unknown[] = [];
    const pages = createPages({ deposit: async () => "", accessToken: async () => "", openFile: undefined }, async (...given) => {
      asked.push(given);
      return { deposit: "key" };
    });
    await pages.oauth("q", { ...oauthAsk, scopes: "read" as never });
    expect(asked).toStrictEqual([["q", ask, { kind: "oauth", provider: "google", scopes: "read" }]]);
  });
});
