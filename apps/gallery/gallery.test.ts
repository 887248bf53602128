import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue } from "@parley/sdk";
import { type Reply, type Script, accept, back, cancel, decline, runTool, startTool, timeout, unavailable } from "@parley/sdk/testing";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { research } from "./01-research.ts";
import { bookDinner } from "./02-book-dinner.ts";
import { deleteFiles } from "./03-delete-files.ts";
import { expenseReport } from "./04-expense-report.ts";
import { connectAccount } from "./05-connect-account.ts";
import { onboarding } from "./06-onboarding.ts";
import { deploy } from "./07-deploy.ts";
import { approveInvoice } from "./08-approve-invoice.ts";
import { releasePayment } from "./18-release-payment.ts";
import { joinCompany } from "./19-join-company.ts";
import { reviewAccess } from "./09-review-access.ts";
import { weeklyNote } from "./10-weekly-note.ts";
import { planTrip } from "./11-plan-trip.ts";
import { compareOffers } from "./12-compare-offers.ts";
import { collectPayment } from "./13-collect-payment.ts";
import { planRetreat } from "./14-plan-retreat.ts";
import { findEvening } from "./15-find-evening.ts";
import { guestbook, signGuestbook } from "./16-sign-guestbook.ts";
import { hostEvening } from "./17-host-evening.ts";
import * as gallery from "./index.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-gallery-"));
  vi.stubEnv("PARLEY_GALLERY_DIR", dir);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true });
});

async function stored(...path: string[]): Promise<unknown> {
  return JSON.parse(await readFile(join(dir, ...path), "utf8"));
}

test("the gallery is a catalogue of nineteen tools", () => {
  expect([...catalogue(gallery).tools.keys()]).toEqual([
    "research",
    "book_dinner",
    "delete_files",
    "expense_report",
    "connect_account",
    "onboarding",
    "deploy",
    "approve_invoice",
    "review_access",
    "weekly_note",
    "plan_trip",
    "compare_offers",
    "collect_payment",
    "plan_retreat",
    "find_evening",
    "sign_guestbook",
    "host_evening",
    "release_payment",
    "join_company",
  ]);
  expect(catalogue(gallery).modules?.map(({ name }) => name)).toEqual(["guestbook"]);
});

test("people read each tool by a title that begins as a sentence does", () => {
  for (const { name, title } of catalogue(gallery).tools.values()) expect.soft(title, name).toMatch(/^[A-Z][a-z]+( [a-z]+)+$/);
});

describe("join_company", () => {
  const person = { name: "Ada Lovelace", email: "ada@acme.example", phone: "+43 1 234", birthday: "1990-12-10" };
  const address = { street: "Ring 1", zip: "1010", city: "Vienna", country: "Austria" };
  const work = { from: 9, to: 17, seat: "quiet room" };

  test("asks twelve fields on three pages, and after three mistakes on the way nothing is typed twice", async () => {
    const answers: Script = {
      "joining/person": { ...person, name: "Ada Lovelac" },
      "joining/address": address,
      "joining/work": back,
      "joining/address#2": back,
      "joining/person#2": person,
      "joining/address#3": address,
      "joining/work#2": { ...work, to: 8 },
      "joining/work#3": work,
    };
    const run = await runTool(joinCompany, { email: "ada@acme.example" }, { answers, crashAt: "every" });
    expect(run.text).toBe("Welcome, Ada Lovelace of Vienna: 9 to 17 o'clock, quiet room.");
    const filledIn = ({ request }: (typeof run.asks)[number]) =>
      request.type !== "form"
        ? {}
        : Object.fromEntries(
            Object.entries(request.schema["properties"] as Record<string, { default?: unknown }>).flatMap(([name, field]) =>
              "default" in field ? [[name, field.default]] : [],
            ),
          );
    expect(run.asks.map(filledIn)).toEqual([
      { email: "ada@acme.example" },
      {},
      {},
      address,
      { ...person, name: "Ada Lovelac" },
      address,
      {},
      { ...work, to: 8 },
    ]);
    expect(await stored("colleagues", `${run.task.id}.json`)).toMatchObject({ person, address, work });
  });
});

describe("research", () => {
  test("finds the lines, reports progress, and asks nothing", async () => {
    const run = await runTool(research, { word: "holdTable" }, { crashAt: "every" });
    expect(run.asks).toEqual([]);
    expect(run.result?.["structuredContent"]).toMatchObject({
      word: "holdTable",
      findings: expect.arrayContaining([expect.objectContaining({ file: "02-book-dinner.ts" })]),
    });
    expect(run.feed.at(-1)).toEqual({ type: "progress", progress: 19, total: 19 });
  });
});

describe("book_dinner", () => {
  const evening = { date: "2026-12-24", time: "19:30" };

  test("holds a table, asks, and confirms it once, even when its worker dies after every step", async () => {
    const run = await runTool(bookDinner, evening, { answers: { "party-size": { partySize: 4 } }, crashAt: "every" });
    expect(run.text).toMatch(/^Confirmed: table 1 for 4 on 2026-12-24 at 19:30, number [0-9A-F]{6}\.$/);
    expect(run.journal).toEqual(["step:hold-table", "ask:party-size", "step:confirm"]);
    expect(await stored("bookings", "2026-12-24T19-30", "table-1.json")).toMatchObject({ partySize: 4 });
  });

  test("accepts no more people than a table seats", async () => {
    const running = await startTool(bookDinner, evening);
    await expect(running.answer({ "party-size": { partySize: 21 } })).rejects.toThrow(/Party size must be between 1 and 20/);
    expect(running.task.status).toBe("input_required");
  });

  test.each([
    [decline, "No table was booked."],
    [cancel, "No table was booked."],
    [timeout, "The question was not answered in time, so the table was released."],
  ] as const)("gives the table back when there is no answer", async (reply, text) => {
    const run = await runTool(bookDinner, evening, { answers: { "party-size": reply } });
    expect(run.text).toBe(text);
    expect(await readdir(join(dir, "bookings", "2026-12-24T19-30"))).toEqual([]);
  });

  test("releases the table when the client cannot be asked after all, or the booking fails", async () => {
    const run = await runTool(bookDinner, evening, { answers: { "party-size": unavailable }, crashAt: "every" });
    expect(run.result).toMatchObject({ isError: true });
    expect(await readdir(join(dir, "bookings", "2026-12-24T19-30"))).toEqual([]);

    const running = await startTool(bookDinner, evening);
    await rm(join(dir, "bookings", "2026-12-24T19-30", "table-1.json"));
    await running.answer({ "party-size": { partySize: 2 } });
    expect(running.result).toMatchObject({ isError: true });
    expect(running.journal).toContain("step:release-table");
  });

  test("refuses clients that cannot be asked before anything is held", () => {
    expect(bookDinner.needs).toEqual({ elicitation: { form: true, url: false } });
  });

  test("reports that the evening is full", async () => {
    for (let table = 1; table <= 3; table += 1) {
      expect((await runTool(bookDinner, evening, { answers: { "party-size": { partySize: 2 } } })).text).toContain(`table ${table} `);
    }
    expect((await runTool(bookDinner, evening)).result).toMatchObject({
      isError: true,
      content: [{ text: "No table is left on 2026-12-24 at 19:30." }],
    });
  });

  test("refuses an invalid time before anything is held", async () => {
    await expect(runTool(bookDinner, { date: "2026-12-24", time: "7pm" })).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
    expect(existsSync(join(dir, "bookings"))).toBe(false);
  });
});

describe("delete_files", () => {
  test("deletes exactly what was shown", async () => {
    const running = await startTool(deleteFiles);
    expect(running.task.asks[0]?.request).toMatchObject({ message: "⚠️ Delete these 2 files?\n  cache.tmp\n  draft.tmp" });
    await writeFile(join(dir, "sandbox", "late.tmp"), "late");
    await running.answer({ confirm: { value: true } });
    expect(running.text).toBe("Deleted cache.tmp, draft.tmp.");
    expect((await readdir(join(dir, "sandbox"))).toSorted()).toEqual(["late.tmp", "thesis.txt"]);
  });

  test.each<[Reply]>([[{ value: false }], [{}], [decline], [timeout]])("keeps everything without a clear yes", async (reply) => {
    const run = await runTool(deleteFiles, {}, { answers: { confirm: reply } });
    expect(run.text).toBe("Nothing was deleted.");
    expect(await readdir(join(dir, "sandbox"))).toHaveLength(3);
  });

  test("cannot be talked out of its sandbox", async () => {
    await expect(runTool(deleteFiles, { ending: "/../x" })).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
  });
});

describe("expense_report", () => {
  const expense = { purpose: "Train to Graz", amount: 90, date: "2026-11-20", category: "travel", projects: ["apollo", "gemini"] };

  test("files what the form says and returns it as data", async () => {
    const run = await runTool(expenseReport, {}, { answers: { expense } });
    const report = run.result?.["structuredContent"] as { id: string };
    expect(report).toMatchObject({ ...expense, billable: false, perProject: 45 });
    expect(await stored("expenses", `${report.id}.json`)).toEqual(report);
  });

  test("shows a form with every kind of field", async () => {
    const running = await startTool(expenseReport);
    expect(running.task.asks[0]?.request).toMatchObject({
      schema: {
        properties: {
          purpose: { type: "string", minLength: 3 },
          amount: { type: "number", maximum: 10_000 },
          date: { type: "string", format: "date" },
          category: { type: "string", oneOf: expect.arrayContaining([{ const: "travel", title: "Travel and lodging" }]) },
          projects: { type: "array", minItems: 1, items: { type: "string", enum: ["apollo", "gemini", "mercury"] } },
          billable: { type: "boolean", default: false },
        },
      },
    });
  });

  test("asks again for an amount that the form accepts and the tool does not", async () => {
    const run = await runTool(expenseReport, {}, { answers: { expense: { ...expense, amount: 0 }, "expense#2": expense } });
    expect(run.result?.["structuredContent"]).toMatchObject({ amount: 90 });
  });
});

describe("connect_account", () => {
  test("sends the user to a page with a unique state, and never sees a secret", async () => {
    const run = await runTool(connectAccount, { service: "calendar" }, { answers: { authorize: accept } });
    const request = run.asks[0]?.request;
    const state = request?.type === "url" ? (new URL(request.url).searchParams.get("state") ?? "") : "";
    expect(await stored("connections", `${state}.json`)).toEqual({ service: "calendar", principal: "tester", status: "opened" });
    expect(run.text).toContain(state);
    expect(state).not.toContain(run.task.id);
  });

  test.each([
    [decline, "decline"],
    [timeout, "timeout"],
  ] as const)("notes that the user did not go there", async (reply, status) => {
    const run = await runTool(connectAccount, { service: "calendar" }, { answers: { authorize: reply } });
    expect(run.text).toBe(`The calendar was not connected (${status}).`);
  });
});

describe("onboarding", () => {
  const ada = { name: "Ada", email: "ada@example.com", role: "developer" };
  const bob = { name: "Bob", email: "bob@example.com", role: "designer" };

  test("asks round after round until there are no more members", async () => {
    const run = await runTool(
      onboarding,
      { team: "web" },
      { answers: { member: { ...ada, more: true }, "member#2": bob }, crashAt: "every" },
    );
    expect(run.text).toBe("Team web: Ada (developer), Bob (designer).");
    expect(run.asks.map(({ request }) => "message" in request && request.message)).toEqual([
      "Member 1 of team web?",
      "Member 2 of team web?",
    ]);
    expect(await stored("teams", "web.json")).toEqual({ team: "web", members: [ada, bob] });
  });

  test("keeps earlier rounds when the user closes a later one", async () => {
    const run = await runTool(onboarding, { team: "web" }, { answers: { member: { ...ada, more: true }, "member#2": cancel } });
    expect(run.text).toBe("Team web: Ada (developer).");
  });

  test("sets up no team without members", async () => {
    expect((await runTool(onboarding, { team: "web" }, { answers: { member: decline } })).text).toBe("Team web was not set up.");
  });
});

describe("deploy", () => {
  const version = { service: "shop", version: "1.2.3" };

  test("asks for approval and window at once, then releases", async () => {
    const running = await startTool(deploy, version);
    expect(running.task.asks.map(({ key }) => key)).toEqual(["approval", "window"]);
    await running.answer({ window: { when: "now" } });
    await running.answer({ approval: { approve: true, note: "ship it" } });
    expect(running.text).toBe("Released shop 1.2.3 now.");
    expect(await stored("releases", "shop.json")).toMatchObject({ version: "1.2.3", note: "ship it" });
  });

  test("waits until tonight without an answer about the window", async () => {
    const run = await runTool(deploy, version, { answers: { approval: { approve: true }, window: timeout } });
    expect(run.text).toBe("Released shop 1.2.3 tonight.");
    expect(run.now).toEqual(new Date("2026-01-01T09:00:00Z"));
  });

  test.each<[Reply]>([[decline], [timeout], [{ approve: false }]])("releases nothing without approval", async (approval) => {
    const run = await runTool(deploy, version, { answers: { approval, window: { when: "now" } } });
    expect(run.text).toBe("shop 1.2.3 was not approved.");
    expect(existsSync(join(dir, "releases"))).toBe(false);
  });
});

describe("release_payment", () => {
  const payment = { payment: "P-1", payee: "Acme", amount: 9000 };
  const finance = (principal: string) => ({ principal, groups: ["finance"] });

  test("pays when two people from finance have accepted, and records who they were", async () => {
    const run = await startTool(releasePayment, payment, { principal: "ann", crashAt: "every" });
    await run.answer({ release: { remark: "checked" } }, finance("ada"));
    await expect(run.answer({ release: {} }, finance("ann"))).rejects.toThrow("is for other people");
    expect(run.text).toBe("");
    await run.answer({ release: {} }, finance("eve"));
    expect(run.text).toBe("Payment P-1 is released; 2 people have accepted it.");
    expect(await stored("payments", "P-1.json")).toMatchObject({
      approvedBy: [{ principal: "ada", remark: "checked" }, { principal: "eve" }],
    });
  });

  test("pays nothing if one of them declines or five days have passed", async () => {
    const declined = await startTool(releasePayment, { ...payment, payment: "P-2" });
    await declined.answer({ release: {} }, finance("ada"));
    await declined.answer({ release: decline }, finance("eve"));
    expect(declined.text).toContain("declined");
    const late = await startTool(releasePayment, { ...payment, payment: "P-3" });
    await late.answer({ release: {} }, finance("ada"));
    await late.advance("5 days");
    expect(late.text).toBe("Payment P-3 is not released: 1 of 2 people accepted it in five days.");
    for (const name of ["P-2.json", "P-3.json"]) await expect(stored("payments", name)).rejects.toThrow("ENOENT");
  });
});

describe("approve_invoice", () => {
  const invoice = { invoice: "2026-117", amount: 480, approver: "Ada", deputy: "Bob" };
  const keys = ({ task }: { readonly task: { readonly asks: readonly { readonly key: string }[] } }) => task.asks.map(({ key }) => key);

  test("asks only one person if that person answers within a day", async () => {
    const run = await runTool(approveInvoice, invoice, { answers: { approver: { approve: true, note: "fine" } }, crashAt: "every" });
    expect(run.text).toBe("Ada approved invoice 2026-117.");
    expect(run.asks.map(({ key }) => key)).toEqual(["approver"]);
    expect(await stored("invoices", "2026-117.json")).toEqual({
      invoice: "2026-117",
      amount: 480,
      approvedBy: "Ada",
      by: "tester",
      note: "fine",
    });
  });

  test("also asks the deputy after a day; the first answer wins, and the other question is withdrawn", async () => {
    const running = await startTool(approveInvoice, invoice, { crashAt: "every" });
    await running.advance("23 hours");
    expect(keys(running)).toEqual(["approver"]);
    await running.advance("1 hour");
    expect(keys(running)).toEqual(["approver", "deputy"]);
    await running.answer({ deputy: { approve: true } });
    expect(running.text).toBe("Bob approved invoice 2026-117.");
    expect(keys(running)).toEqual([]);
    await expect(running.answer({ approver: { approve: false } })).rejects.toThrow('"approver" is not asked');
    expect(await stored("invoices", "2026-117.json")).toMatchObject({ approvedBy: "Bob" });
  });

  test("accepts a late answer from the person who was asked first", async () => {
    const running = await startTool(approveInvoice, invoice, { crashAt: "every" });
    await running.advance("2 days");
    await running.answer({ approver: { approve: true } });
    expect(running.text).toBe("Ada approved invoice 2026-117.");
  });

  test.each<[Reply, string]>([
    [{ approve: false }, "Ada did not approve invoice 2026-117."],
    [decline, "Ada did not approve invoice 2026-117."],
  ])("treats a no as an answer", async (approver, text) => {
    expect((await runTool(approveInvoice, invoice, { answers: { approver } })).text).toBe(text);
    expect(existsSync(join(dir, "invoices"))).toBe(false);
  });

  test("pays nothing without an answer", async () => {
    const run = await runTool(approveInvoice, invoice, { answers: { approver: timeout, deputy: timeout } });
    expect(run.text).toBe("No decision was made about invoice 2026-117.");
    expect(run.now).toEqual(new Date("2026-01-06T00:00:00Z"));
  });
});

describe("review_access", () => {
  const review = { project: "apollo", accounts: ["ada", "bob", "cy"] };

  test("asks about all accounts at once, and applies each answer to its own account, in any order", async () => {
    const running = await startTool(reviewAccess, review, { crashAt: "every" });
    expect(running.task.asks.map(({ key }) => key).toSorted()).toEqual(["ada/keep", "bob/keep", "cy/keep"]);
    await running.answer({ "cy/keep": { keep: false } });
    await running.answer({ "ada/keep": { keep: true } });
    await running.answer({ "bob/keep": { keep: false } });
    expect(running.text).toBe("Access to apollo: ada keeps it, bob lost it, cy lost it.");
    expect(await readdir(join(dir, "access", "apollo"))).toEqual(["ada.json"]);
  });

  test("revokes nothing without an explicit no", async () => {
    const run = await runTool(reviewAccess, review, { answers: { "ada/keep": decline, "bob/keep": timeout, "cy/keep": {} } });
    expect(run.text).toBe("Access to apollo: ada keeps it, bob keeps it, cy keeps it.");
  });

  test("refuses an account that is listed twice", async () => {
    await expect(runTool(reviewAccess, { ...review, accounts: ["ada", "ada"] })).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
  });
});

describe("weekly_note", () => {
  test("asks week after week as the same task, with an empty journal each time", async () => {
    const running = await startTool(weeklyNote, { journal: "garden" }, { crashAt: "every" });
    await running.answer({ note: { note: "sowed" } });
    await running.advance("7 days");
    expect(running.task.asks).toMatchObject([{ key: "note@1", request: { message: "Week 2 of garden: what happened?" } }]);
    // The second week is not answered.
    await running.advance("13 days");
    await running.answer({ "note@2": { note: "picked", goOn: false } });
    expect(running.text).toBe("The journal garden ends with week 3.");
    expect((await readdir(join(dir, "journals", "garden"))).toSorted()).toEqual(["week-1.json", "week-3.json"]);
    expect(await stored("journals", "garden", "week-3.json")).toEqual({ note: "picked" });
  });

  test("ends when the user declines", async () => {
    expect((await runTool(weeklyNote, { journal: "garden" }, { answers: { note: decline } })).text).toBe(
      "The journal garden ends with week 1.",
    );
  });
});

describe("plan_trip", () => {
  const trips = () => readdir(join(dir, "trips"));

  test("asks one question after another, and books once", async () => {
    const answers = { travellers: {}, train: "noon", day: "2026-02-14", book: true };
    const run = await runTool(planTrip, { city: "Graz" }, { answers, crashAt: "every" });
    expect(run.text).toContain("Booked: 2 seats to Graz, noon train.");
    expect(run.result?.["content"]).toMatchObject([{ type: "text" }, { type: "resource", resource: { mimeType: "application/json" } }]);
    expect(run.feed.filter(({ type }) => type === "emit")).toMatchObject([{ kind: "toast" }, { kind: "artifact" }]);
    const [trip = ""] = await trips();
    expect(await stored("trips", trip)).toEqual({ city: "Graz", travellers: 2, train: "noon", day: "2026-02-14", state: "booked" });
  });

  test("does not offer a train that does not run, and says why", async () => {
    const running = await startTool(planTrip, { city: "Graz" });
    await running.answer({ travellers: 1 });
    expect(running.task.asks[0]?.request).toMatchObject({
      schema: {
        properties: {
          value: {
            description: "Not available: Night (not in winter).",
            oneOf: [
              { const: "morning", title: "Morning – leaves at 7:25 (29 €)" },
              { const: "noon", title: "Noon – leaves at 12:25 (39 €, fastest)" },
            ],
          },
        },
      },
    });
    await expect(running.answer({ train: "night" })).rejects.toThrow(/refused/);
  });

  test.each<[Reply]>([[false], [decline], [cancel], [timeout]])("releases the seats without a clear yes", async (book) => {
    const answers: Script = { travellers: 1, train: "noon", day: {}, book };
    const run = await runTool(planTrip, { city: "Graz" }, { answers, crashAt: "every" });
    expect(run.text).toBe("Nothing was booked.");
    expect(await trips()).toEqual([]);
  });
});

describe("compare_offers", () => {
  const suppliers = ["bakery", "bistro", "caterer"];

  test("asks all suppliers at once, continues with each as it answers, and streams the comparison", async () => {
    const running = await startTool(compareOffers, { event: "summer-party", suppliers }, { crashAt: "every" });
    const open = () => running.task.asks.map(({ key }) => key).toSorted();
    expect(open()).toEqual(["bakery/price", "bistro/price", "caterer/price"]);
    await running.answer({ "bistro/price": 310.5 });
    expect(open()).toEqual(["bakery/price", "bistro/delivery", "caterer/price"]);
    await running.answer({ "bistro/delivery": "by car", "bakery/price": 99, "caterer/price": decline });
    await running.answer({ "bakery/delivery": "by bicycle" });
    expect(running.text).toBe("Offers for summer-party:\n  bakery: 99.00 €, by bicycle\n  bistro: 310.50 €, by car\n");
    expect(await stored("offers", "summer-party.json")).toMatchObject({ bakery: { price: 99 } });
  });
});

describe("collect_payment", () => {
  const bill = { amount: 12, purpose: "tickets" };

  test("continues when the payment service reports the payment, not when the window is closed", async () => {
    const run = await startTool(collectPayment, bill, { crashAt: "every" });
    await run.answer({ pay: accept });
    expect(run.task.status).toBe("input_required");
    await expect(run.tell("paid", { status: "failed" })).rejects.toMatchObject({ code: "INVALID_EVENT" });
    await run.tell("paid", { status: "paid", reference: "4711" });
    expect(run.text).toBe("Paid 12 € for tickets, reference 4711.");
    const [file = ""] = await readdir(join(dir, "payments"));
    expect(await stored("payments", file)).toMatchObject({ amount: 12, callback: expect.stringContaining("/events/") });
  });

  test("ends without a payment within a day", async () => {
    const run = await runTool(collectPayment, bill, { answers: { pay: timeout }, events: { paid: timeout } });
    expect(run.text).toBe('The event "paid" was not reported in time. The tool stopped there.');
  });
});

describe("plan_retreat", () => {
  const retreat = { team: "web", people: 8 };
  const booked = async () => (await readdir(join(dir, "retreats", "web"))).toSorted();

  test("keeps the bookings when they are approved", async () => {
    const run = await runTool(planRetreat, retreat, { answers: { approve: true }, crashAt: "every" });
    expect(run.text).toBe("The retreat of web is booked for 8.");
    expect(await booked()).toEqual(["bus.json", "catering.json", "venue.json"]);
  });

  test("releases everything when it is cancelled, declined or not answered, wherever the worker dies", async () => {
    for (const crashAt of [undefined, 1, 2, 3, 4, 5, 6, "every"] as const) {
      const run = await startTool(planRetreat, retreat, { crashAt });
      expect(await booked()).toHaveLength(3);
      await run.cancel();
      expect([crashAt, await booked(), run.task.status]).toEqual([crashAt, [], "cancelled"]);
    }
    for (const approve of [decline, timeout, false] as const) {
      const run = await runTool(planRetreat, retreat, { answers: { approve } });
      expect([await booked(), run.result?.["isError"]]).toEqual([[], true]);
    }
  });
});

describe("find_evening", () => {
  /** A calendar that accepts one token. */
  async function calendar(answer: (attempt: number) => [status: number, body: unknown]) {
    let attempts = 0;
    const server = createServer(({ headers }, response) => {
      const [status, body] = headers.authorization === "Bearer a token" ? answer((attempts += 1)) : [401, {}];
      response.writeHead(status).end(JSON.stringify(body));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    vi.stubEnv("CALENDAR_URL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(() => void (server.closeAllConnections(), server.close()));
  }
  const find = (reply: Reply) => runTool(findEvening, {}, { answers: { calendar: reply }, crashAt: "every" });

  test("reads the calendar with the access that the user grants", async () => {
    await calendar((attempt) => [
      attempt === 1 ? 503 : 200,
      [
        { date: "2026-12-01", busy: true },
        { date: "2026-12-02", busy: false },
      ],
    ]);
    const run = await find({ grant: "a token" });
    expect([run.text, run.journal]).toEqual(["2026-12-02 is free.", ["ask:calendar", "step:evenings"]]);
    expect(run.asks).toMatchObject([{ request: { page: { kind: "oauth", provider: "calendar", scopes: ["calendar:read"] } } }]);
  });

  test("reports that the user declined, that the access does not suffice, or that no evening is free", async () => {
    await calendar((attempt) => (attempt === 1 ? [403, {}] : [200, []]));
    expect((await find(decline)).text).toContain("declined");
    expect((await find({ grant: "a token" })).text).toContain("does not cover it");
    expect((await find({ grant: "a token" })).text).toBe("There is no free evening this month.");
  });
});

describe("sign_guestbook", () => {
  beforeEach(() => guestbook.start());
  afterEach(() => guestbook.stop());
  const entries = () => readFile(join(dir, "guestbook", "entries.txt"), "utf8");

  test("appends each entry once, wherever its worker dies", async () => {
    const sign = (guest: string, crashAt?: "every") =>
      runTool(signGuestbook, { guest }, { answers: { line: `Thanks\n${guest}` }, crashAt });
    expect((await sign("Ada", "every")).text).toBe("Entry 1 of the guest book is Ada's.");
    expect((await sign("Bob")).text).toBe("Entry 2 of the guest book is Bob's.");
    expect((await entries()).split("\n").map((entry) => entry.slice(entry.indexOf(" ") + 1))).toEqual([
      "Ada: Thanks Ada",
      "Bob: Thanks Bob",
      "",
    ]);
  });

  test("has one entry per step, even if the step runs again", async () => {
    const work: unknown[] = [];
    await runTool(signGuestbook, { guest: "Ada" }, { answers: { line: "Hello" } });
    const [key = ""] = (await entries()).split(" ");
    await signGuestbook.run({ guest: "Ada" }, {
      ofCtx: (promise: Promise<unknown>) => promise,
      ask: async () => ({ action: "accept", content: { value: "Hello" } }),
      readingOf: () => ({ kept: undefined, keep: () => undefined }),
      step: async (_name: string, sign: (attempt: object) => unknown) => {
        work.push(await sign({ idempotencyKey: key, attempt: 2 }));
        return work[0];
      },
      mustBeAwaited: (promise: unknown) => promise,
      call: { principal: "ada", capabilities: {} },
    } as never);
    expect(work).toEqual([1]);
    expect((await entries()).trim().split("\n")).toHaveLength(1);
  });

  test("writes no entry without an answer", async () => {
    expect((await runTool(signGuestbook, { guest: "Ada" }, { answers: { line: decline } })).result).toMatchObject({ isError: true });
    expect(await entries()).toBe("");
  });
});

describe("host_evening", () => {
  beforeEach(() => guestbook.start());
  afterEach(() => guestbook.stop());
  const evening = { date: "2026-12-24", time: "19:30", guest: "Ada" };
  const tools = [bookDinner, signGuestbook];

  test("asks the questions of both tools at once, each under its own name, and ends when both have ended", async () => {
    const running = await startTool(hostEvening, evening, { tools, crashAt: "every" });
    expect(running.task.asks.map(({ key }) => key).toSorted()).toEqual(["dinner:party-size", "guestbook:line"]);
    await running.answer({ "guestbook:line": "Thank you" });
    expect(running.task.asks.map(({ key }) => key)).toEqual(["dinner:party-size"]);
    await running.answer({ "dinner:party-size": { partySize: 2 } });
    expect(running.text).toMatch(/^Confirmed: table 1 for 2 on 2026-12-24.*\nEntry 1 of the guest book is Ada's\.$/);
  });

  test("waits at most a day for the guest book", async () => {
    const running = await startTool(hostEvening, evening, { tools });
    await running.answer({ "dinner:party-size": decline });
    await running.advance("1 day");
    expect(running.text).toBe("No table was booked.\nThe guest book stays as it is.");
  });

  test("reports why there is no dinner", async () => {
    for (let table = 1; table <= 50; table += 1)
      await runTool(bookDinner, { date: "2026-12-24", time: "19:30" }, { answers: { "party-size": { partySize: 1 } } });
    const run = await runTool(hostEvening, evening, { tools, answers: { "guestbook:line": "Thank you" } });
    expect(run.text).toMatch(/^No dinner: No table is left on 2026-12-24 at 19:30\./);
  });
});
