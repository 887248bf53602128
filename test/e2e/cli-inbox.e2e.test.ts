/** `parley inbox` and `parley answer`: everything that is asked of a person, in whoever's task, with a login. */
import { catalogue, defineTool } from "@parley/sdk";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { callerNamed, deploy } from "../../apps/server/deployment.fixture.ts";
import { freePorts } from "../support/free-ports.ts";
import { parley, watchParley } from "../support/parley.ts";
import { hasTerminal, openTerminal, type Terminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";

const FINANCE = { groups: ["finance"] };
const schema = z.object({ cents: z.int().max(2_000).meta({ title: "Amount in cents" }), note: z.string().optional() });

const tools = catalogue([
  defineTool({
    name: "pay",
    title: "Pay a bill",
    input: z.object({ what: z.string() }),
    async run({ what }, ctx) {
      const answer = await ctx.ask("amount", {
        message: `How much for ${what}?`,
        schema,
        to: FINANCE,
        timeout: "2 days",
        onTimeout: "decline",
        priority: "high",
        allow: ["delegate", "askBack"],
        context: [
          { type: "table", title: "Offers", columns: ["shop", "cents"], rows: [["Ash", 900]] },
          { type: "diff", before: "old", after: "new" },
        ],
      });
      return JSON.stringify(answer);
    },
  }),
  defineTool({
    name: "own",
    run: async (_args, ctx) => (await ctx.elicit("name", { message: "Who?", schema: z.object({ name: z.string() }) })).name,
  }),
  defineTool({
    name: "delete_archive",
    run: async (_args, ctx) =>
      (await ctx.confirm("sure", {
        message: "Delete the archive of 2019?",
        destructive: true,
        submitLabel: "Delete the archive",
        cancelLabel: "Keep it",
        to: FINANCE,
      }))
        ? "deleted"
        : "kept",
  }),
  defineTool({
    name: "sign",
    async run(_args, ctx) {
      await ctx.elicit("both", { message: "Sign?", schema: z.object({ ok: z.boolean() }), to: FINANCE, quorum: 2 });
      return "signed";
    },
  }),
]);

const PEOPLE = {
  ann: callerNamed("ann", { displayName: "Ann Lee", names: ["sub:7", "email:ann@acme.io"] }),
  eve: callerNamed("eve", { groups: ["finance"] }),
  bob: callerNamed("bob", { groups: ["finance"] }),
  dora: callerNamed("dora"),
};
type Who = keyof typeof PEOPLE;

async function subject() {
  const { fronts, services } = await deploy({
    catalogue: tools,
    authenticate: ({ headers }) => PEOPLE[String(headers.authorization).replace("Bearer ", "") as Who] ?? callerNamed("nobody"),
  });
  const url = fronts[0]!.url;
  const env = (who: Who) => ({ PARLEY_URL: url, PARLEY_TOKEN: who });
  const run = (who: Who, ...args: string[]) => parley(args, { env: env(who) });
  async function json(who: Who, ...args: string[]): Promise<Record<string, unknown>> {
    const { stdout, stderr } = await run(who, ...args, "--json");
    return JSON.parse(stdout || stderr) as Record<string, unknown>;
  }
  async function called(who: Who, tool: string, ...args: string[]): Promise<string> {
    const taskId = String((await json(who, "call", tool, ...args, "--no-wait"))["taskId"]);
    await until(async () => (await services.store.load(taskId))?.status === "input_required");
    return taskId;
  }
  const result = async (taskId: string) =>
    await until(async () => {
      const task = await services.store.load(taskId);
      return task?.outcome?.type === "result" ? (task.outcome.result["content"] as { text: string }[])[0]?.text : undefined;
    });
  return { url, env, run, json, called, result };
}

describe("what is asked in other people's tasks", () => {
  test("is listed with who asks, what to see first and until when, by the filters, and answered; who comes second learns who was first", async () => {
    const { run, json, called, result } = await subject();
    const taskId = await called("ann", "pay", "--what", "chairs");
    const own = await called("bob", "own");

    const { questions, isMore } = await json("bob", "inbox");
    expect(isMore).toBe(false);
    const owner = { principal: "ann", name: "Ann Lee", email: "ann@acme.io", subject: "7", isCaller: false };
    const pay = { taskId, key: "amount", tool: "pay", priority: "high", owner, state: "open" };
    expect(questions).toEqual([expect.objectContaining(pay), expect.objectContaining({ taskId: own, tool: "own" })]);
    const listed = await json("bob", "inbox", "--owner", "others", "--priority", "high", "--tool", "pay", "--order", "deadline");
    expect(listed["questions"]).toEqual([
      expect.objectContaining({ ...pay, request: expect.objectContaining({ message: "How much for chairs?" }) }),
    ]);
    expect(await json("bob", "inbox", "--priority", "low")).toEqual({ questions: [], isMore: false });
    expect(await json("bob", "inbox", "--limit", "1")).toMatchObject({ questions: [{ taskId }], isMore: true });

    const { stdout } = await run("bob", "inbox", "--list", "--owner", "others");
    expect(stdout).toMatch(
      /^Pay a bill \(pay\) asks, in a call of Ann Lee \(ann@acme\.io\) {2}high · asked .+ · closes in \d+ \w+, and then it counts as declined · for finance\n/,
    );
    expect(stdout).toContain("Offers\n    shop  cents\n    Ash   900\n    - old\n    + new\n");
    expect(stdout).toContain(
      `? amount: How much for chairs?\n    parley answer ${taskId} amount --set cents=<integer> [--set note=<text>]\n`,
    );

    expect(await run("ann", "answer", taskId, "amount", "-a", "cents=1")).toMatchObject({
      code: 1,
      stderr: "parley: amount is a question for finance, and not for you\n",
    });
    expect(await run("bob", "answer", taskId, "amount", "-a", "cents=3000")).toMatchObject({
      code: 1,
      stderr: "parley: refused: Amount in cents must be at most 2000\n",
    });
    expect(await json("bob", "answer", taskId, "-a", "cents=900", "-a", "note=12:30")).toEqual({ taskId, key: "amount", answered: true });
    expect(JSON.parse(await result(taskId))).toEqual({ action: "accept", content: { cents: 900, note: "12:30" } });
    expect(await run("eve", "answer", taskId, "amount", "--decline")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^parley: amount was answered (by bob|already)\n$/),
    });
    expect(await json("bob", "answer", "0-nothing", "amount", "--accept")).toMatchObject({
      error: { message: expect.any(String), code: expect.anything() },
    });
  });

  test("is declined with a reason, which its caller reads", async () => {
    const { run, json, called, result } = await subject();
    const taskId = await called("ann", "pay", "--what", "chairs");
    expect((await run("ann", "tasks")).stdout).toContain(`${taskId}  input_required  Pay a bill (pay)  called `);
    expect((await run("ann", "task", taskId)).stdout).toContain("\n  tool     Pay a bill (pay)\n");
    expect(await json("eve", "answer", taskId, "--decline", "--reason", "too dear")).toMatchObject({ answered: true });
    expect(JSON.parse(await result(taskId))).toMatchObject({ action: "decline", reason: "too dear" });
  });

  test("is asked back about, which the person who made the call finds in their inbox and in the task's status, and replies to", async () => {
    const { run, json, called } = await subject();
    const taskId = await called("ann", "pay", "--what", "chairs");
    expect(await run("bob", "ask-back", taskId, "-m", "For which office?")).toMatchObject({
      code: 0,
      stdout: "The person who made the call is asked; amount stays open.\n",
    });
    const inbox = (await run("ann", "inbox", "--list")).stdout;
    expect(inbox).toContain("? amount: bob asks you back: For which office?");
    expect(inbox).toContain(`parley reply ${taskId} amount -m <text>`);
    expect((await run("eve", "inbox", "--list")).stdout).toContain("waits for a reply");
    expect((await run("ann", "task", taskId)).stdout).toContain(
      'bob asks back before answering "How much for chairs?": "For which office?"',
    );
    // Nothing answers it in its place.
    expect(await run("ann", "inbox", "--accept", "--yes")).toMatchObject({ code: 0, stdout: "no open questions\n" });
    expect(await json("ann", "reply", taskId, "-m", "Graz.")).toEqual({ taskId, key: "amount", receipt: "replied" });
    expect((await run("ann", "inbox")).stdout).toBe("no open questions\n");
    expect(await run("ann", "reply", taskId, "amount", "-m", "Graz.")).toMatchObject({
      code: 1,
      stderr: "parley: nobody waits for a reply\n",
    });
  });

  test("is put aside by one person, listed where they ask for it, and brought back", async () => {
    const { run, json, called } = await subject();
    const taskId = await called("ann", "pay", "--what", "chairs");
    expect(await run("bob", "snooze", taskId, "--for", "4 hours")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^amount comes back in (3|4) hours\.\n$/),
    });
    expect([(await run("bob", "inbox")).stdout, (await run("eve", "inbox", "--list")).stdout]).toEqual([
      "no open questions\n",
      expect.stringContaining("How much for chairs?"),
    ]);
    expect((await run("bob", "inbox", "--list", "--snoozed", "only")).stdout).toMatch(/put aside, comes back in (3|4) hours/);
    expect((await run("bob", "snooze", taskId, "amount", "--back")).stdout).toBe("amount is back in your inbox.\n");
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect(await json("bob", "snooze", taskId, "--until", until)).toEqual({ taskId, key: "amount", receipt: "snoozed", until });
    for (const [args, says] of [
      [[], "--for"],
      [["--for", "1 hour", "--back"], "--for"],
      [["--for", "a while"], "a while"],
      [["--until", "noon"], "until must be a time"],
      [["--for", "30 days"], "before the question's deadline"],
    ] as const)
      expect(await run("bob", "snooze", taskId, ...args)).toMatchObject({ code: 1, stderr: expect.stringContaining(says) });
  });

  test("is claimed, commented on and handed on, for everyone who is asked to see, and answered in another's place", async () => {
    const { run, json, called, result } = await subject();
    const taskId = await called("ann", "pay", "--what", "chairs");
    const at = [taskId, "amount"];
    // With no key: the only question.
    expect(await run("bob", "claim", taskId, "--minutes", "5")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^You are on amount; that ends in (4 minutes|\d+ seconds)\.\n$/),
    });
    expect(await run("eve", "claim", ...at)).toMatchObject({
      code: 1,
      stderr: "parley: bob is on amount; you may answer it all the same\n",
    });
    expect((await run("eve", "inbox", "--list")).stdout).toContain("bob is on it");
    expect(await json("bob", "release", ...at)).toEqual({ taskId, key: "amount", receipt: "released" });
    expect(await json("eve", "comment", ...at, "-m", "Which budget?")).toEqual({ taskId, key: "amount", receipt: "commented" });
    expect(await run("bob", "delegate", ...at, "--reason", "On leave")).toMatchObject({ code: 1, stderr: expect.stringContaining("--to") });
    expect(await run("ann", "delegate", ...at, "--to", "dora", "--reason", "On leave")).toMatchObject({ code: 1 });
    const back = ["--group", "finance", "--reason", "Mine again"];
    expect(await json("bob", "delegate", ...at, ...back)).toEqual({ taskId, key: "amount", receipt: "delegated" });
    expect(await run("bob", "delegate", ...at, "--to", "dora", "--to", "emil", "--reason", "On leave")).toMatchObject({
      code: 0,
      stdout: "dora, emil can answer amount in your place.\n",
    });
    expect((await run("bob", "inbox")).stdout).toBe("no open questions\n");
    expect((await run("dora", "inbox", "--list")).stdout).toMatch(/handed on by bob · 1 comment/);
    expect(await run("bob", "answer", ...at, "--decline")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("was handed on by you to dora, emil"),
    });
    expect(await json("dora", "answer", ...at, "-a", "cents=900")).toMatchObject({ answered: true });
    expect(JSON.parse(await result(taskId))).toMatchObject({ content: { cents: 900 } });
    expect(await run("eve", "comment", ...at, "-m", "Too late")).toMatchObject({
      code: 1,
      stderr: "parley: amount was answered by dora\n",
    });
    expect(await run("eve", "claim", "0-nothing")).toMatchObject({ code: 1, stdout: "" });
  });

  test("is printed while it is asked, and how it ended, until the person leaves", async () => {
    const { env, json, called } = await subject();
    const before = await called("ann", "pay", "--what", "chairs");
    const watching = watchParley(["inbox", "--watch", "--json"], { env: env("bob") });
    const lines = () =>
      watching
        .stdout()
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await until(() => lines().length === 1);
    const later = await called("ann", "pay", "--what", "desks");
    await until(() => lines().length === 2);
    await json("eve", "answer", before, "--decline");
    await until(() => lines().length === 3);
    expect(lines()).toMatchObject([
      { taskId: before, state: "open" },
      { taskId: later, state: "open", request: { message: "How much for desks?" } },
      { taskId: before, state: "settled", end: "declined", by: { principal: "eve" } },
    ]);
    expect(await watching.interrupt()).toBe(130);
  });

  test("needs more people, and says how many", async () => {
    const { run, json, called, result } = await subject();
    const taskId = await called("ann", "sign");
    expect(await json("eve", "answer", taskId, "-a", "ok=true")).toEqual({ taskId, key: "both", answered: true, missing: 1 });
    expect(await run("bob", "answer", taskId, "-a", "ok=true")).toMatchObject({ code: 0, stderr: "answered\n" });
    expect(await result(taskId)).toBe("signed");
  });

  test("is answered alike with a receipt for each, or not at all where the answer does not fit", async () => {
    const { run, json, called, result } = await subject();
    const tasks = [await called("ann", "pay", "--what", "chairs"), await called("ann", "pay", "--what", "desks")];
    await called("bob", "own");
    const pay = ["inbox", "--tool", "pay"];
    expect(await run("bob", ...pay, "-a", "cents=1")).toMatchObject({
      code: 1,
      stderr: "parley: 2 questions would be answered: add --yes to answer them\n",
    });
    const unfit = await run("bob", "inbox", "-a", "cents=1", "--yes");
    expect(unfit).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("the question has no field cents; it has name. Nothing was answered."),
    });
    const wrong = await run("bob", ...pay, "-a", "cents=3000", "--yes");
    expect(wrong).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^parley: nothing was answered\. .*Amount in cents must be at most 2000/),
    });
    const { receipts } = await json("bob", ...pay, "-a", "cents=500", "--yes");
    expect(receipts).toEqual(tasks.map((taskId) => ({ taskId, key: "amount", receipt: "accepted" })));
    for (const taskId of tasks) expect(JSON.parse(await result(taskId))).toEqual({ action: "accept", content: { cents: 500 } });
    expect(await run("bob", ...pay, "--decline", "--yes")).toMatchObject({ code: 0, stdout: "no open questions\n" });

    // What cannot be undone is answered by itself.
    const [archive, lamps] = [await called("ann", "delete_archive"), await called("ann", "pay", "--what", "lamps")];
    expect(await json("bob", "inbox", "--owner", "others", "--decline", "--yes")).toEqual({
      receipts: [{ taskId: lamps, key: "amount", receipt: "accepted" }],
      leftOpen: [{ taskId: archive, key: "sure" }],
    });
    expect(await run("bob", "inbox", "--owner", "others", "--accept", "--yes")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `sure of task ${archive} stays open: it cannot be undone, so it is answered by itself, with \`parley answer ${archive} sure\`\n`,
    });
  });
});

test("a server that does not respond, and a filter that is wrong, are named", async () => {
  const { url, run } = await subject();
  const [port = 0] = await freePorts(1);
  const away = `http://127.0.0.1:${port}/mcp`;
  expect(await parley(["inbox", "--url", away])).toMatchObject({ code: 1, stderr: expect.stringContaining(`${away} does not respond`) });
  expect((await run("ann", "inbox", "--asked-after", "noon")).stderr).toContain("askedAfter must be a time, such as 2026-12-24T18:00:00Z");
  expect((await parley(["inbox", "--owner", "nobody", "--url", url])).stderr).toContain("Allowed choices are me, others");
});

describe.runIf(hasTerminal)("at a terminal", () => {
  const open: Terminal[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((terminal) => terminal.close()));
  });

  test("each question says who asks; Later leaves it open, a reason goes with a no, and one answer is given to equal questions", async () => {
    const { env, called, result } = await subject();
    const [first, second, third] = [
      await called("ann", "pay", "--what", "chairs"),
      await called("ann", "pay", "--what", "desks"),
      await called("ann", "pay", "--what", "lamps"),
    ];
    const on = await openTerminal(["inbox"], env("bob"));
    open.push(on);
    await on.shows("Pay a bill asks, in a call of Ann Lee (ann@acme.io)");
    await on.shows("How much for chairs?");
    await on.shows("Answer?");
    await on.press("Down", "Down", "Down", "Enter");
    await on.shows("How much for desks?");
    await on.shows(/Answer\?[^]*Answer\?/);
    await on.press("Down", "Enter");
    await on.shows("Why? (optional)");
    await on.type("too dear");
    await on.press("Enter");
    await on.shows("Give the same answer to this question?");
    await on.press("Space", "Enter");
    await on.shows("2 of 3 answered");
    expect(await on.ended()).toBe(0);
    for (const taskId of [second, third]) expect(JSON.parse(await result(taskId))).toMatchObject({ action: "decline", reason: "too dear" });
    const after = await openTerminal(["inbox"], env("bob"));
    open.push(after);
    await after.shows("1 of 1");
    await after.shows(first);
  });

  test("a call that asks several people, the caller too, lets them accept or decline: a no would count as an acceptance", async () => {
    const { env } = await subject();
    const on = await openTerminal(["call", "sign"], env("eve"));
    open.push(on);
    await on.shows("Sign?");
    await on.shows(/● Answer\n.*Decline\n/);
  });

  test("a yes or no takes one step, with the author's words; what cannot be undone is not chosen by Enter alone", async () => {
    const { env, called, result } = await subject();
    const [kept, deleted] = [await called("ann", "delete_archive"), await called("ann", "delete_archive")];
    const on = await openTerminal(["answer", kept], env("bob"));
    open.push(on);
    await on.shows("This cannot be undone.");
    await on.shows(/Delete the archive\n.*Keep it\n.*● Later/);
    await on.press("Enter");
    await on.shows("The question stays open.");
    const [keeping, deleting] = [await openTerminal(["answer", kept], env("bob")), await openTerminal(["answer", deleted], env("eve"))];
    open.push(keeping, deleting);
    await keeping.shows("● Later");
    await keeping.press("Up", "Enter");
    await deleting.shows("● Later");
    await deleting.press("Up", "Up", "Enter");
    expect([await keeping.ended(), await deleting.ended()]).toEqual([0, 0]);
    expect([await result(kept), await result(deleted)]).toEqual(["kept", "deleted"]);
  });
});
