/** The tools, prompts and resources for tests of the front end. Each definition shows one feature. */
import { catalogue, definePrompt, defineResource, defineResourceTemplate, defineTool, jsonSchema, RpcFailure } from "@parley/sdk";
import { z } from "zod";

const person = z.object({ name: z.string().min(1) });
const yes = z.object({ ok: z.boolean() });

/** `release` lets the tools that are at work finish. */
export const held = { release: () => undefined as void };

/** The files that `delete` deletes. */
export const disk = new Set<string>();

export const offered = catalogue([
  defineTool({ name: "echo", input: z.object({ text: z.string() }), run: ({ text }) => text, task: "never" }),
  defineTool({
    name: "greet",
    input: jsonSchema({ type: "object" }),
    async run(_args, ctx) {
      const { name } = await ctx.elicit("who", { message: "Who are you?", schema: person });
      return `Hello, ${name}!`;
    },
  }),
  defineTool({
    name: "introduce",
    input: jsonSchema({ type: "object" }),
    earlyReplies: true,
    async run(_args, ctx) {
      const { name } = await ctx.elicit("who", { message: "Who are you?", schema: person });
      return `This is ${name}.`;
    },
  }),
  defineTool({
    name: "delete",
    annotations: { destructiveHint: true },
    async run(_args, ctx) {
      const files = await ctx.step("list", () => [...disk]);
      const { ok } = await ctx.elicit("confirm", { message: `Delete ${files.join(", ")}?`, schema: yes });
      if (!ok) return "Nothing was deleted.";
      for (const file of files) await ctx.step("delete", () => disk.delete(file));
      return `Deleted ${files.join(", ")}.`;
    },
  }),
  defineTool({
    name: "interview",
    async run(_args, ctx) {
      const { name } = await ctx.elicit("name", { message: "Your name?", schema: person });
      ctx.progress(1, 2);
      const { color } = await ctx.elicit("color", { message: "Your color?", schema: z.object({ color: z.string() }) });
      ctx.progress(2, 2);
      return `${name} likes ${color}`;
    },
  }),
  defineTool({
    name: "approve",
    async run(_args, ctx) {
      const answers = await Promise.all(["ops", "legal"].map((key) => ctx.ask(key, { message: `${key}?`, schema: yes })));
      return answers.map(({ action }) => action).join(",");
    },
  }),
  defineTool({
    name: "report",
    async run(_args, ctx) {
      ctx.progress(1, 3, "reading");
      ctx.log("debug", "detail");
      await ctx.sleep("a-moment", "20ms");
      ctx.progress(3, 3, "done");
      ctx.log("warning", "careful");
      return "reported";
    },
  }),
  defineTool({
    name: "start-over",
    async run(_args, ctx) {
      ctx.progress(2, 2, "first");
      await ctx.elicit("name", { message: "Your name?", schema: person });
      ctx.progress(1, 2, "again");
      await ctx.sleep("a-moment", "20ms");
      ctx.progress(1, 2, "last");
      return "done";
    },
  }),
  defineTool({
    name: "hold",
    async run(_args, ctx) {
      await new Promise<void>((resolve) => {
        held.release = resolve;
        ctx.signal.addEventListener("abort", () => resolve());
      });
      return "released";
    },
  }),
  defineTool({
    name: "let-go",
    async run(_args, ctx) {
      ctx.progress(1, 2);
      await ctx.sleep("a-moment", "20ms");
      ctx.releaseCall();
      await new Promise<void>((resolve) => {
        held.release = resolve;
        ctx.signal.addEventListener("abort", () => resolve());
      });
      return "done";
    },
  }),
  defineTool({
    name: "sign",
    async run(_args, ctx) {
      const { name } = await ctx.elicit("who", { message: "Who signs?", schema: person });
      await new Promise<void>((resolve) => {
        held.release = resolve;
        ctx.signal.addEventListener("abort", () => resolve());
      });
      return `signed by ${name}`;
    },
  }),
  defineTool({
    name: "visit",
    run: async (_args, ctx) => (await ctx.ask("page", { message: "Visit", url: "https://example.com/" })).action,
  }),
  defineTool({ name: "refuse", run: () => Promise.reject(new RpcFailure(-32050, "not today", { until: "tomorrow" })) }),
  defineTool({ name: "break", run: () => Promise.reject(new Error("it broke")) }),
  defineTool({ name: "handle-only", task: "required", run: () => "done" }),
  defineTool({
    name: "ask-first",
    task: "required",
    askFirst: true,
    async run(_args, ctx) {
      const { name } = await ctx.elicit("who", { message: "Who?", schema: person });
      return `for ${name}`;
    },
  }),
  defineTool({
    name: "work-first",
    askFirst: true,
    async run(_args, ctx) {
      await new Promise<void>((resolve) => {
        held.release = resolve;
        ctx.signal.addEventListener("abort", () => resolve());
      });
      return "done";
    },
  }),
  defineTool({
    name: "announce",
    task: "never",
    run: (_args, ctx) => (ctx.announce({ type: "tools" }), ctx.announce({ type: "prompts" }), "told"),
  }),
  defineTool({ name: "touch", task: "never", run: (_args, ctx) => (ctx.announce({ type: "resource", uri: "test://text" }), "touched") }),
  definePrompt({
    name: "note",
    earlyReplies: true,
    run: async (_args, ctx) => `Note of ${(await ctx.elicit("from", { message: "From?", schema: person })).name}`,
  }),
  definePrompt({
    name: "letter",
    arguments: { to: { complete: (value) => ["Alice", "Adam", "Bob"].filter((name) => name.startsWith(value)) } },
    async run({ to }, ctx) {
      const { name } = await ctx.elicit("from", { message: "From?", schema: person });
      return `Write to ${to} from ${name}`;
    },
  }),
  defineResource({ uri: "test://text", name: "text", mimeType: "text/plain", read: () => "plain text" }),
  defineResourceTemplate({ uriTemplate: "test://item/{id}", name: "item", mimeType: "text/plain", read: ({ id }) => `item ${id}` }),
]);
