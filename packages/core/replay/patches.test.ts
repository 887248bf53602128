import { systemClock } from "@parley/node";
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
    expect([done, [...task.journal.keys()].toSorted()]).toStrictEqual([steps, [...entries].toSorted()]);
  });

  test("returns the recorded decision, for the old path and for the new one", async () => {
    const task = subject(old);
    await task.run();
    task.deploy(changed([]));
    task.answer("first", accept(1));
    await task.run();
    const decisions = () => ["patch:check", "patch:notify"].map((id) => task.journal.get(id)?.outcome);
    const recorded = [false, true].map((value) => ({ type: "value", value }));
    expect(decisions()).toStrictEqual(recorded);
    task.deploy(async ({ ask, step, tookPatch }) => {
      const check = tookPatch("check");
      await ask("first", form("?"));
      const notify = tookPatch("notify");
      await step("notify", () => undefined);
      await ask("second", form("?"));
      return { seen: `${check} ${notify}` };
    });
    task.answer("second", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { seen: "false true" } });
    expect(decisions()).toStrictEqual(recorded);
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
    expect(done).toStrictEqual(["check", "notify"]);

    done.length = 0;
    const waiting = subject(old);
    await waiting.run();
    waiting.deploy(changed(done));
    waiting.answer("first", accept(1));
    expect(askKeys(await waiting.run())).toStrictEqual(["second"]);
    waiting.answer("second", accept(1));
    expect(await waiting.run()).toMatchObject({ type: "returned", result: { seen: "false true" } });
    expect(done).toStrictEqual(["notify"]);
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
    expect(waiting.journal.get("patch:notify")?.outcome).toStrictEqual({ type: "value", value: true });
    expect(await waiting.run()).toMatchObject({ type: "returned", result: { seen: "true" } });
    expect(died).toBe(2);
  });

  test("is written once: a run that finds the decision writes nothing", async () => {
    const task = subject(async ({ ask, step, patched }) => {
      const isNew = patched("check");
      await step("one", () => 1);
      await ask("go", form("?"));
      return { seen: String(isNew) };
    });
    await task.run();
    expect(task.recordings).toStrictEqual([["patch:check"], ["step:one"]]);
    expect(await task.run()).toMatchObject({ type: "parked", entries: [] });
    expect(task.recordings).toHaveLength(2);
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
    expect(askKeys(await task.run())).toStrictEqual(["bob/before", "ada/after"]);
    task.deploy(branches(true));
    task.answer("bob/before", accept(1));
    expect(askKeys(await task.run())).toStrictEqual(["ada/after", "bob/after"]);
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
    expect(seen).toStrictEqual([false, true]);
    expect([...looping.journal.keys()]).toStrictEqual(["patch:change@1"]);
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

  test.each(["", "a b", "x".repeat(65), "a/b"])("refuses the name %j, as tookPatch and deprecatePatch do", async (name) => {
    const calls: ((effects: Effects) => unknown)[] = [
      ({ patched }) => patched(name),
      ({ tookPatch }) => tookPatch(name),
      ({ deprecatePatch }) => deprecatePatch(name),
    ];
    for (const call of calls) {
      const task = subject(async (effects) => ({ seen: String(call(effects)) }));
      const message = `patch name ${JSON.stringify(name)} is not allowed: use 1 to 64 of A-Z a-z 0-9 _ - .`;
      expect(await task.run()).toMatchObject({ type: "threw", error: { code: "INVALID_NAME", message } });
    }
  });

  test.each<[string, (effects: Effects) => unknown]>([
    ["patched", ({ patched }) => patched("check")],
    ["tookPatch", ({ tookPatch }) => tookPatch("check")],
    ["deprecatePatch", ({ deprecatePatch }) => deprecatePatch("check")],
  ])("may be asked again after an await of something outside ctx, by %s, since the name has one decision", async (_name, call) => {
    const task = subject(async (effects) => {
      const outside = async (ms: number) => {
        await systemClock.sleep(ms);
        return call(effects);
      };
      const [first, second] = await Promise.all([outside(1), outside(3)]);
      return { seen: `${String(first)} ${String(second)}` };
    });
    expect(await task.run()).toMatchObject({ type: "returned", result: { seen: expect.stringMatching(/^(.+) \1$/) } });
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
    expect([...fresh.journal.keys()]).toStrictEqual(["step:check"]);
  });

  test("makes the new path the only one for the rest of the run", async () => {
    const task = subject(async ({ deprecatePatch, tookPatch, patched }) => {
      deprecatePatch("check");
      return { seen: `${tookPatch("check")} ${patched("check")}` };
    });
    expect(await task.run()).toMatchObject({ type: "returned", result: { seen: "true true" } });
    expect([...task.journal.keys()]).toStrictEqual([]);
  });

  test.each<[string, (effects: Effects) => unknown]>([
    ["tookPatch", ({ tookPatch }) => tookPatch("t")],
    ["deprecatePatch", ({ deprecatePatch }) => deprecatePatch("t")],
  ])("and tookPatch let the run continue once they ask for a decision that was awaited: %s", async (_name, call) => {
    const asking =
      (decide: (effects: Effects) => unknown): Handler =>
      async (effects) => {
        const outside = async () => {
          await systemClock.sleep(1);
          decide(effects);
        };
        await Promise.all([effects.ask("go", form("?")), outside(), effects.sleep("nap", 20)]);
        return { seen: "all" };
      };
    const task = subject(asking(({ patched }) => patched("t")));
    await task.run();
    expect(task.journal.get("patch:t")?.outcome).toStrictEqual({ type: "value", value: true });
    task.deploy(asking(call));
    task.answer("go", accept(1));
    expect(await task.run()).toMatchObject({ type: "returned", result: { seen: "all" } });
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
    expect(await task.run()).toMatchObject({
      type: "diverged",
      error: {
        message:
          "replay diverged in tool subject: recorded patch:check not taken, so the task needs the old code, found deprecatePatch, which says that the old code is gone",
      },
    });
    expect(done).toStrictEqual([]);
  });
});
