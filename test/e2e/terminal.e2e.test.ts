/** The command line in a real terminal: what a person sees and types, and what remains afterwards. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { taskId as toTaskId } from "@modelcontextprotocol/ext-tasks/core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { connect, type Connection } from "../../apps/cli/client/connect.ts";
import { freePorts } from "../support/free-ports.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type FrontEnd, startFrontEnd } from "../support/processes.ts";
import { hasTerminal, openTerminal, type Terminal } from "../support/terminal.ts";

const TOOLS = join(import.meta.dirname, "tools/asks.ts");

/** An approval that cannot be undone, whose arguments may be changed. */
const RULES = `
default: allow
rules: [{ name: posts, title: Posting, tools: [post], action: approve, by: tenant, risk: high, edit: true, diff: caller }]
`;

/** As a person takes at least between two keys. */
const PAUSE_MS = 200;

let directory: string;
let deployment: Deployment;
let frontEnd: FrontEnd;
let env: Record<string, string>;
let other: Connection;
const open: Terminal[] = [];

beforeAll(async () => {
  if (!hasTerminal) return;
  directory = await mkdtemp(join(tmpdir(), "parley-terminal-"));
  const rules = join(directory, "rules.yaml");
  await writeFile(rules, RULES);
  deployment = await startDeployment({ frontEnds: 0, workers: 1, tools: [TOOLS], env: { PARLEY_RULES: rules } });
  const [port = 0] = await freePorts(1);
  const { url, prefix } = deployment.redis;
  env = { REDIS_URL: url, PARLEY_PREFIX: prefix, PARLEY_TOOLS: TOOLS, PARLEY_RULES: rules, PARLEY_PORT: String(port) };
  frontEnd = await startFrontEnd(env);
  other = await connect(`${frontEnd.url}/mcp`);
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((terminal) => terminal.close()));
});

afterAll(async () => {
  await other?.close();
  await frontEnd?.kill();
  await deployment?.close();
  if (directory) await rm(directory, { recursive: true, force: true });
});

async function terminal(...args: string[]): Promise<Terminal> {
  const opened = await openTerminal(args, { PARLEY_URL: `${frontEnd.url}/mcp` });
  open.push(opened);
  return opened;
}

async function idShown(on: Terminal): Promise<string> {
  return /task (0-[\w-]+)/.exec(await on.shows(/task 0-[\w-]{22}/))?.[1] ?? "";
}

/** Takes the first choice of "Answer?". */
async function begin(on: Terminal): Promise<void> {
  await on.shows("Answer?");
  await on.press("Enter");
}

describe.runIf(hasTerminal)("parley in a terminal", () => {
  test("asks for a missing argument and for every kind of field, says at the field what is wrong, and prints the result", async () => {
    const on = await terminal("call", "kinds");
    await on.shows("Team");
    await on.type("x");
    await on.press("Enter");
    await on.shows("must have at least 2 characters");
    await on.type("yz");
    await on.press("Enter");
    // What a tool says cannot clear the screen.
    await on.shows("Every kind of field, please.");
    await begin(on);
    await on.shows("Purpose");
    await on.type("ab");
    await on.press("Enter");
    await on.shows("must have at least 3 characters");
    await on.type("c");
    await on.press("Enter");
    await on.shows("People");
    await on.type("21");
    await on.press("Enter");
    await on.shows("must be between 1 and 20");
    await on.resize(60, 20);
    await on.press("BSpace", "BSpace");
    await on.type("4");
    await on.press("Enter");
    await on.shows("Category");
    await on.press("Down", "Enter");
    await on.shows("Projects");
    await on.press("Enter");
    await on.shows("must have at least 1 entry");
    await on.press("Down", "Space", "Enter");
    await on.shows("Billable");
    await on.press("Left", "Enter");
    await on.shows("Note (optional)");
    await on.press("Enter");
    expect(await on.ended()).toBe(0);
    const [, content = "{}"] = /xyz: ({.*})/s.exec((await on.screen()).replaceAll("\n", "")) ?? [];
    expect(JSON.parse(content)).toEqual({ purpose: "abc", people: 4, category: "meals", projects: ["gemini"], billable: true });
  });

  test("lets a person decline, and visit a page whose host is shown unchanged", async () => {
    const [declining, visiting] = await Promise.all([terminal("call", "greet"), terminal("call", "visit")]);
    await declining.shows("Answer?");
    await declining.press("Down", "Enter");
    // The question is on the screen once.
    expect((await declining.shows("Nobody: decline")).split("Who are you?")).toHaveLength(2);
    await visiting.shows("Host: xn--l-7sba6dbr.example.com");
    await visiting.shows("Visit it?");
    await visiting.press("Down", "Enter");
    await visiting.shows("visited: accept");
    expect([await declining.ended(), await visiting.ended()]).toEqual([0, 0]);
  });

  test("nothing is filled in for what cannot be undone, and Enter alone leaves nothing to a default", async () => {
    const on = await terminal("call", "purge");
    await on.shows("This cannot be undone. Nothing is chosen for you.");
    await begin(on);
    await on.shows("Older than days");
    await on.press("Enter");
    await on.shows("An answer is required.");
    await on.type("7");
    await on.press("Enter");
    await on.shows("Of whom");
    await on.press("Enter");
    await on.shows("An answer is required.");
    await on.type("ada");
    await on.press("Enter");
    expect(await on.ended()).toBe(0);
    expect(await on.screen()).toContain(`{"days":7,"of":"ada"}`);
  });

  test("an approval that cannot be undone has the call's arguments filled in, says what is wrong at the field, and what was changed", async () => {
    const on = await terminal("call", "post", "--to", "all", "--copies", "2");
    await on.shows("This cannot be undone. The fields show what will be done.");
    await on.shows("No earlier approved call is known.");
    await begin(on);
    // What stands there is what the tool gets.
    await on.shows(/to[^\n]*\n[^\n]*all/);
    await on.press("Enter");
    await on.shows(/copies[^\n]*\n[^\n]*2/);
    await on.press("BSpace");
    await on.type("9");
    await on.press("Enter");
    await on.shows("must be at most 5");
    await on.press("BSpace");
    await on.type("3");
    await on.press("Enter");
    await on.shows("posted 3 to all");
    await on.shows(`The approver changed an argument of this call: {"copies":3}.`);
    expect(await on.ended()).toBe(0);
    const again = await terminal("call", "post", "--to", "all", "--copies", "4");
    await again.shows(/- copies: 3\s+│?\s*\n.*\+ copies: 4/);
    await again.press("Down", "Enter");
    expect(await again.ended()).toBe(1);
  });

  test("a choice that is the empty string is another answer than none", async () => {
    const on = await terminal("call", "blank");
    await begin(on);
    await on.shows(/Morning.*\n.*● \(blank\)/);
    await on.press("Enter");
    await on.shows(/Evening.*\n.*● \(blank\)/);
    await on.press("Down", "Down", "Enter");
    await on.shows('{"morning":""}');
  });

  test("an argument that may be null is null if it is left empty, and a list whose default is deselected is empty", async () => {
    const on = await terminal("call", "newsletters");
    await on.shows("Limit (optional)");
    await on.type("0");
    await on.press("Enter");
    await on.shows("must be at least 1");
    await on.press("BSpace", "Enter");
    await begin(on);
    await on.shows("Wanted (optional)");
    await on.press("Space", "Enter");
    await on.shows('{"limit":null,"wanted":[]}');
    expect(await on.ended()).toBe(0);
  });

  test("objects are entered as JSON and lists also with commas, and the prompts say so", async () => {
    const on = await terminal("call", "shapes");
    await on.shows("Address (as JSON)");
    await on.type("Bonn");
    await on.press("Enter");
    await on.shows('must be JSON, such as {"name":"value"}');
    await on.press("BSpace", "BSpace", "BSpace", "BSpace");
    await on.type('{"town":"Bonn"}');
    await on.press("Enter");
    await on.shows("Words (separated by commas, or as JSON)");
    await on.type("one,two");
    await on.press("Enter");
    await on.shows("Sizes (separated by commas, or as JSON)");
    await on.type("[1,2]");
    await on.press("Enter");
    await on.shows('{"address":{"town":"Bonn"},"words":["one","two"],"sizes":[1,2]}');
    expect(await on.ended()).toBe(0);
  });

  test("install does not write a client's file that has changed while a person was asked", async () => {
    const folder = await mkdtemp(join(tmpdir(), "parley-install-"));
    try {
      const file = join(folder, "mcp.json");
      const on = await terminal("install", "cursor", "--file", file);
      await on.shows("Write ");
      await writeFile(file, '{"mcpServers":{"other":{"command":"x"}}}');
      await on.press("Enter");
      await on.shows("it has changed meanwhile");
      expect(await on.ended()).toBe(1);
      expect(await readFile(file, "utf8")).toBe('{"mcpServers":{"other":{"command":"x"}}}');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test.each([true, false])(
    "pasted lines arrive as they were pasted, and are not sent before Enter (marked as pasted: %s)",
    async (isMarked) => {
      const on = await terminal("call", "greet");
      await begin(on);
      await on.shows("Name");
      await on.paste("Ann\nof the hill\n", isMarked);
      await on.shows("Ann⏎of the hill⏎");
      // Without marks, what comes right after a paste is taken for its next piece, an Enter too. Nobody types so fast.
      await sleep(PAUSE_MS);
      await on.type("end");
      await on.shows("⏎end");
      await sleep(PAUSE_MS);
      await on.press("Enter");
      await on.shows(/Hello, Ann\s+of the hill\s+end!/);
      expect(await on.ended()).toBe(0);
    },
  );

  test("a long text that is pasted without a mark arrives whole, though in pieces", async () => {
    const on = await terminal("call", "greet");
    await begin(on);
    await on.shows("Name");
    const lines = Array.from({ length: 100 }, (_, at) => `line ${at} of a long text`);
    await on.paste(`${lines.join("\n")}\n`, false);
    await on.shows("line 99 of a long text");
    await sleep(PAUSE_MS);
    await on.type("end");
    await on.shows("⏎end");
    await sleep(PAUSE_MS);
    await on.press("Enter");
    await on.shows(/line 99 of a long text\s+end!/);
    expect(await on.ended()).toBe(0);
  });

  test("Ctrl-C leaves the task waiting and says how to come back; coming back answers it", async () => {
    const on = await terminal("call", "greet");
    const taskId = await idShown(on);
    await on.shows("Answer?");
    await on.press("C-c");
    await on.shows(`parley answer ${taskId}`);
    expect(await on.ended()).toBe(130);
    expect((await other.session.task(toTaskId(taskId)).snapshot()).status).toBe("input_required");

    const back = await terminal("inbox");
    await back.shows(taskId);
    await begin(back);
    await back.shows("Name");
    await back.type("Ann");
    await back.press("Enter");
    await back.shows("1 of 1 answered");
    expect(await back.ended()).toBe(0);
    expect(await (await terminal("task", taskId)).shows("Hello, Ann!")).toContain("completed");
  });

  test("a question that another person answers closes its prompt, and the result is printed", async () => {
    const on = await terminal("call", "greet");
    const taskId = await idShown(on);
    await begin(on);
    await on.shows("Name");
    await other.session.task(toTaskId(taskId)).updateJson({ who: { action: "accept", content: { name: "Bob" } } });
    await on.shows("who was answered elsewhere, or is no longer open.");
    await on.shows("Hello, Bob!");
    expect(await on.ended()).toBe(0);
  });

  test("an answer that comes too late is not reported as given, by answer and by inbox", async () => {
    const on = await terminal("call", "greet");
    const taskId = await idShown(on);
    await on.press("C-c");
    const [answering, reading] = await Promise.all([terminal("answer", taskId), terminal("inbox")]);
    for (const each of [answering, reading]) {
      await begin(each);
      await each.shows("Name");
    }
    await other.session.task(toTaskId(taskId)).updateJson({ who: { action: "accept", content: { name: "Bob" } } });
    expect(await answering.ended()).toBe(1);
    expect(await answering.screen()).toMatch(/who was answered already\.\n\[exit/);
    await reading.shows("0 of 1 answered");
  });

  test("Ctrl-C while an answer is on its way does not report the question as open", async () => {
    const on = await terminal("call", "greet");
    const taskId = await idShown(on);
    await on.press("C-c");
    const answering = await terminal("answer", taskId);
    await begin(answering);
    await answering.shows("Name");
    await frontEnd.kill();
    await answering.type("Dee");
    await answering.press("Enter");
    await answering.shows(/◇ +Name\n│ +Dee/);
    await answering.press("C-c");
    frontEnd = await startFrontEnd(env);
    await answering.shows(/\nanswered\n/);
    expect(await answering.screen()).not.toContain("stays open");
    expect(await answering.ended()).toBe(0);
  });

  test("a server that is restarted meanwhile loses nothing", async () => {
    const on = await terminal("call", "greet");
    await idShown(on);
    await begin(on);
    await on.shows("Name");
    await frontEnd.kill();
    await on.type("Cy");
    await on.press("Enter");
    frontEnd = await startFrontEnd(env);
    await on.shows("Hello, Cy!");
    expect(await on.ended()).toBe(0);
  });

  test("logs are shown while the tool works, and below them its progress", async () => {
    const on = await terminal("call", "busy");
    await on.shows("[warning] the ovens are warm");
    await on.shows("… the dough rises");
    await on.shows(/\[info\] the lid is on\n(?:.*\n)?██████░░░░░░░░░░░░░░░░░░ 25 % {2}kneading\n/);
    await on.press("C-c");
    expect(await on.ended()).toBe(130);
  });
});

test("a terminal was there, or it is said that none was", () => {
  if (!hasTerminal) process.stderr.write("skipped: there is no tmux\n");
});
