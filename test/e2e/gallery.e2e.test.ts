/**
 * Every tool of the gallery, driven by the official client with the tasks extension, through a proxy that gives each request to the next
 * front end: whoever takes an answer did not create the task.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { taskId as toTaskId } from "@modelcontextprotocol/ext-tasks/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Connection, type Respond } from "../../apps/cli/connect.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { until } from "../support/until.ts";

interface Result {
  readonly content: readonly { readonly text?: string }[];
  readonly structuredContent?: Record<string, unknown>;
  readonly isError?: boolean;
}

let deployment: Deployment;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-gallery-"));
  // Clients poll as often as they are told to: often, so that the test is quick.
  deployment = await startDeployment({ env: { PARLEY_GALLERY_DIR: directory, PARLEY_POLL_INTERVAL: "50ms" } });
});

afterAll(async () => {
  await deployment.close();
  await rm(directory, { recursive: true });
});

/** Calls a tool and answers each of its questions in turn; the messages of the questions come back with the result. */
async function complete(tool: string, args: Record<string, string>, answers: readonly object[]): Promise<Result & { asked: string[] }> {
  const asked: string[] = [];
  const left = [...answers];
  const respond = (async (request: { params: { message: string } }) => {
    asked.push(request.params.message);
    const answer = left.shift();
    if (!answer) throw new Error(`a question too many: ${request.params.message}`);
    return answer;
  }) as unknown as Respond;
  const connection = await connect(deployment.url, { respond });
  try {
    const execution = await connection.session.callTool(tool, args);
    expect(execution.kind).toBe("task");
    const { outcome } = await execution.settle();
    if (outcome.status !== "completed") throw new Error(`the task ended as ${outcome.status}`, { cause: outcome });
    expect(left).toEqual([]);
    return { ...(outcome.result as unknown as Result), asked };
  } finally {
    await connection.close();
  }
}

const accept = (content: object) => ({ action: "accept", content });

describe("the gallery over two front ends and two workers", () => {
  test("research works without a question", async () => {
    const { structuredContent } = await complete("research", { word: "holdTable" }, []);
    expect(structuredContent).toMatchObject({
      word: "holdTable",
      findings: expect.arrayContaining([expect.objectContaining({ file: "02-book-dinner.ts" })]),
    });
  });

  test("book_dinner asks for how many", async () => {
    const { content, asked } = await complete("book_dinner", { date: "2026-12-24", time: "19:30" }, [accept({ partySize: 4 })]);
    expect(asked).toEqual(["How many people will be dining?"]);
    expect(content[0]?.text).toMatch(/^Confirmed: table 1 for 4 on 2026-12-24 at 19:30/);
  });

  test("delete_files deletes after the list was confirmed", async () => {
    const { content, asked } = await complete("delete_files", { ending: ".tmp" }, [accept({ confirm: true })]);
    expect(asked[0]).toContain("cache.tmp");
    expect(content[0]?.text).toBe("Deleted cache.tmp, draft.tmp.");
  });

  test("expense_report takes every kind of field", async () => {
    const expense = {
      purpose: "Conference",
      amount: 300,
      date: "2026-11-02",
      category: "travel",
      projects: ["apollo", "gemini"],
      billable: true,
    };
    const { structuredContent } = await complete("expense_report", {}, [accept(expense)]);
    expect(structuredContent).toMatchObject({ ...expense, perProject: 150 });
  });

  test("connect_account sends the user to a page", async () => {
    const { content } = await complete("connect_account", { service: "calendar" }, [{ action: "accept" }]);
    expect(content[0]?.text).toContain("The user went to the calendar to sign in");
  });

  test("onboarding asks round after round, and each answer lands at its own", async () => {
    const member = (name: string, more: boolean) => accept({ name, email: `${name}@example.com`, role: "designer", more });
    const { content, asked } = await complete("onboarding", { team: "web" }, [
      member("Ada", true),
      member("Grace", true),
      member("Edsger", false),
    ]);
    expect(asked).toEqual(["Member 1 of team web?", "Member 2 of team web?", "Member 3 of team web?"]);
    expect(content[0]?.text).toBe("Team web: Ada (designer), Grace (designer), Edsger (designer).");
  });

  test("deploy asks two people at once", async () => {
    const answered: string[] = [];
    const respond = (async (request: { params: { message: string } }) => {
      answered.push(request.params.message);
      return request.params.message.startsWith("Release") ? accept({ approve: true }) : accept({ when: "now" });
    }) as unknown as Respond;
    const { session, close } = await connect(deployment.url, { respond });
    const { outcome } = await (await session.callTool("deploy", { service: "shop", version: "1.2.3" })).settle();
    await close();
    expect(answered).toHaveLength(2);
    expect(outcome).toMatchObject({ status: "completed", result: { content: [{ text: "Released shop 1.2.3 now." }] } });
  });

  test("a person's no ends the call without a booking", async () => {
    const { content, isError } = await complete("book_dinner", { date: "2026-12-25", time: "19:30" }, [{ action: "decline" }]);
    expect(content[0]?.text).toBe("No table was booked.");
    expect(isError ?? false).toBe(false);
  });

  test("both front ends had their share", () => {
    const [first = 0, second = 0] = deployment.proxy.counts;
    expect(Math.abs(first - second)).toBeLessThanOrEqual(1);
  });
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

  test("calls from one terminal, answers from another, and the first prints the result", async () => {
    const called = parley("call", "book_dinner", "--arg", "date=2026-12-26", "--arg", "time=20:00");
    const taskId = await until(async () => {
      const ids = (await deployment.redis.keys()).flatMap((key) => /:task:([^:]+)$/.exec(key)?.[1] ?? []);
      const tasks = await Promise.all(ids.map((id) => watcher.session.task(toTaskId(id)).snapshot()));
      return tasks.find(({ status }) => status === "input_required")?.taskId;
    });
    const wrong = await parley("answer", taskId, "--set", "partySize=40");
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("partySize") });
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

  test("hands out the id with --no-wait, cancels, and says so", async () => {
    const { stdout } = await parley("call", "onboarding", "--json", '{"team":"ops"}', "--no-wait");
    const taskId = stdout.trim();
    expect(await parley("tasks", "cancel", taskId)).toMatchObject({ code: 0, stdout: expect.stringContaining("cancelled") });
  });

  test("tells what is wrong with a call, and where a server is missing", async () => {
    expect(await parley("call", "no_such_tool")).toMatchObject({ code: 1, stderr: expect.stringContaining("no_such_tool") });
    expect(await parley("call", "book_dinner", "-a", "date=tomorrow")).toMatchObject({ code: 1, stdout: expect.stringContaining("/date") });
    expect(await parley("call", "research", "--url", "http://127.0.0.1:1/mcp")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("npm start"),
    });
  });
});
