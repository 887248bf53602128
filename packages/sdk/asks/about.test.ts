import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { ParleyError } from "@parley/core";
import { ask, type Context, defineTool, type ToolGenerator } from "../index.ts";
import { runTool, startTool } from "../testing/testing.ts";
import type { AboutOptions } from "./about.ts";

const ABOUT = {
  priority: "high",
  due: "4 hours",
  context: [{ type: "diff", title: "Price", before: "40", after: "60" }],
  allow: ["delegate"],
  remind: ["4 hours", "1 day"],
  escalate: { after: "2 days", to: { groups: ["leads"] } },
} as const satisfies AboutOptions;
const HOUR = 3_600_000;
const STORED = {
  priority: "high",
  dueMs: 4 * HOUR,
  context: ABOUT.context,
  allow: ["delegate"],
  remindMs: [4 * HOUR, 24 * HOUR],
  escalate: [{ afterMs: 48 * HOUR, to: { groups: ["leads"] } }],
};

const asking = (run: (ctx: Context) => Promise<unknown>) => defineTool({ name: "ask", run: async (_args, ctx) => String(await run(ctx)) });

describe("priority, due, context, allow, remind and escalate", () => {
  test.each<[string, (ctx: Context) => Promise<unknown>]>([
    ["elicit", (ctx) => ctx.elicit("q", { message: "?", schema: z.object({}), ...ABOUT })],
    ["elicit with a page", (ctx) => ctx.elicit("q", { message: "?", url: "https://a.example", ...ABOUT })],
    ["elicit with a page that returns", (ctx) => ctx.elicit("q", { message: "?", url: "https://a.example", returnTo: "back", ...ABOUT })],
    ["text", (ctx) => ctx.text("q", { message: "?", ...ABOUT })],
    ["form", (ctx) => ctx.form("q", { message: "?", schema: z.object({}), ...ABOUT })],
    ["url", (ctx) => ctx.url("q", { message: "?", url: "https://a.example", ...ABOUT })],
    ["secret", (ctx) => ctx.secret("q", { message: "?", ...ABOUT })],
  ])("are asked by ctx.%s, and are no hints", async (_method, question) => {
    const { asks } = await startTool(asking(question));
    expect(asks).toMatchObject([{ request: { about: STORED } }]);
    expect(asks[0]?.request).not.toHaveProperty("hints");
  });

  test("are asked by generator tools", async () => {
    const tool = defineTool({
      name: "ask",
      *run(): ToolGenerator<string> {
        yield { ask: "text", id: "q", message: "?", ...ABOUT };
        return String(yield* ask.confirm({ id: "sure", message: "?", ...ABOUT }));
      },
    });
    const run = await startTool(tool);
    await run.answer({ q: "a" });
    expect(run.asks).toMatchObject([{ request: { about: STORED } }, { request: { about: STORED } }]);
  });

  test("leave the question as it was asked before if there are none", async () => {
    const plain = await startTool(asking((ctx) => ctx.text("q", { message: "?", priority: "normal" })));
    expect(plain.asks[0]?.request).not.toHaveProperty("about");
  });

  test("say what is allowed besides answering, which is no part of what was asked", async () => {
    const asked = async (allow: "delegate"[]) => (await startTool(asking((ctx) => ctx.text("q", { message: "?", allow })))).asks[0];
    expect(await asked(["delegate"])).toMatchObject({ request: { about: { allow: ["delegate"] } } });
    expect((await asked(["delegate"]))?.digest).toBe((await asked([]))?.digest);
  });

  test("say how the answerer must be identified, which is part of what was asked, and of no reply that came with the call", async () => {
    const asked = async (assurance: NonNullable<AboutOptions["assurance"]>) =>
      (await startTool(asking((ctx) => ctx.text("q", { message: "?", assurance })))).asks[0];
    const recent = await asked({ within: "15 minutes", acr: ["gold"], amr: ["mfa"] });
    expect(recent).toMatchObject({ request: { about: { assurance: { by: "login", withinMs: 900_000, acr: ["gold"], amr: ["mfa"] } } } });
    const all = [recent, await asked("login"), await asked("token"), await asked({ within: "1 hour" })];
    expect(new Set(all.map((each) => each?.digest)).size).toBe(4);
  });

  test("let only those answer who are identified so, in a test as well", async () => {
    const tool = asking((ctx) =>
      ctx.text("q", { message: "?", to: { groups: ["finance"] }, assurance: { within: "15 minutes", amr: ["mfa"] } }),
    );
    const run = await startTool(tool);
    const finance = { principal: "bob", groups: ["finance"] };
    const refused = 'the answer to "q" needs a login in a browser, at most 15 minutes ago, by mfa';
    for (const who of [finance, { ...finance, assurance: "login" }, { ...finance, login: { at: run.now, amr: ["mfa"] } }] as const)
      await expect(run.answer({ q: "fine" }, who)).rejects.toThrow(refused);
    await run.answer({ q: "fine" }, { ...finance, assurance: "login", login: { at: run.now, amr: ["mfa"] } });
    expect(run.text).toBe("fine");
    expect((await runTool(tool, {}, { answers: { q: "fine" }, crashAt: "every" })).text).toBe("fine");
  });

  test("one time or step is a list of one, and neither is part of what was asked", async () => {
    const asked = async (about: AboutOptions) => (await startTool(asking((ctx) => ctx.text("q", { message: "?", ...about })))).asks[0];
    const one = await asked({ remind: "1 day", escalate: { after: 60_000, to: "tenant" } });
    expect(one).toMatchObject({ request: { about: { remindMs: [24 * HOUR], escalate: [{ afterMs: 60_000, to: "tenant" }] } } });
    expect(one?.digest).toBe((await asked({}))?.digest);
  });

  test("a reminder and an escalation happen as time passes, and the tool goes on with the answer", async () => {
    const run = await startTool(asking((ctx) => ctx.text("q", { message: "?", to: { groups: ["finance"] }, ...ABOUT })));
    await run.advance("3 days");
    expect(run.task.asks[0]?.thread).toMatchObject({ reminded: { count: 2 }, escalatedTo: [{ groups: ["leads"] }] });
    await run.answer({ q: "fine" });
    expect(run.text).toBe("fine");
  });

  test("replay, also when the question is asked again because its answer did not fit", async () => {
    const schema = z.object({ n: z.int() }).refine(({ n }) => n > 5, "must be larger");
    const tool = asking(async (ctx) => JSON.stringify(await ctx.elicit("q", { message: "?", schema, ...ABOUT })));
    const answers = { q: { n: 1 }, "q#2": { n: 6 } };
    expect((await runTool(tool, {}, { answers, crashAt: "every" })).text).toBe('{"n":6}');
    const run = await startTool(tool);
    await run.answer({ q: { n: 1 } });
    expect(run.asks.map(({ request }) => request)).toMatchObject([{ about: STORED }, { about: STORED }]);
  });

  test("are refused with the option that is wrong", async () => {
    const refusal = async (about: object) => {
      const tool = asking((ctx) =>
        ctx
          .text("q", { message: "?", timeout: "1 hour", ...about })
          .catch((error: unknown) => (error as ParleyError).violations?.[0]?.path),
      );
      return (await runTool(tool, {}, { answers: {} })).text;
    };
    expect(await refusal({ priority: "asap" })).toBe("/priority");
    expect(await refusal({ due: "2 hours" })).toBe("/due");
    expect(await refusal({ context: [{ type: "text" }] })).toBe("/context/0");
    for (const allow of [["everything"], [1]]) expect(await refusal({ allow })).toBe("/allow");
    for (const assurance of ["model", "maximum", null, 1, ["login"], {}])
      expect([assurance, await refusal({ assurance })]).toEqual([assurance, "/assurance"]);
    expect(await refusal({ assurance: { by: "login" } })).toBe("/assurance/by");
    for (const within of ["soon", "59 seconds", "32 days", -1])
      expect([within, await refusal({ assurance: { within } })]).toEqual([within, "/assurance/within"]);
    for (const name of ["acr", "amr"])
      for (const values of ["mfa", [], ["two words"], [""], [1], ["x".repeat(257)], Array.from({ length: 11 }, (_, at) => `v${at}`)])
        expect([values, await refusal({ assurance: { [name]: values } })]).toEqual([values, `/assurance/${name}`]);
    const most = { within: "31 days", acr: Array.from({ length: 10 }, (_, at) => `${at}`.padEnd(256, "x")), amr: ["x"] };
    expect((await startTool(asking((ctx) => ctx.text("q", { message: "?", assurance: most as never })))).asks).toHaveLength(1);
    for (const remind of ["soon", null]) expect(await refusal({ remind })).toBe("/remind/0");
    expect(await refusal({ remind: ["10 minutes", "2 hours"] })).toBe("/remind/1");
    expect(await refusal({ remind: Array.from({ length: 11 }, (_, at) => `${at + 1} minutes`) })).toBe("/remind");
    for (const escalate of ["leads", [null]]) expect(await refusal({ escalate })).toBe("/escalate/0");
    expect(await refusal({ escalate: { after: "soon", to: "tenant" } })).toBe("/escalate/0/after");
    expect(await refusal({ escalate: { after: "10 minutes" } })).toBe("/escalate/0/to");
    expect(await refusal({ escalate: { after: "10 minutes", to: {} } })).toBe("/escalate/0/to");
  });
});
