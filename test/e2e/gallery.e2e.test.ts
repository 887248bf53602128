/**
 * Every tool of the gallery, in every dialect that a released client speaks, through a proxy that gives each request to the next front end:
 * the front end that takes an answer did not create the task.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { taskId as toTaskId } from "@modelcontextprotocol/ext-tasks/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Connection } from "../../apps/cli/client/connect.ts";
import { tasks2025, tasks2026 } from "../dialects/clients/ext-tasks.ts";
import { blocking, experimentalTasks } from "../dialects/clients/sdk-v1.ts";
import { blockingV2, inputRequired } from "../dialects/clients/sdk-v2.ts";
import type { Call, Dialect, Question, Told } from "../dialects/dialect.ts";
import type { Reply } from "../dialects/scenarios.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";

let deployment: Deployment;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-gallery-"));
  // Clients poll as often as they are told to: often, so that the test is quick.
  const env = { PARLEY_GALLERY_DIR: directory, PARLEY_POLL_INTERVAL: "50ms", PARLEY_PUBLIC_URL: "https://parley.example.com" };
  deployment = await startDeployment({ env });
});

afterAll(async () => {
  await deployment.close();
  await rm(directory, { recursive: true });
});

type Answer = Reply | ((question: Question) => Reply);

interface Completion {
  readonly tool: string;
  readonly args?: Call["args"];
  /** By the start of a question: its answer. */
  readonly answers?: Readonly<Record<string, Answer>>;
}

type Completed = Exclude<Told, { readonly failed: string }> & { readonly asked: readonly string[] };

/** Calls a tool and answers its questions; the messages of the questions come back with the result. */
async function complete(dialect: Dialect, { tool, args = {}, answers = {} }: Completion): Promise<Completed> {
  const asked: string[] = [];
  const never = () => Promise.reject(new Error("nobody breaks off here"));
  const told = await dialect.run({
    url: deployment.url,
    tool,
    args,
    meanwhile: undefined,
    async respond(question) {
      asked.push(question.message);
      const [, answer] = Object.entries(answers).find(([start]) => question.message.startsWith(start)) ?? [];
      if (!answer) throw new Error(`a question too many: ${question.message}`);
      return typeof answer === "function" ? answer(question) : answer;
    },
    asked: Promise.resolve(),
    closed: never,
    cut: never,
    vanish: never,
    back: () => undefined,
  });
  if ("failed" in told) throw new Error(`${tool} failed: ${told.failed}`);
  return { ...told, asked };
}

const accept = (content?: Extract<Reply, { readonly action: "accept" }>["content"]): Reply => ({
  action: "accept",
  ...(content && { content }),
});

/** Before 2025-06-18 data comes as text alone. */
async function dataOf(dialect: Dialect, completion: Completion): Promise<unknown> {
  const { structuredContent, text } = await complete(dialect, completion);
  return structuredContent ?? JSON.parse(text);
}

/** Each has a number of its own, so that no two want the same table, file or team. */
const CLIENTS: readonly {
  readonly dialect: Dialect;
  readonly number: number;
  readonly visitsPages?: false;
}[] = [
  { dialect: tasks2026, number: 10 },
  { dialect: inputRequired, number: 11 },
  { dialect: blocking, number: 12 },
  { dialect: experimentalTasks, number: 13 },
  { dialect: blockingV2("2025-11-25"), number: 14 },
  // Before 2025-11-25 there is no way to send anybody to a page.
  { dialect: blockingV2("2025-06-18"), number: 15, visitsPages: false },
  { dialect: blockingV2("2025-03-26"), number: 16, visitsPages: false },
  { dialect: tasks2025, number: 17 },
];

describe.concurrent.each(CLIENTS)("the gallery over two front ends and two workers: $dialect.name", ({ dialect, number, visitsPages }) => {
  test("research works without a question", async () => {
    const data = await dataOf(dialect, { tool: "research", args: { word: "holdTable" } });
    expect(data).toMatchObject({
      word: "holdTable",
      findings: expect.arrayContaining([expect.objectContaining({ file: "02-book-dinner.ts" })]),
    });
  });

  test("book_dinner asks for how many", async () => {
    const { text, asked } = await complete(dialect, {
      tool: "book_dinner",
      args: { date: `2026-12-${number}`, time: "19:30" },
      answers: { How: accept({ partySize: 4 }) },
    });
    expect(asked).toEqual(["How many people will be dining?"]);
    expect(text).toMatch(`Confirmed: table 1 for 4 on 2026-12-${number} at 19:30`);
  });

  test("delete_files deletes after the list was confirmed", async () => {
    const [cache, draft] = [`cache.t${number}`, `draft.t${number}`];
    await mkdir(join(directory, "sandbox"), { recursive: true });
    await Promise.all([cache, draft].map((file) => writeFile(join(directory, "sandbox", file), "")));
    const { text, asked } = await complete(dialect, {
      tool: "delete_files",
      args: { ending: `.t${number}` },
      answers: { "⚠️ Delete": accept({ value: true }) },
    });
    expect(asked[0]).toContain(cache);
    expect(text).toBe(`Deleted ${cache}, ${draft}.`);
  });

  test("expense_report takes every kind of field, as the revision words it", async () => {
    const expense = { purpose: "Conference", amount: 300, date: "2026-11-02", category: "travel", billable: true };
    const data = await dataOf(dialect, {
      tool: "expense_report",
      answers: {
        // A choice of several is as many booleans before 2025-11-25.
        Please: ({ requestedSchema }) =>
          Object.hasOwn(requestedSchema?.properties ?? {}, "projects")
            ? accept({ ...expense, projects: ["apollo", "gemini"] })
            : accept({ ...expense, projects_apollo: true, projects_gemini: true, projects_mercury: false }),
      },
    });
    expect(data).toMatchObject({ ...expense, projects: ["apollo", "gemini"], perProject: 150 });
  });

  test("connect_account sends the user to a page, or says in words where it is", async () => {
    const { text, isError } = await complete(dialect, {
      tool: "connect_account",
      args: { service: "calendar" },
      answers: { "Please sign in": accept(undefined) },
    });
    expect(text).toMatch(
      visitsPages === false ? /^NOT FINISHED: connect_account waits[^]+\/asks\//i : "The user went to the calendar to sign in",
    );
    expect(isError).toBe(false);
  });

  test("onboarding asks round after round, and each answer lands at its own", async () => {
    const team = `team-${number}`;
    const member = (name: string, more: boolean) => accept({ name, email: `${name}@example.com`, role: "designer", more });
    const { text, asked } = await complete(dialect, {
      tool: "onboarding",
      args: { team },
      answers: { "Member 1": member("Ada", true), "Member 2": member("Grace", true), "Member 3": member("Edsger", false) },
    });
    expect(asked).toEqual([1, 2, 3].map((round) => `Member ${round} of team ${team}?`));
    expect(text).toBe(`Team ${team}: Ada (designer), Grace (designer), Edsger (designer).`);
  });

  test("deploy asks two people at once", async () => {
    const { text, asked } = await complete(dialect, {
      tool: "deploy",
      args: { service: `shop-${number}`, version: "1.2.3" },
      answers: { Release: accept({ approve: true }), When: accept({ when: "now" }) },
    });
    expect(asked).toHaveLength(2);
    expect(text).toBe(`Released shop-${number} 1.2.3 now.`);
  });

  test("approve_invoice asks one person as long as that one has patience", async () => {
    const { text, asked } = await complete(dialect, {
      tool: "approve_invoice",
      args: { invoice: `2026-${number}`, amount: 480, approver: "Ada", deputy: "Bob" },
      answers: { Ada: accept({ approve: true }) },
    });
    expect(asked).toHaveLength(1);
    expect(text).toBe(`Ada approved invoice 2026-${number}.`);
  });

  test("review_access asks about everybody, and each answer lands at its own account", async () => {
    const { text, asked } = await complete(dialect, {
      tool: "review_access",
      args: { project: `apollo-${number}`, accounts: ["ada", "bob", "cy"] },
      answers: { "Does bob": accept({ keep: false }), Does: accept({ keep: true }) },
    });
    expect(asked).toHaveLength(3);
    expect(text).toBe(`Access to apollo-${number}: ada keeps it, bob lost it, cy keeps it.`);
  });

  test("weekly_note ends when the user has enough", async () => {
    const { text } = await complete(dialect, {
      tool: "weekly_note",
      args: { journal: `garden-${number}` },
      answers: { "Week 1": accept({ note: "sowed", goOn: false }) },
    });
    expect(text).toBe(`The journal garden-${number} ends with week 1.`);
  });

  test("plan_trip asks one question after another, as a generator", async () => {
    const { asked, text } = await complete(dialect, {
      tool: "plan_trip",
      args: { city: "Graz" },
      answers: {
        "How many": accept({ value: 3 }),
        "Which train": accept({ value: "noon" }),
        "On which": accept({ value: "2026-12-24" }),
        "⚠️ Book": accept({ value: true }),
      },
    });
    expect(asked).toHaveLength(4);
    expect(text).toContain("Booked: 3 seats to Graz, noon train.");
  });

  test("compare_offers asks several suppliers at once, and what it streams is its result", async () => {
    const { text } = await complete(dialect, {
      tool: "compare_offers",
      args: { event: `party-${number}`, suppliers: ["bakery", "bistro", "caterer"] },
      answers: {
        "What does bakery": accept({ value: 99 }),
        "What does bistro": accept({ value: 310.5 }),
        "What does caterer": { action: "decline" },
        "How does": accept({ value: "by car" }),
      },
    });
    expect(text).toBe(`Offers for party-${number}:\n  bakery: 99.00 €, by car\n  bistro: 310.50 €, by car\n`);
  });

  test("a person's no ends the call without a booking", async () => {
    const { text, isError } = await complete(dialect, {
      tool: "book_dinner",
      args: { date: `2026-11-${number}`, time: "19:30" },
      answers: { How: { action: "decline" } },
    });
    expect(text).toBe("No table was booked.");
    expect(isError).toBe(false);
  });
});

test("collect_payment continues when the payment service calls back, at any front end, and not before", async () => {
  const payments = join(directory, "payments");
  const told: number[] = [];
  async function callBack(): Promise<void> {
    const [file = ""] = await readdir(payments);
    const { callback } = JSON.parse(await readFile(join(payments, file), "utf8")) as { callback: string };
    const url = new URL(new URL(callback).pathname, deployment.url);
    for (const status of ["refused", "paid", "paid"]) {
      const body = JSON.stringify({ status, reference: "4711" });
      told.push((await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } })).status);
    }
  }
  const { text } = await complete(tasks2026, {
    tool: "collect_payment",
    args: { amount: 12, purpose: "tickets" },
    answers: {
      "Please pay": () => {
        void callBack();
        return accept();
      },
    },
  });
  expect(text).toBe("Paid 12 € for tickets, reference 4711.");
  await until(() => told.length === 3);
  expect(told).toEqual([422, 200, 200]);
});

test("both front ends had their share", () => {
  const [first = 0, second = 0] = deployment.proxy.counts;
  expect(Math.abs(first - second)).toBeLessThanOrEqual(1);
});

describe("the command line against it", () => {
  const run = promisify(execFile);
  const parley = (...args: string[]) =>
    run(process.execPath, ["apps/cli/main.ts", ...args], {
      cwd: resolve(import.meta.dirname, "../.."),
      env: { ...process.env, PARLEY_URL: deployment.url },
    }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, stdout, stderr }),
    );
  let watcher: Connection;
  beforeAll(async () => {
    watcher = await connect(deployment.url);
  });
  afterAll(() => watcher.close());

  test("a call that is made again with its key is the same task, and another one is refused", async () => {
    const call = (team: string) => parley("call", "onboarding", "--arg", `team=${team}`, "--no-wait", "--idempotency-key", "ops-1");
    const [first, again, other] = [await call("ops"), await call("ops"), await call("web")];
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^0-\S+\n$/) });
    expect(again).toEqual(first);
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("idempotency key") });
    await parley("tasks", "cancel", first.stdout.trim());
  });

  test("calls from one terminal, answers from another, and the first prints the result", async () => {
    const taskIds = async () => (await deployment.redis.keys()).flatMap((key) => /:task:([^:]+)$/.exec(key)?.[1] ?? []);
    const before = await taskIds();
    const called = parley("call", "book_dinner", "--arg", "date=2026-12-26", "--arg", "time=20:00");
    const taskId = await until(async () => {
      const ids = (await taskIds()).filter((id) => !before.includes(id));
      const tasks = await Promise.all(ids.map((id) => watcher.session.task(toTaskId(id)).snapshot()));
      return tasks.find(({ status }) => status === "input_required")?.taskId;
    });
    const wrong = await parley("answer", taskId, "--set", "partySize=40");
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("Party size") });
    expect(await parley("answer", taskId, "party-size", "--set", "partySize=2")).toMatchObject({ code: 0, stderr: "answered\n" });
    expect(await called).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Confirmed: table 1 for 2 /),
      stderr: expect.stringContaining(`parley answer ${taskId} party-size --set partySize=<integer>`),
    });
    expect(await parley("answer", taskId, "--set", "partySize=3")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("nothing is open"),
    });
  });

  test("prints the id with --no-wait, cancels, and reports the cancellation", async () => {
    const { stdout } = await parley("call", "onboarding", "--json", '{"team":"ops"}', "--no-wait");
    const taskId = stdout.trim();
    expect(await parley("tasks", "cancel", taskId)).toMatchObject({ code: 0, stdout: expect.stringContaining("cancelled") });
  });

  test("says what is wrong with a call, and where a server is missing", async () => {
    expect(await parley("call", "no_such_tool")).toMatchObject({ code: 1, stderr: expect.stringContaining("no_such_tool") });
    expect(await parley("call", "book_dinner", "-a", "date=tomorrow")).toMatchObject({ code: 1, stdout: expect.stringContaining("/date") });
    expect(await parley("call", "research", "--url", "http://127.0.0.1:1/mcp")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("parley start"),
    });
  });
});
