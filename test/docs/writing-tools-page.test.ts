/** The snippets of docs/writing-tools.md, compiled as they are printed there (see snippets.test.ts), and run. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { JsonObject } from "@parley/core";
import { type Context, type TaskEvent, StepFailed, ToolError, defineModule, defineTool } from "@parley/sdk";
import { back, type Reply, type Script, accept, decline, outside, provide, runTool, startTool, timeout } from "@parley/sdk/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { bookDinner } from "../../apps/gallery/02-book-dinner.ts";
import { deploy } from "../../apps/gallery/07-deploy.ts";

// ── what the snippets use ──────────────────────────────────────────────────────────────────────────────────────

/** What was done outside. */
const did: string[] = [];
let dir: string;
beforeEach(async () => {
  did.length = 0;
  dir = await mkdtemp(join(tmpdir(), "parley-docs-"));
  vi.stubEnv("PARLEY_GALLERY_DIR", dir);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true });
});

const noted = <T>(what: string, value: T): T => {
  did.push(what);
  return value;
};

const bookings = {
  hold: (date: string) => noted(`hold ${date}`, 7),
  confirm: (table: number, size: number) => noted(`confirm ${table} for ${size}`, `table ${table} for ${size}`),
};
const shop = {
  price: (item: string) => noted(`price ${item}`, item.length),
  charge: (item: string, price: number, _key: string) => noted(`charge ${item}`, `${item} ${price}`),
};
const database0 = { load: (region: string) => setImmediate([region]) };
const store = {
  save: (region: string, rows: readonly string[]) => noted(`save ${region}`, rows.length),
  file: (expense: { readonly amount: number }) => noted("file", `filed ${expense.amount}`),
};
const payments = {
  checkout: (order: { readonly amount: number; readonly callback: string }) => noted("checkout", `https://pay.example/${order.amount}`),
  charge: (order: string, _options: { readonly idempotencyKey: string; readonly signal: AbortSignal }) => noted(`charge ${order}`, "R-1"),
};
const made = (what: string) => ({ book: (team: string, _key: string) => noted(`book ${what}`, { name: `${what} of ${team}` }) });
const [venues, buses] = [made("venue"), made("bus")];
const release = (key: string, _value: unknown) => noted(`release ${key}`, null);
const schema = z.object({ size: z.int().min(1) });
const message = "Do you approve?";
const APPROVAL = z.object({ approved: z.boolean() });
const NOTE = z.object({ note: z.string() });
const EXPENSE = z.object({ amount: z.number() });

/** A pool as `pg` has one. */
class Pool {
  readonly #url: string | undefined;
  constructor({ connectionString }: { readonly connectionString: string | undefined }) {
    this.#url = connectionString;
  }
  query(_text: string, [id = ""]: readonly string[]) {
    return `${id} in ${this.#url}`;
  }
  end() {
    did.push("end");
  }
}

const tool = { name: "tool" };

// ── replay, concurrency, awaits outside ────────────────────────────────────────────────────────────────────────

test("what replay does", async () => {
  const reserve = defineTool({
    ...tool,
    input: z.object({ date: z.string() }),
    // oxfmt-ignore
    async run({ date }, ctx) {
      const table = await ctx.step("hold", () => bookings.hold(date));             // run 1: done     run 2: from the journal
      const { size } = await ctx.elicit("size", { message: "How many?", schema }); // run 1: parks    run 2: the answer
      return await ctx.step("confirm", () => bookings.confirm(table, size));       //                 run 2: done
    },
  });
  const run = await runTool(reserve, { date: "2026-12-24" }, { answers: { size: { size: 4 } } });
  expect(run.text).toBe("table 7 for 4");
  expect(did).toEqual(["hold 2026-12-24", "confirm 7 for 4"]);
});

test("concurrency just works", async () => {
  const charge = defineTool({
    ...tool,
    input: z.object({ items: z.array(z.string()) }),
    async run({ items }, ctx) {
      const charges = await Promise.all(
        items.map(async (item) => {
          const price = await ctx.step("price", () => shop.price(item));
          return await ctx.step("charge", ({ idempotencyKey }) => shop.charge(item, price, idempotencyKey));
        }),
      );
      return charges.join(", ");
    },
  });
  const run = await runTool(charge, { items: ["soup", "lobster"] }, { crashAt: "every" });
  expect(run.text).toBe("soup 4, lobster 7");
});

describe("awaits outside ctx", () => {
  const input = z.object({ regions: z.array(z.string()) });
  const regions = { regions: ["eu", "us"] };

  test("need no thought in ctx.map", async () => {
    const database = database0;
    const mapping = defineTool({
      ...tool,
      input,
      async run({ regions }, ctx) {
        const saved = await ctx.map(
          regions,
          (region) => region,
          async (region) => {
            const rows = await database.load(region); // outside ctx
            return await ctx.step("save", () => store.save(region, rows));
          },
          { concurrency: 5 },
        );
        return saved.join();
      },
    });
    const run = await runTool(mapping, regions, { crashAt: "every" });
    expect([run.text, run.journal]).toEqual(["1,1", ["step:eu/save", "step:us/save"]]);
  });

  test("are distinguished by their item", async () => {
    const database = database0;
    const saving = defineTool({
      ...tool,
      input,
      async run({ regions }, ctx) {
        await Promise.all(
          regions.map(async (region) => {
            const rows = await database.load(region); // outside ctx
            await ctx.step("save", () => store.save(region, rows));
          }),
        );
        return "saved";
      },
    });
    const run = await runTool(saving, regions);
    expect([run.text, run.journal]).toEqual(["saved", ["step:save~0", "step:save~1"]]);
  });

  test("have three ways out", async () => {
    const database = database0;
    const each = defineTool({
      ...tool,
      input,
      async run({ regions }, ctx) {
        const save = async (region: string) => {
          const rows = await database.load(region);
          await ctx.step("save", () => store.save(region, rows));
        };
        for (const region of regions) {
          // oxfmt-ignore
          {
            const rows = await ctx.step("load", () => database.load(region));        // 1. put the read into a step, so it is not repeated either
            await ctx.step("save", () => store.save(region, rows), { key: region }); // 2. give the call a key: eu/save
            await ctx.branch(`copy of ${region}`, () => save(region));               // 3. put a key before all names: copy~20of~20eu/save
          }
        }
        return "saved";
      },
    });
    const run = await runTool(each, regions, { crashAt: "every" });
    expect(run.journal).toEqual(
      ["eu", "us"].flatMap((at, i) => [`step:load${i ? "#2" : ""}`, `step:${at}/save`, `step:copy~20of~20${at}/save`]),
    );
  });
});

test("patience", async () => {
  const approve = defineTool({
    ...tool,
    async run(_args, ctx) {
      const decided = new AbortController();
      const { signal } = decided;
      const winner = await Promise.race([
        ctx.ask("approver", { message, schema: APPROVAL, signal }),
        ctx.sleep("patience", "1 day", { signal }).then(() => ctx.ask("deputy", { message, schema: APPROVAL, signal })),
      ]);
      decided.abort();
      return winner.action;
    },
  });
  const running = await startTool(approve);
  await running.advance("1 day");
  expect(running.task.asks.map(({ key }) => key)).toEqual(["approver", "deputy"]);
  await running.answer({ deputy: { approved: true } });
  expect(running.text).toBe("accept");
});

// ── asking ─────────────────────────────────────────────────────────────────────────────────────────────────────

test("asking for one thing", async () => {
  const oneThing = defineTool({
    ...tool,
    async run(_args, ctx) {
      const name = await ctx.text("name", { message: "Whose table is it?", minLength: 2, maxLength: 40 });
      const size = await ctx.number("party-size", { message: "How many will come?", min: 1, max: 20, step: 1 });
      const day = await ctx.date("day", { message: "When?", min: "2026-12-01", required: false });
      const menu = await ctx.select("menu", {
        message: "Which menu?",
        options: ["soup", { value: "fish", title: "Fish", price: "19 €" }, { value: "duck", disabled: true, disabledReason: "sold out" }],
      });
      const isSure = await ctx.confirm("book", { message: `Book for ${name}?`, default: true, onDecline: "default" });
      return JSON.stringify({ name, size, day, menu, isSure });
    },
  });
  const run = await runTool(oneThing, {}, { answers: { name: "Ada", "party-size": 4, day: {}, menu: "fish", book: decline } });
  expect(JSON.parse(run.text)).toEqual({ name: "Ada", size: 4, menu: "fish", isSure: true });
});

describe("calling another tool", () => {
  const bookHotel = defineTool({
    name: "book_hotel",
    input: z.object({ city: z.string() }),
    output: z.object({ nights: z.number() }),
    run: async ({ city }, ctx) => ({ nights: await ctx.number("nights", { message: `How many nights in ${city}?` }) }),
  });
  const trip = defineTool({
    name: "trip",
    input: z.object({ city: z.string() }),
    async run({ city }, ctx) {
      const { nights } = await ctx.call(bookHotel, { city }, { key: "hotel", timeout: "2 days" });
      return `${nights} nights in ${city}`;
    },
  });

  test("asks beside the caller's own questions", async () => {
    const run = await runTool(trip, { city: "Graz" }, { tools: [bookHotel], answers: { "hotel:nights": 2 } });
    expect(run.text).toBe("2 nights in Graz");
  });

  test("does not outlive its timeout", async () => {
    const run = await runTool(trip, { city: "Graz" }, { tools: [bookHotel], answers: { "hotel:nights": timeout } });
    expect(run.text).toBe("The tool book_hotel did not finish in time and was cancelled.");
  });
});

describe("waiting for another system", () => {
  test("by an event", async () => {
    const pay = defineTool({
      ...tool,
      input: z.object({ amount: z.number() }),
      async run({ amount }, ctx) {
        const PAID = z.object({ status: z.literal("paid"), reference: z.string() });

        const paid = ctx.event("paid", { schema: PAID, timeout: "1 day" });
        const page = await ctx.step("checkout", () => payments.checkout({ amount, callback: paid.url }));
        const { reference } = await paid.received();
        return `${page} ${reference}`;
      },
    });
    const run = await runTool(pay, { amount: 12 }, { events: { paid: { status: "paid", reference: "R-1" } } });
    expect(run.text).toBe("https://pay.example/12 R-1");
  });

  test("with a page that the event completes", async () => {
    const pay = defineTool({
      ...tool,
      input: z.object({ amount: z.number() }),
      async run({ amount }, ctx) {
        const page = "https://pay.example/12";
        const paid: TaskEvent<{ reference: string }> = ctx.event("paid", { schema: z.object({ reference: z.string() }) });
        const { reference } = await ctx.url("pay", { message: `Please pay ${amount} €.`, url: page, completedBy: paid });
        return reference;
      },
    });
    const running = await startTool(pay, { amount: 12 });
    await running.answer({ pay: accept });
    expect(running.task.status).toBe("input_required");
    await running.tell("paid", { reference: "R-1" });
    expect(running.text).toBe("R-1");
  });
});

test("who may answer", async () => {
  const approve = defineTool({
    ...tool,
    input: z.object({ amount: z.number(), payee: z.string() }),
    async run({ amount, payee }, ctx) {
      const { approved } = await ctx.elicit("approve", {
        message: `Pay ${amount} € to ${payee}?`,
        schema: z.object({ approved: z.boolean() }),
        to: { groups: ["finance"], people: ["email:cfo@example.com"] }, // or "tenant"; roles too
        not: "caller",
      });
      return String(approved);
    },
  });
  const running = await startTool(approve, { amount: 12, payee: "the bakery" });
  await expect(running.answer({ approve: { approved: true } }, { groups: ["design"] })).rejects.toThrow("is for other people");
  await running.answer({ approve: { approved: true } }, { groups: ["finance"] });
  expect(running.text).toBe("true");
});

test("several pages of one form", async () => {
  const joining = defineTool({
    ...tool,
    async run(_args, ctx) {
      const { person, move, papers } = await ctx.wizard("joining", {
        pages: {
          person: { message: "About you", schema: z.object({ name: z.string().min(1), isMoving: z.boolean().default(false) }) },
          move: {
            message: "When do you move?",
            schema: z.object({ day: z.iso.date() }),
            when: ({ person }) => person?.["isMoving"] === true,
          },
          papers: {
            message: ({ person }) => `Your papers, ${String(person?.["name"])}`,
            schema: z.object({ note: z.string().optional() }),
            files: { passport: { message: "A picture of your passport", accept: ["image/*"] } },
          },
        },
        prefill: { person: ctx.caller.name === undefined ? {} : { name: ctx.caller.name } },
      });
      return JSON.stringify([person.name, move?.day, papers.passport.name]);
    },
  });
  const passport = { file: { name: "pass.png", type: "image/png", text: "pass" } };
  const answers: Script = {
    "joining/person": { name: "Ada", isMoving: true },
    "joining/move": back,
    "joining/person#2": { name: "Ada", isMoving: false },
    "joining/papers": {},
    "joining/papers.passport": passport,
  };
  const run = await runTool(joining, {}, { answers, caller: { name: "Ada" } });
  expect(JSON.parse(run.text)).toEqual(["Ada", null, "pass.png"]);
});

test("who called", async () => {
  const version = "1.2.3";
  const sent: string[] = [];
  const mail = { send: (to: string, text: string) => void sent.push(`${to}: ${text}`) };
  const release = defineTool({
    ...tool,
    async run(_args, ctx) {
      const { principal, name, email, subject } = ctx.caller;
      await ctx.confirm("release", { message: `Release ${version} for ${name ?? "the caller"}?`, to: { groups: ["operations"] } });
      await ctx.step("tell", () => (email === undefined ? undefined : mail.send(email, `${version} is released`)));
      return `${principal} ${subject ?? "has no subject"}`;
    },
  });
  const answers = { release: true };
  const run = await runTool(release, {}, { answers, caller: { name: "Ada Lovelace", email: "ada@acme.example" } });
  expect([run.text, sent]).toEqual(["tester has no subject", ["ada@acme.example: 1.2.3 is released"]]);
  expect(run.asks[0]?.request).toMatchObject({ message: "Release 1.2.3 for Ada Lovelace?" });
});

// ── facts, steps, undoing ──────────────────────────────────────────────────────────────────────────────────────

test("facts", async () => {
  const drawn: unknown[] = [];
  const draw = defineTool({
    ...tool,
    async run(_args, ctx) {
      const id = ctx.uuid(); // the same in every run of this task
      const lucky = ctx.random() < 0.1;
      const today = ctx.now();
      drawn.push({ id, lucky, today });
      await ctx.confirm("ok", { message: "All right?" });
      return "drawn";
    },
  });
  await runTool(draw, {}, { answers: { ok: true } });
  expect(drawn).toHaveLength(2);
  expect(drawn[1]).toEqual(drawn[0]);
});

test("steps", async () => {
  const charge = defineTool({
    ...tool,
    input: z.object({ order: z.string() }),
    async run({ order }, ctx) {
      // oxfmt-ignore
      const receipt = await ctx.step(
        "charge",
        ({ idempotencyKey, signal }) => payments.charge(order, { idempotencyKey, signal }),
        { attempts: 3, backoff: "2s", timeout: "20s" },
      );
      return receipt;
    },
  });
  expect((await runTool(charge, { order: "A-1" })).text).toBe("R-1");
});

const letters = { send: (account: string, to: string, _key: string) => noted("letter", `${account} to ${to}`) };

export const sendLetter = defineTool({
  name: "send_letter",
  input: z.object({ account: z.string(), to: z.string() }),
  limit: { concurrency: 5, rate: "100/m", per: ({ account }) => account },
  async run({ account, to }, ctx) {
    return await ctx.step("send", ({ idempotencyKey }) => letters.send(account, to, idempotencyKey));
  },
});

test("limits", async () => {
  expect((await runTool(sendLetter, { account: "ada", to: "bob" })).text).toBe("ada to bob");
  expect(sendLetter.limit).toMatchObject({ concurrency: 5, rate: { count: 100, windowMs: 60_000 } });
});

export const planRetreat = defineTool({
  name: "plan_retreat",
  input: z.object({ team: z.string() }),
  async run({ team }, ctx) {
    const venue = await ctx.step("venue", ({ idempotencyKey }) => venues.book(team, idempotencyKey));
    await ctx.step("bus", ({ idempotencyKey }) => buses.book(team, idempotencyKey));
    if (!(await ctx.confirm("approve", { message: "Keep it?" }))) throw new ToolError("It was not approved.");
    return `Booked ${venue.name}.`;
  },
  async compensate(_args, ctx) {
    for (const { key, value } of ctx.done.toReversed()) await ctx.step(key, () => release(key, value));
  },
});

test("undoing what was done", async () => {
  expect((await runTool(planRetreat, { team: "web" }, { answers: { approve: true } })).text).toBe("Booked venue of web.");
  did.length = 0;
  await runTool(planRetreat, { team: "web" }, { answers: { approve: false } });
  expect(did).toEqual(["book venue", "book bus", "release bus", "release venue"]);
});

// oxlint-disable node/no-process-env -- the page shows what an author writes
export const database = defineModule({
  name: "database",
  start: () => new Pool({ connectionString: process.env["DATABASE_URL"] }),
  stop: (pool) => pool.end(),
});

export const find = defineTool({
  name: "find",
  input: z.object({ id: z.string() }),
  async run({ id }, ctx) {
    return await ctx.step("find", () => database.use().query("…", [id]));
  },
});
// oxlint-enable node/no-process-env

test("sharing what takes long to open", async () => {
  vi.stubEnv("DATABASE_URL", "postgres://one");
  await database.start();
  expect((await runTool(find, { id: "7" })).text).toBe("7 in postgres://one");
  await database.stop();
  expect(did).toEqual(["end"]);
  const undo = provide(database, new Pool({ connectionString: "a fake" }));
  expect((await runTool(find, { id: "7" })).text).toBe("7 in a fake");
  undo();
});

// ── errors, loops, early replies ───────────────────────────────────────────────────────────────────────────────

const weather = { degrees: (city: string) => noted(`ask ${city}`, city.length) };

export const forecast = defineTool({
  name: "forecast",
  input: z.object({ city: z.string() }),
  output: z.object({ city: z.string(), degrees: z.number() }),
  run: async ({ city }, ctx) => ({ city, degrees: await ctx.step("ask", () => weather.degrees(city)) }),
});

test("what a tool returns", async () => {
  expect((await runTool(forecast, { city: "Graz" })).result).toMatchObject({ structuredContent: { city: "Graz", degrees: 4 } });
});

test("errors", async () => {
  const bookings = {
    hold: (date: string): number => {
      throw new Error(`409 for ${date}`);
    },
  };
  const hold = defineTool({
    ...tool,
    input: z.object({ date: z.string() }),
    async run({ date }, ctx) {
      const table = await ctx
        .step("hold", () => bookings.hold(date))
        .catch((error) => {
          if (error instanceof StepFailed && error.message.includes("409")) throw new ToolError(`${date} is fully booked.`);
          throw error;
        });
      return String(table);
    },
  });
  expect((await runTool(hold, { date: "2026-12-24" })).text).toBe("2026-12-24 is fully booked.");
});

test("endless loops", async () => {
  const save = (journal: string, week: number, note: string) => noted(`${journal} ${week} ${note}`, null);
  const weekly = defineTool({
    ...tool,
    input: z.object({ journal: z.string(), week: z.int() }),
    async run({ journal, week }, ctx) {
      const { note } = await ctx.elicit("note", { message: `Week ${week}?`, schema: NOTE });
      await ctx.step("write", () => save(journal, week, note));
      await ctx.sleep("next-week", "7 days");
      return await ctx.restart({ journal, week: week + 1 });
    },
  });
  const running = await startTool(weekly, { journal: "garden", week: 1 });
  await running.answer({ note: { note: "sowed" } });
  await running.advance("7 days");
  await running.answer({ "note@1": { note: "picked" } });
  expect(did).toEqual(["garden 1 sowed", "garden 2 picked"]);
});

export const expenseReport = defineTool({
  name: "expense_report",
  earlyReplies: true,
  async run(_args, ctx) {
    const expense = await ctx.elicit("expense", { message: "What did you spend?", schema: EXPENSE });
    return await ctx.step("file", () => store.file(expense));
  },
});

test("replies that come with the call", async () => {
  expect((await runTool(expenseReport, {}, { early: { expense: { amount: 12 } } })).text).toBe("filed 12");
});

// oxlint-disable no-unused-expressions -- the page shows what comes
const releasePayment = defineTool({
  name: "release_payment",
  input: z.object({ amount: z.number(), payee: z.string() }),
  async run({ amount, payee }, ctx) {
    const approvals = await ctx.elicit("release", {
      message: `Release ${amount} € to ${payee}?`,
      schema: z.object({ remark: z.string().max(200).optional() }),
      to: { groups: ["finance"] },
      not: "caller",
      quorum: 2,
    });
    approvals; // [{ principal, isCaller, content: { remark }, at }, { … }]
    return approvals.map(({ principal }) => principal).join(" and ");
  },
});

test("several people who must accept", async () => {
  const run = await startTool(releasePayment, { amount: 100, payee: "ACME" }, { principal: "ann" });
  await run.answer({ release: {} }, { principal: "ada", groups: ["finance"] });
  await run.answer({ release: { remark: "fine" } }, { principal: "eve", groups: ["finance"] });
  expect(run.text).toBe("ada and eve");
});

async function transfer(ctx: Context, amount: number, payee: string) {
  await ctx.confirm("transfer", {
    message: `Transfer ${amount} € to ${payee}?`,
    to: { groups: ["finance"] },
    not: "caller",
    assurance: { within: "15 minutes", amr: ["mfa"] },
  });
}

test("how the answerer is identified", async () => {
  const tool = defineTool({
    name: "transfer",
    run: async (_args, ctx) => {
      await transfer(ctx, 40, "Ada");
      return String(ctx.answeredBy("transfer")?.assurance);
    },
  });
  const run = await startTool(tool);
  await expect(run.answer({ transfer: true }, { groups: ["finance"] })).rejects.toThrow("needs a login in a browser");
  await run.answer({ transfer: true }, { groups: ["finance"], assurance: "login", login: { at: run.now, amr: ["mfa"] } });
  expect(run.text).toBe("login");
  expect((await runTool(tool, {}, { answers: { transfer: true } })).text).toBe("login");
});

async function approveRefund(ctx: Context, amount: number) {
  await ctx.elicit("approve", {
    message: `Refund ${amount} €?`,
    schema: z.object({}),
    to: { groups: ["support"] },
    remind: ["4 hours", "1 day"],
    escalate: { after: "2 days", to: { groups: ["leads"] } },
    timeout: "5 days",
  });
}

test("if nobody answers", async () => {
  const tool = defineTool({
    name: "refund",
    run: async (_args, ctx) => {
      await approveRefund(ctx, 40);
      return "refunded";
    },
  });
  const run = await startTool(tool);
  await run.advance("2 days");
  await run.answer({ approve: {} }, { groups: ["leads"] });
  expect(run.text).toBe("refunded");
});

interface Payment {
  readonly payee: string;
  readonly reason: string;
  readonly items: readonly { readonly name: string; readonly price: number }[];
  readonly known: { readonly iban: string };
  readonly given: { readonly iban: string };
  readonly invoice: { readonly url: string };
}

async function confirmPayment(ctx: Context, { payee, reason, items, known, given, invoice }: Payment) {
  await ctx.confirm("release", {
    message: `Pay ${payee}?`,
    to: { groups: ["finance"] },
    priority: "urgent", // or "high", "normal", "low"
    due: "4 hours",
    timeout: "2 days",
    context: [
      { type: "text", title: "Why", text: reason },
      { type: "table", title: "Items", columns: ["Item", "Price"], rows: items.map(({ name, price }) => [name, price]) },
      { type: "diff", title: "Account", before: known.iban, after: given.iban },
      { type: "link", title: "The invoice", url: invoice.url },
    ],
  });
}

test("what to see before answering", async () => {
  const payment = { reason: "The bank closes", items: [{ name: "Chair", price: 40 }], known: { iban: "1" }, given: { iban: "2" } };
  const tool = defineTool({
    name: "pay",
    run: async (_args, ctx) => {
      await confirmPayment(ctx, { payee: "ACME", invoice: { url: "https://shop.example/42" }, ...payment });
      return "paid";
    },
  });
  const { asks } = await startTool(tool);
  expect(asks).toMatchObject([
    { request: { about: { priority: "urgent", context: [{}, { rows: [["Chair", 40]] }, { after: "2" }, {}] } } },
  ]);
});

test("arguments that the schema draws", async () => {
  vi.useFakeTimers({ now: new Date("2026-12-24T10:00:00Z"), toFake: ["Date"] });
  const INPUT = z.object({
    order: z.string().default(() => randomUUID()),
    on: z.string().transform((on) => (on === "today" ? new Date().toISOString().slice(0, 10) : on)),
  });
  const seen: unknown[] = [];
  const deliver = defineTool({
    name: "deliver",
    input: INPUT,
    async run(args, ctx) {
      seen.push(args);
      await ctx.confirm("go", { message: "Go?" });
      return args.on;
    },
  });
  const run = await startTool(deliver, { on: "today" });
  vi.setSystemTime(new Date("2026-12-26T10:00:00Z"));
  await run.answer({ go: true });
  vi.useRealTimers();
  expect(run.text).toBe("2026-12-24");
  expect(seen).toEqual([{ order: expect.any(String), on: "2026-12-24" }, seen[0]]);
});

// ── testing ────────────────────────────────────────────────────────────────────────────────────────────────────

test("a tool that is run by a script", async () => {
  const [date, time] = ["2026-12-24", "19:30"];
  const run = await runTool(bookDinner, { date, time }, { answers: { "party-size": { partySize: 4 } }, crashAt: "every" });
  expect(run.text).toMatch(/^Confirmed/);
});

test("a tool whose database is slower in one run than in the next", async () => {
  const ROWS: Readonly<Record<string, number>> = { soup: 5, lobster: 40 };
  const billing = (read: (id: string) => Promise<number | undefined>) =>
    defineTool({
      name: "billing",
      input: z.object({ orders: z.array(z.string()) }),
      async run(args, ctx) {
        const billed = await ctx.map(
          args.orders,
          (id) => id,
          async (id) => {
            const price = await read(id);
            return await ctx.step("bill", () => price ?? 0);
          },
        );
        await ctx.confirm("send", { message: "Send them?" });
        return `${billed.length} orders billed`;
      },
    });
  const answers = { send: true };
  const orders = ["soup", "lobster", "soup of yesterday"];
  // oxfmt-ignore
  {
const load = outside(async (id: string) => ROWS[id]); // the test's stand-in for a database
for (const seed of [1, 2, 3, 4, 5]) {
  const run = await runTool(billing(load), { orders }, { answers, seed, crashAt: "every" });
  expect(run.text).toBe("3 orders billed");
}
  }
});

const ANSWERS = { approval: { approve: true }, window: { when: "now" } } as const satisfies Record<string, Reply & JsonObject>;
const changedDeploy = { ...deploy, title: "Deploy" };

// oxfmt-ignore
for (const [first, second] of [["approval", "window"], ["window", "approval"]] as const) {
  test(`${first} before ${second}, with a deployment in between`, async () => {
    const running = await startTool(deploy, { service: "api", version: "1.2.3" });
    await running.answer({ [first]: ANSWERS[first] });
    running.redeploy(changedDeploy);
    await running.answer({ [second]: ANSWERS[second] });
    expect(running.text).toMatch(/^Released/); // vitest
    // assert.match(running.text, /^Released/);   node:test, with node:assert
  });
}
