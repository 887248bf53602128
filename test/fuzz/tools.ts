/** What the gallery lacks: every kind of question, prompts and resources, reports, and tools that fail in unpleasant ways. */
import { readFile } from "node:fs/promises";
import { defineTool, definePrompt, defineResource, defineResourceTemplate, jsonSchema, RpcFailure } from "@parley/sdk";
import { z } from "zod";

const yes = z.object({ ok: z.boolean() });

/** Answers at once. */
const echo = defineTool({
  name: "echo",
  task: "never",
  input: z.object({ text: z.string().max(2_000), times: z.int().min(1).max(3).default(1) }),
  run: ({ text, times }) => Array.from({ length: times }, () => text).join(" "),
});

/** Arguments that travel in headers too. */
const routed = defineTool({
  name: "routed",
  task: "never",
  input: jsonSchema<{ region: string; zone?: number }>({
    type: "object",
    properties: {
      region: { type: "string", minLength: 1, maxLength: 40, "x-mcp-header": "Region" },
      zone: { type: "integer", minimum: 0, maximum: 1_000, "x-mcp-header": "Zone" },
    },
    required: ["region"],
    additionalProperties: false,
  }),
  run: ({ region, zone }) => `${region}/${zone ?? 0}`,
});

/** Arrays, nested objects, and no member that is not named. */
const strict = defineTool({
  name: "strict",
  input: z.strictObject({
    tags: z.array(z.string().min(1).max(20)).max(5),
    place: z.strictObject({ city: z.string().min(1).max(40), floor: z.int().min(-5).max(200).optional() }),
    level: z.enum(["low", "high"]),
  }),
  run: ({ tags, place, level }) => `${tags.length} tags in ${place.city} at ${level}`,
});

/** Every kind of field that a form can have. */
const everyField = defineTool({
  name: "every_field",
  input: jsonSchema({ type: "object" }),
  async run(_args, ctx) {
    const answer = await ctx.ask("fields", {
      message: "Please fill in all of it.",
      timeout: "1 day",
      schema: {
        type: "object",
        properties: {
          name: { type: "string", minLength: 2, maxLength: 30 },
          code: { type: "string", pattern: "^[A-Z]{2}-[0-9]{3}$" },
          email: { type: "string", format: "email" },
          page: { type: "string", format: "uri" },
          day: { type: "string", format: "date" },
          moment: { type: "string", format: "date-time" },
          weight: { type: "number", minimum: 0.5, maximum: 99.5 },
          count: { type: "integer", minimum: -3, maximum: 12, default: 1 },
          sure: { type: "boolean", default: false },
          size: { type: "string", enum: ["small", "large"] },
          color: {
            type: "string",
            oneOf: [
              { const: "r", title: "Red" },
              { const: "g", title: "Green" },
            ],
          },
          days: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", enum: ["mon", "tue", "wed"] } },
        },
        required: ["name", "code", "weight", "sure", "size"],
      },
    });
    return `It was ${answer.action}.`;
  },
});

/** A key that is a property of every object. */
const constructorAsk = defineTool({
  name: "constructor_ask",
  input: jsonSchema({ type: "object" }),
  async run(_args, ctx) {
    const { action } = await ctx.ask("constructor", { message: "Build it?", schema: yes, timeout: "1 day" });
    return action;
  },
});

const several = defineTool({
  name: "several",
  input: jsonSchema({ type: "object" }),
  async run(_args, ctx) {
    const keys = ["one", "two", "three"];
    const answers = await Promise.all(keys.map((key) => ctx.ask(key, { message: `${key}?`, schema: yes, timeout: "1 day" })));
    return answers.map(({ action }) => action).join(" ");
  },
});

const page = defineTool({
  name: "page",
  input: jsonSchema({ type: "object" }),
  run: async (_args, ctx) => (await ctx.ask("visit", { message: "Visit it.", url: "https://example.com/page", timeout: "1 day" })).action,
});

const model = defineTool({
  name: "model",
  input: jsonSchema({ type: "object" }),
  needs: { sampling: { tools: false } },
  async run(_args, ctx) {
    const { role } = await ctx.sample("poem", { messages: [{ role: "user", content: { type: "text", text: "A poem." } }], maxTokens: 10 });
    return role;
  },
});

const folders = defineTool({
  name: "folders",
  input: jsonSchema({ type: "object" }),
  needs: { roots: true },
  run: async (_args, ctx) => `${(await ctx.roots("folders")).length} folders`,
});

/** Hands its task out behind the first question. */
const askFirst = defineTool({
  name: "ask_first",
  task: "required",
  askFirst: true,
  input: jsonSchema({ type: "object" }),
  run: async (_args, ctx) => (await ctx.ask("first", { message: "First?", schema: yes, timeout: "1 day" })).action,
});

const reports = defineTool({
  name: "reports",
  input: jsonSchema({ type: "object" }),
  async run(_args, ctx) {
    for (const done of [1, 2, 3]) {
      ctx.progress(done, 3, "reading");
      ctx.log("warning", "careful");
    }
    const { action } = await ctx.ask("more", { message: "More?", schema: yes, timeout: "1 day" });
    return action;
  },
});

export const FILES_MAX = 3;
export const FILE_BYTES_MAX = 1_000;

/** Both kinds of pages at once. */
const pages = defineTool({
  name: "pages",
  input: jsonSchema({ type: "object" }),
  async run(_args, ctx) {
    const timeout = "1 hour";
    await Promise.allSettled([
      ctx.secret("key", { message: "Your key?", timeout }),
      ctx.file("table", { message: "Your tables?", accept: [".csv", "text/csv"], maxBytes: FILE_BYTES_MAX, count: FILES_MAX, timeout }),
    ]);
    return "Thank you.";
  },
});

/** An error that nobody caught, and that names a path. */
const stumbles = defineTool({
  name: "stumbles",
  input: jsonSchema({ type: "object" }),
  run: async () => await readFile("/srv/parley-fuzz/no-such-file", "utf8"),
});

const refuses = defineTool({
  name: "refuses",
  input: jsonSchema({ type: "object" }),
  run: () => Promise.reject(new RpcFailure(-32_050, "not today", { until: "tomorrow" })),
});

const letter = definePrompt({
  name: "letter",
  arguments: { to: { complete: (value) => ["Alice", "Adam", "Bob"].filter((name) => name.startsWith(value)) }, tone: { required: false } },
  async run({ to, tone = "friendly" }, ctx) {
    const { ok } = await ctx.elicit("signed", { message: "Signed?", schema: yes, timeout: "1 day" });
    return `Write a ${tone} letter to ${to}${ok ? ", signed" : ""}.`;
  },
});

const greeting = definePrompt({ name: "greeting", run: () => "Say hello." });

const text = defineResource({ uri: "fuzz://text", name: "text", mimeType: "text/plain", read: () => "plain text" });

const item = defineResourceTemplate({
  uriTemplate: "fuzz://item/{id}",
  name: "item",
  mimeType: "text/plain",
  complete: { id: (value) => ["1", "12", "123"].filter((id) => id.startsWith(value)) },
  read: ({ id }) => `item ${id}`,
});

export default [
  echo,
  routed,
  strict,
  everyField,
  constructorAsk,
  several,
  page,
  model,
  folders,
  askFirst,
  reports,
  pages,
  stumbles,
  refuses,
  letter,
  greeting,
  text,
  item,
];
