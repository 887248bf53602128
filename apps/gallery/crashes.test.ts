/** Runs every tool of the gallery with its worker dying at every point, and expects the same result, the same files, and each effect recorded once. */
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { catalogue } from "@parley/sdk";
import { type Script, type TestOptions, type Told, accept, back, decline, runTool, timeout } from "@parley/sdk/testing";
import type { JsonObject } from "@parley/core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import * as gallery from "./index.ts";

const { tools, modules = [] } = catalogue(gallery);

interface Course {
  readonly tool: string;
  readonly args?: JsonObject;
  readonly answers: Script;
  readonly events?: Told;
}

const UUID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g;

const member = (name: string, more: boolean) => ({ name, email: `${name}@example.com`, role: "developer", more });

const COURSES: readonly Course[] = [
  { tool: "research", args: { word: "holdTable" }, answers: {} },
  { tool: "book_dinner", args: { date: "2026-12-24", time: "19:30" }, answers: { "party-size": { partySize: 4 } } },
  { tool: "book_dinner", args: { date: "2026-12-24", time: "19:30" }, answers: { "party-size": timeout } },
  { tool: "delete_files", answers: { confirm: { value: true } } },
  {
    tool: "expense_report",
    answers: { expense: { purpose: "Train", amount: 90, date: "2026-11-20", category: "travel", projects: ["apollo"] } },
  },
  { tool: "connect_account", args: { service: "calendar" }, answers: { authorize: accept } },
  { tool: "onboarding", args: { team: "web" }, answers: { member: member("ada", true), "member#2": member("bob", false) } },
  {
    tool: "join_company",
    answers: {
      "joining/person": { name: "Ada", email: "ada@example.com", phone: "12345", birthday: "1990-12-10" },
      "joining/address": back,
      "joining/person#2": { name: "Ada L", email: "ada@example.com", phone: "12345", birthday: "1990-12-10" },
      "joining/address#2": { street: "Ring 1", zip: "1010", city: "Vienna", country: "Austria" },
      "joining/work": { from: 9, to: 8, seat: "home" },
      "joining/work#2": { from: 9, to: 17, seat: "home" },
    },
  },
  { tool: "deploy", args: { service: "shop", version: "1.2.3" }, answers: { approval: { approve: true }, window: timeout } },
  {
    tool: "approve_invoice",
    args: { invoice: "2026-117", amount: 480, approver: "Ada", deputy: "Bob" },
    answers: { approver: timeout, deputy: { approve: true } },
  },
  {
    tool: "review_access",
    args: { project: "apollo", accounts: ["ada", "bob"] },
    answers: { "ada/keep": { keep: false }, "bob/keep": decline },
  },
  { tool: "weekly_note", args: { journal: "garden" }, answers: { note: { note: "sowed" }, "note@1": { note: "picked", goOn: false } } },
  { tool: "plan_trip", args: { city: "Graz" }, answers: { travellers: {}, train: "noon", day: {}, book: true } },
  { tool: "plan_trip", args: { city: "Graz" }, answers: { travellers: {}, train: "noon", day: {}, book: decline } },
  {
    tool: "compare_offers",
    args: { event: "party", suppliers: ["bakery", "bistro"] },
    answers: { "bakery/price": 99, "bakery/delivery": "by car", "bistro/price": decline },
  },
  {
    tool: "collect_payment",
    args: { amount: 12, purpose: "tickets" },
    answers: { pay: timeout },
    events: { paid: { status: "paid", reference: "4711" } },
  },
  { tool: "plan_retreat", args: { team: "web", people: 8 }, answers: { approve: true } },
  { tool: "plan_retreat", args: { team: "web", people: 8 }, answers: { approve: false } },
  { tool: "plan_retreat", args: { team: "web", people: 8 }, answers: { approve: timeout } },
  { tool: "release_payment", args: { payment: "P-1", payee: "Acme", amount: 9000 }, answers: { release: {} } },
  { tool: "sign_guestbook", args: { guest: "Ada" }, answers: { line: "Thank you" } },
  {
    tool: "host_evening",
    args: { date: "2026-12-24", time: "19:30", guest: "Ada" },
    answers: { "dinner:party-size": { partySize: 4 }, "guestbook:line": "Thank you" },
  },
  {
    tool: "host_evening",
    args: { date: "2026-12-24", time: "19:30", guest: "Ada" },
    answers: { "dinner:party-size": decline, "guestbook:line": timeout },
  },
  { tool: "find_evening", answers: { calendar: { grant: "a token" } } },
];

/** The calendar of find_evening. */
const calendar = createServer((_request, response) => response.end('[{"date":"2026-12-02","busy":false}]'));

beforeAll(async () => {
  calendar.listen(0, "127.0.0.1");
  await once(calendar, "listening");
});

afterAll(() => {
  calendar.closeAllConnections();
  calendar.close();
});

afterEach(() => {
  vi.unstubAllEnvs();
});

/** The outcome of a run and the files in the gallery's directory. Two tasks differ only by their ids. */
async function ended({ tool: name, args = {}, answers, events = {} }: Course, options: TestOptions) {
  const dir = await mkdtemp(join(tmpdir(), "parley-crashes-"));
  vi.stubEnv("PARLEY_GALLERY_DIR", dir);
  vi.stubEnv("CALENDAR_URL", `http://127.0.0.1:${(calendar.address() as AddressInfo).port}`);
  // Started here as a worker does.
  await Promise.all(modules.map((each) => each.start()));
  try {
    const tool = tools.get(name);
    if (!tool) throw new Error(`the gallery has no tool ${name}`);
    const run = await runTool(tool, args, { ...options, answers, events, tools: [...tools.values()].filter((each) => each !== tool) });
    const paths = (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const files = await Promise.all(
      paths.map(async (entry) => [
        join(entry.parentPath, entry.name).slice(dir.length),
        await readFile(join(entry.parentPath, entry.name), "utf8"),
      ]),
    );
    const outcome = { result: run.result, error: run.error, journal: run.journal.toSorted(), files: files.toSorted() };
    // The restaurant's confirmation numbers are digests of the task's id.
    const said = JSON.stringify(outcome)
      .replaceAll(run.task.id, "TASK")
      .replaceAll(/TASK\.[\w-]+\.[\w-]+/g, "TOKEN")
      .replaceAll(/0-[\w-]{22}~/g, "CHILD")
      .replaceAll(UUID, "UUID");
    const [, number = "none"] = /requests\/([0-9a-f]{32})/.exec(said) ?? [];
    return JSON.parse(said.replaceAll(number, "NUMBER").replaceAll(number.slice(0, 6).toUpperCase(), "NUMBER")) as typeof outcome;
  } finally {
    await Promise.all(modules.map((each) => each.stop()));
    await rm(dir, { recursive: true });
  }
}

test("every tool of the gallery is covered", () => {
  expect(new Set(COURSES.map(({ tool }) => tool))).toEqual(new Set(tools.keys()));
});

describe.each(COURSES.map((course) => [course.tool, course] as const))("%s", (_name, course) => {
  test("ends the same wherever its worker dies", async () => {
    const expected = await ended(course, {});
    expect(expected.error).toBeUndefined();
    expect(await ended(course, { crashAt: "every" })).toEqual(expected);
    for (let after = 1; after <= expected.journal.length; after += 1) {
      expect([after, await ended(course, { crashAt: after })]).toEqual([after, expected]);
    }
  });
});
