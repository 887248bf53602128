/** `parley dev`: files that change under a server, as editors change them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../bench/client.ts";
import { findChromium, startChromium } from "../support/chromium.ts";
import { parley } from "../support/parley.ts";
import { MAIN } from "../support/pipe.ts";
import { until } from "../support/until.ts";

/** Inside the repository: the modules import packages of it. */
const OUT = resolve(import.meta.dirname, "../../out");

const chromium = findChromium();

let folder: string;
let child: ChildProcess;
let printed = "";
let url: string;

const greeting = (word: string, asks = "who") => `
  import { defineTool } from "@parley/sdk";
  import { z } from "zod";
  import { mark } from "./mark.ts";
  export const greet = defineTool({
    name: "greet",
    input: z.object({}),
    async run(_args, ctx) {
      const { name } = await ctx.elicit("${asks}", { message: "Who are you?", schema: z.object({ name: z.string() }) });
      return "${word}, " + name + mark;
    },
  });`;

/** As editors save: another file in its place. At once, so that several saves are as close together as the machine allows. */
function save(name: string, text: string): void {
  writeFileSync(join(folder, `${name}.draft`), text);
  renameSync(join(folder, `${name}.draft`), join(folder, name));
}

async function says(text: string | RegExp, after = 0): Promise<string> {
  return await until(() => {
    const since = printed.slice(after);
    return (typeof text === "string" ? since.includes(text) : text.test(since)) ? since : undefined;
  }).catch((error: unknown) => {
    throw new Error(`parley dev does not say ${String(text)}:\n${printed}`, { cause: error });
  });
}

beforeAll(async () => {
  await mkdir(OUT, { recursive: true });
  folder = await mkdtemp(join(OUT, "dev-"));
  save("tools.ts", greeting("Hello"));
  save("mark.ts", `export const mark = "!";`);
  const { REDIS_URL: _shared, ...env } = process.env;
  child = spawn(process.execPath, [MAIN, "dev", "--port", "0", "--tools", "./tools.ts", "--data-dir", "redis"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text: string) => (printed += text));
  url = /Parley serves (\S+)/.exec(await says(/Parley serves \S+\n/))?.[1] ?? "";
});

afterAll(async () => {
  child?.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function waitingTask(): Promise<string> {
  const client = createClient(url, 1);
  try {
    const { taskId } = await client.call("greet", {});
    await until(async () => (await client.get(taskId)).status === "input_required");
    return taskId;
  } finally {
    client.close();
  }
}

const answer = async (taskId: string, key = "who") =>
  (await parley(["answer", taskId, key, "--set", "name=Ann", "--wait", "--url", url], { cwd: folder })).stdout;

describe("parley dev", () => {
  test("prints where the playground is", async () => {
    const page = /Playground: (\S+)/.exec(await says("Playground: "))?.[1] ?? "";
    expect((await fetch(page)).status).toBe(200);
  });

  const inbox = async () => {
    const at = /Inbox: (\S+)/.exec(await says("Inbox: "))?.[1] ?? "";
    const replies = [await fetch(at), await fetch(new URL("/inbox", at))];
    return replies.map(({ status }) => status);
  };
  test("prints where the inbox is, which opens at no other address", async () => {
    expect(await inbox()).toEqual([200, 404]);
  });

  test("a waiting task continues with changed code, also where a file that the tools import was changed", async () => {
    const taskId = await waitingTask();
    let at = printed.length;
    save("mark.ts", `export const mark = "?";`);
    await says(`Restarted, ${url}`, at);
    expect(printed.slice(at)).toContain("1 of 1 waiting tasks continue with the changed tools");
    at = printed.length;
    save("tools.ts", greeting("Good morning"));
    await says(`Restarted, ${url}`, at);
    expect(await answer(taskId)).toBe("Good morning, Ann?\n");
  });

  test("a module that does not load is reported, the previous one keeps serving, and the next change is used", async () => {
    const taskId = await waitingTask();
    let at = printed.length;
    save("tools.ts", greeting("Good evening").replace("export const", "export konst"));
    const said = await says("The tools do not load; the previous version keeps serving: ", at);
    // With the place: the tools may import many files.
    expect(said).toContain(` (${join(folder, "tools.ts")}:5)`);
    // Once more, at once.
    at = printed.length;
    save("mark.ts", `\nexport const mark = JSON.parse("{");`);
    save("tools.ts", greeting("Good evening"));
    await says(` (${join(folder, "mark.ts")}:2)`, at);
    expect(await answer(taskId)).toBe("Good morning, Ann?\n");
    expect(await inbox()).toEqual([200, 404]);
    at = printed.length;
    // Node does not say where this error is.
    save("mark.ts", `export const mark = "?";\n@mark class A {}`);
    await says(` (${join(folder, "mark.ts")}:2)`, at);
    at = printed.length;
    save("mark.ts", `export const mark = "?";`);
    await says(`Restarted, ${url}`, at);
    expect(await answer(await waitingTask())).toBe("Good evening, Ann?\n");
  });

  test("a file that is imported before it exists is waited for", async () => {
    let at = printed.length;
    save("tools.ts", greeting("Good night").replace("./mark.ts", "./new.ts"));
    await says("The tools do not load", at);
    at = printed.length;
    save("new.ts", `export const mark = ".";`);
    await says(`Restarted, ${url}`, at);
    expect(await answer(await waitingTask())).toBe("Good night, Ann.\n");
  });

  test("changes in quick succession are one restart", async () => {
    const at = printed.length;
    for (const word of ["A", "B", "C", "D"]) save("tools.ts", greeting(word));
    await says(`Restarted, ${url}`, at);
    expect(await answer(await waitingTask())).toBe("D, Ann?\n");
    expect(printed.slice(at).match(/Restarted/g)).toHaveLength(1);
  });

  test("a task that continues only while everything outside is as fast as before is named, with the seed", async () => {
    // Two timers of the same length: the first is first, until one of them takes longer.
    const racing = (mark: string) =>
      greeting("Hello").replace(
        "const { name }",
        `const first = await Promise.race(["a", "b", "c"].map((id) => wait(1, id)));
      await ctx.step("thank-" + first, () => "${mark}");
      const { name }`,
      );
    const tools = (mark: string) => `import { setTimeout as wait } from "node:timers/promises";${racing(mark)}`;
    let at = printed.length;
    save("tools.ts", tools("one"));
    await says(`Restarted, ${url}`, at);
    const taskId = await waitingTask();
    at = printed.length;
    save("tools.ts", tools("two"));
    const said = await says(`Restarted, ${url}`, at);
    expect(said).toMatch(
      new RegExp(
        `✗ ${taskId}  greet  diverges: only when what it awaits outside ctx takes longer or shorter \\(seed \\d\\): recorded step:thank-a`,
      ),
    );
    expect(said).toContain("0 of 1 waiting tasks continue");
    at = printed.length;
    save("tools.ts", greeting("D"));
    await says(`Restarted, ${url}`, at);
    await parley(["cancel", taskId, "--url", url], { cwd: folder });
  });

  test("a task that cannot continue is named, with what is different", async () => {
    const taskId = await waitingTask();
    const at = printed.length;
    save("tools.ts", greeting("Hello", "person"));
    const said = await says(`Restarted, ${url}`, at);
    expect(said).toContain(`✗ ${taskId}  greet  diverges: `);
    expect(said).toContain("0 of 1 waiting tasks continue");
  });

  test.skipIf(chromium === undefined)("the open playground shows changed tools when a person comes back to it", async () => {
    const browser = await startChromium(chromium ?? "");
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(60_000);
      await page.goto(new URL("/play/#tool=greet", url).href);
      await page.getByRole("button", { name: "Call greet" }).waitFor();
      const at = printed.length;
      save("tools.ts", greeting("Hello").replace("z.object({})", `z.object({ title: z.string().nullable() })`));
      await says(`Restarted, ${url}`, at);
      expect(await page.getByLabel("title").count()).toBe(0);
      await page.evaluate('dispatchEvent(new Event("focus"))');
      await page.getByLabel("title").fill("Dr.");
    } finally {
      await browser.close();
      const at = printed.length;
      save("tools.ts", greeting("Hello"));
      await says(`Restarted, ${url}`, at);
    }
  });

  test("that cannot start for another reason than its tools says why and ends, as parley start does", async () => {
    const port = new URL(url).port;
    const { code, stderr } = await parley(["dev", "--port", port, "--tools", "./tools.ts", "--data-dir", "other"], {
      cwd: folder,
      env: { REDIS_URL: "" },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^parley: listen EADDRINUSE: .* set PARLEY_PORT to another one\n$/);
  });

  test("Ctrl-C ends it with 0, and nothing answers any more", async () => {
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([0, null]);
    await expect(fetch(url)).rejects.toThrow();
  });
});
