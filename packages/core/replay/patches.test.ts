import { describe, expect, test } from "vitest";
import type { Effects } from "../effects.ts";
import { accept, askKeys, form, subject } from "../replay.fixture.ts";

type Handler = (effects: Effects) => Promise<{ seen: string }>;

/** The old code asks twice; the change puts a step before each question. */
const old: Handler = async ({ ask }) => {
  await ask("first", form("?"));
  await ask("second", form("?"));
  return { seen: "old" };
};

const changed =
  (done: string[]): Handler =>
  async ({ ask, step, patched }) => {
    if (patched("check")) await step("check", () => void done.push("check"));
    await ask("first", form("?"));
    if (patched("notify")) await step("notify", () => void done.push("notify"));
    await ask("second", form("?"));
    return { seen: `${patched("check")} ${patched("notify")}` };
  };

describe("tookPatch", () => {
  /** The change can be switched off again, for tasks that have not met it. */
  const switched =
    (isOn: boolean, done: string[]): Handler =>
    async ({ ask, step, patched, tookPatch }) => {
      const isNew = isOn ? patched("check") : tookPatch("check");
      if (isNew) await step("check", () => void done.push("check"));
      await ask("first", form("?"));
      return { seen: String(isOn ? patched("check") : tookPatch("check")) };
    };

  test.each([
    [false, false, "false", [], ["ask:first"]],
    [true, false, "true", ["check"], ["patch:check", "step:check", "ask:first"]],
    [false, true, "false", [], ["patch:check", "ask:first"]],
  ])("follows what the task did (on: %s, then %s), and records nothing of its own", async (before, after, seen, steps, entries) => {
    const done: string[] = [];
    const task = subject(switched(before, done));
    await task.run();
    task.deploy(switched(after, done));
    task.answer("first", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { seen } });
    expect([done, [...task.journal.keys()].toSorted()]).toEqual([steps, [...entries].toSorted()]);
  });
});

describe("patched", () => {
  test("is true for a task that reaches it for the first time, and false for one that passed the point before it existed", async () => {
    const done: string[] = [];
    const fresh = subject(changed(done));
    await fresh.run();
    fresh.answer("first", accept(1));
    await fresh.run();
    fresh.answer("second", accept(1));
    expect(await fresh.run()).toMatchObject({ type: "returned", result: { seen: "true true" } });
    expect(done).toEqual(["check", "notify"]);

    done.length = 0;
    const waiting = subject(old);
    await waiting.run();
    waiting.deploy(changed(done));
    waiting.answer("first", accept(1));
    expect(askKeys(await waiting.run())).toEqual(["second"]);
    waiting.answer("second", accept(1));
    expect(await waiting.run()).toMatchObject({ type: "returned", result: { seen: "false true" } });
    expect(done).toEqual(["notify"]);
  });

  test("is recorded before the following side effect, and decides the same if that was lost", async () => {
    const waiting = subject(old);
    await waiting.run();
    waiting.answer("first", accept(1));
    let died = 0;
    const dies = new AbortController();
    waiting.deploy(async ({ ask, step, patched }) => {
      await ask("first", form("?"));
      const isNew = patched("notify");
      await step("notify", () => {
        if (died === 0) dies.abort();
        died += 1;
      });
      return { seen: String(isNew) };
    });
    expect(await waiting.run(dies.signal)).toMatchObject({ type: "aborted" });
    expect(waiting.journal.get("patch:notify")?.outcome).toEqual({ type: "value", value: true });
    expect(await waiting.run()).toMatchObject({ type: "returned", result: { seen: "true" } });
    expect(died).toBe(2);
  });

  test("is one decision per name in a whole run, and a separate one in each branch", async () => {
    const branches =
      (isNew: boolean): Handler =>
      async ({ ask, branch, patched }) => {
        const seen: string[] = [];
        const one = (key: string) =>
          branch(key, async () => {
            await ask("before", form("?"));
            const first = isNew && patched("change");
            await ask("after", form("?"));
            if (isNew) seen.push(`${key} ${first} ${patched("change")}`);
          });
        await Promise.all([one("ada"), one("bob")]);
        return { seen: seen.toSorted().join(", ") };
      };
    const task = subject(branches(false));
    await task.run();
    task.answer("ada/before", accept(1));
    expect(askKeys(await task.run())).toEqual(["bob/before", "ada/after"]);
    task.deploy(branches(true));
    task.answer("bob/before", accept(1));
    expect(askKeys(await task.run())).toEqual(["ada/after", "bob/after"]);
    task.answer("ada/after", accept(1));
    task.answer("bob/after", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { seen: "ada false false, bob true true" } });
  });

  test("decides anew after a restart, because nothing is recorded", async () => {
    let isChanged = false;
    const seen: boolean[] = [];
    const looping = subject(async ({ ask, patched, restart }) => {
      if (isChanged) seen.push(patched("change"));
      await ask("round", form("?"));
      return restart({});
    });
    await looping.run();
    isChanged = true;
    looping.answer("round", accept(1));
    expect(await looping.run()).toMatchObject({ type: "restarted" });
    await looping.run();
    expect(seen).toEqual([false, true]);
    expect([...looping.journal.keys()]).toEqual(["patch:change@1"]);
  });

  test("diverges in code that does not know it, naming it, soon even if that code does nothing new", async () => {
    const task = subject(changed([]));
    await task.run();
    task.answer("first", accept(1));
    task.deploy(async ({ ask, step }) => {
      await step("check", () => undefined);
      await ask("first", form("?"));
      return { seen: "older" };
    });
    expect(await task.run()).toMatchObject({
      type: "diverged",
      patches: ["check"],
      error: { data: { recorded: expect.stringContaining("patch:check, ") } },
    });
  });

  test.each(["", "a b", "x".repeat(65), "a/b"])("refuses the name %j", async (name) => {
    const task = subject(async ({ patched }) => ({ seen: patched(name) }));
    expect(await task.run()).toMatchObject({ type: "threw", error: { code: "INVALID_NAME" } });
  });

  test("inside a step is refused", async () => {
    const task = subject(async ({ step, patched }) => ({ seen: (await step("work", () => patched("change"))) ?? null }));
    expect(await task.run()).toMatchObject({ type: "threw", error: { message: expect.stringContaining('inside the step "work"') } });
  });
});

describe("deprecatePatch", () => {
  const without =
    (done: string[]): Handler =>
    async ({ ask, step, deprecatePatch }) => {
      deprecatePatch("check");
      await step("check", () => void done.push("check"));
      await ask("first", form("?"));
      return { seen: "new" };
    };

  test("finds the decision of a task that took the new path, and records none for new tasks", async () => {
    const task = subject(changed([]));
    await task.run();
    task.deploy(without([]));
    task.answer("first", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { seen: "new" } });

    const fresh = subject(without([]));
    await fresh.run();
    expect([...fresh.journal.keys()]).toEqual(["step:check"]);
  });

  test("diverges for a task that took the old path, before anything new is done", async () => {
    const done: string[] = [];
    const task = subject(old);
    await task.run();
    task.deploy(changed(done));
    task.answer("first", accept(1));
    await task.run();
    done.length = 0;
    task.deploy(without(done));
    task.answer("second", accept(1));
    expect(await task.run()).toMatchObject({ type: "diverged", error: { message: expect.stringContaining("patch:check not taken") } });
    expect(done).toEqual([]);
  });
});
