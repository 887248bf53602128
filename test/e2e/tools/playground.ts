/** What the playground must handle: every kind of field, several questions at once, pages to visit, and hostile content. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Context, defineTool, RpcFailure } from "@parley/sdk";
import { z } from "zod";

const SCRIPT = `<script>document.title = "owned"</script><img src=x onerror="document.title='owned'">`;

const FIELDS = z.object({
  name: z.string().min(2).max(40).meta({ title: "Name", description: "As on the badge" }),
  about: z.string().max(500).optional().meta({ title: "About you" }),
  code: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .meta({ title: "Code" }),
  email: z.email().meta({ title: "E-mail" }),
  site: z.url().optional().meta({ title: "Site" }),
  day: z.iso.date().meta({ title: "Day" }),
  at: z.iso.datetime().optional().meta({ title: "Moment" }),
  seats: z.int().min(1).max(20).default(2).meta({ title: "Seats" }),
  price: z.number().positive().meta({ title: "Price" }),
  agree: z.boolean().default(false).meta({ title: "I agree" }),
  window: z.boolean().optional().meta({ title: "At the window" }),
  plan: z.enum(["basic", "plus"]).meta({ title: "Plan" }),
  size: z.union([z.literal("s").meta({ title: "Small" }), z.literal("l").meta({ title: "Large" })]).meta({ title: "Size" }),
  days: z
    .array(z.enum(["mon", "tue", "wed"]))
    .min(1)
    .max(2)
    .meta({ title: "Days" }),
});

export const everyField = defineTool({
  name: "every_field",
  description: "Asks with every kind of field.",
  async run(_args, ctx) {
    return JSON.stringify(await ctx.elicit("all", { message: "Please fill in everything.", schema: FIELDS }));
  },
});

export const purge = defineTool({
  name: "purge",
  description: "Asks about what cannot be undone.",
  async run(_args, ctx) {
    const schema = z.object({
      days: z.int().min(1).default(30).meta({ title: "Older than days" }),
      of: z.enum(["all", "mine"]).default("all").meta({ title: "Of whom" }),
    });
    return JSON.stringify(await ctx.form("what", { message: "What is deleted?", schema, destructive: true }));
  },
});

/** A rule of the test makes it wait for approval. */
export const post = defineTool({
  name: "post",
  input: z.object({ to: z.string(), copies: z.int().max(5) }),
  run: ({ to, copies }) => `posted ${copies} to ${to}`,
});

export const twoAtOnce = defineTool({
  name: "two_at_once",
  description: "Asks two questions at once.",
  async run(_args, ctx) {
    const schema = z.object({ ok: z.boolean().meta({ title: "Agreed" }) });
    const answers = await Promise.all([
      ctx.ask("operations", { message: "Does operations agree?", schema }),
      ctx.ask("legal", { message: "Does legal agree?", schema }),
    ]);
    return answers.map((answer) => (answer.action === "accept" ? String(answer.content.ok) : answer.action)).join(" ");
  },
});

export const twoTexts = defineTool({
  name: "two_texts",
  title: "Words in pairs",
  description: "Asks for a text, and for another.",
  async run(_args, ctx) {
    const schema = z.object({ text: z.string().meta({ title: "Text" }) });
    const { text } = await ctx.elicit("one", { message: "A text?", schema });
    return `${text} ${(await ctx.ask("other", { message: "And another?", schema })).action}`;
  },
});

export const goThere = defineTool({
  name: "go_there",
  description: "Sends the person to a page.",
  async run(_args, ctx) {
    const answer = await ctx.ask("sign-in", { message: "Please sign in.", url: "https://xn--bcher-kva.example.com/sign-in?state=1" });
    return `The person said ${answer.action}.`;
  },
});

export const hostile = defineTool({
  name: "hostile",
  title: `Hostile ${SCRIPT}`,
  description: `Says what no page should believe. ${SCRIPT}`,
  input: z.object({
    text: z
      .string()
      .optional()
      .meta({ title: `Text ${SCRIPT}`, description: SCRIPT }),
  }),
  async run({ text }, ctx) {
    ctx.status(SCRIPT);
    ctx.progress(1, 2, SCRIPT);
    ctx.log("warning", { said: SCRIPT });
    const answer = await ctx.ask("believe", {
      message: `${SCRIPT}\nهل توافق على هذا؟\n\u202Eevil\u202C`,
      schema: z.object({ word: z.string().meta({ title: SCRIPT, description: SCRIPT }), pick: z.enum([SCRIPT, "no"]) }),
    });
    return `${SCRIPT} ${text ?? ""} ${JSON.stringify(answer)}`;
  },
});

const MANY = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`field_${index}`, z.string().optional()]));

export const manyFields = defineTool({
  name: "many_fields",
  description: "Takes three hundred arguments.",
  input: z.object({ ...MANY, last: z.string(), nested: z.object({ deep: z.array(z.int()) }), words: z.array(z.string()) }),
  async run(args) {
    return JSON.stringify(args);
  },
});

const OPTIONS = Array.from({ length: 5_000 }, (_, index) => `option ${index}`) as [string, ...string[]];

export const manyOptions = defineTool({
  name: "many_options",
  description: "Offers five thousand choices.",
  async run(_args, ctx) {
    const { one, several } = await ctx.elicit("choose", {
      message: "Which of them?",
      schema: z.object({ one: z.enum(OPTIONS).meta({ title: "One" }), several: z.array(z.enum(OPTIONS)).meta({ title: "Several" }) }),
    });
    return `${one}; ${several.join(", ")}`;
  },
});

export const longMessage = defineTool({
  name: "long_message",
  description: "Asks at length, and answers with a megabyte.",
  async run(_args, ctx) {
    await ctx.ask("long", { message: "long ".repeat(40_000), schema: z.object({ ok: z.boolean() }) });
    return "x".repeat(250_000);
  },
});

async function chatter(ctx: Context, seconds: number): Promise<void> {
  for (let tick = 0; tick < seconds * 20; tick += 1) {
    for (let each = 0; each < 50; each += 1) ctx.log("info", `line ${tick * 50 + each}`);
    ctx.progress(tick, seconds * 20);
    await ctx.step("tick", () => sleep(50));
  }
}

export const chatty = defineTool({
  name: "chatty",
  description: "Says a thousand lines a second.",
  input: z.object({ seconds: z.int().min(1).max(30) }),
  async run({ seconds }, ctx) {
    await chatter(ctx, seconds);
    return "said all";
  },
});

export const asksAndFails = defineTool({
  name: "asks_and_fails",
  async run(_args, ctx) {
    ctx.status("Waiting for the oven");
    await ctx.ask("sure", { message: "Sure?", schema: z.object({ ok: z.boolean() }) });
    throw new RpcFailure(-32050, "the oven is cold");
  },
});

/** A red pixel. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

export const emits = defineTool({
  name: "emits",
  description: "Tells everything that a tool can tell, then asks.",
  async run(_args, ctx) {
    ctx.status("preparing");
    ctx.progress(1, 4, "first part");
    ctx.log("error", "the oven is cold");
    ctx.emit("stream", { data: "chunk one, " });
    ctx.emit("stream", { data: "chunk two", final: true });
    ctx.emit("toast", { message: "Saved", type: "success" });
    ctx.emit("thinking", { active: true });
    ctx.emit("artifact", { type: "code", title: "main.ts", content: "const a = 1;", language: "ts" });
    ctx.emit("artifact", { type: "image", title: "A pixel", content: PICTURE, mimeType: "image/png" });
    ctx.emit("artifact", { type: "document", title: "Offer", url: "javascript:document.title='owned'" });
    ctx.emit("qr", { value: "https://x.example" });
    await ctx.ask("enough", { message: "Enough?", schema: z.object({ ok: z.boolean() }) });
    return "told all";
  },
});

export default [asksAndFails, emits, everyField, twoAtOnce, twoTexts, goThere, hostile, manyFields, manyOptions, longMessage, chatty];
