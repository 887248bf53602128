/** What a replay says about a task: verdict, next step and reason, word by word. */
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ask, Entry, Tool } from "@parley/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Context, defineTool } from "../index.ts";
import { startTool } from "../testing/testing.ts";
import type { RecordedTask } from "./recorded-task.ts";
import { type Replayed, replayRecorded, type ReplayOptions } from "./replay-recorded.ts";

type Run = (ctx: Context) => Promise<string>;

const tool = (run: Run): Tool => defineTool({ name: "ship", runTimeout: "1 minute", run: (_args, ctx) => run(ctx) });
const HOW = z.object({ how: z.enum(["air", "sea"]), note: z.string().optional() });
const ask = (ctx: Context, key: string, message = `${key}?`) => ctx.elicit(key, { message, schema: HOW });

const asksOne: Run = async (ctx) => (await ask(ctx, "one")).how;
const asksTwo: Run = async (ctx) => {
  const both = await Promise.all([ask(ctx, "one"), ask(ctx, "two")]);
  return both.map(({ how }) => how).join();
};

const REDACTED = { isRedacted: true } as const;

async function waiting(run: Run, change: Partial<RecordedTask> = {}): Promise<RecordedTask> {
  return { ...(await (await startTool(tool(run))).exported()), ...change };
}

/** The same task after its open questions were answered: they are in the journal, and no longer among the open ones. */
async function answered(run: Run, content = { how: "air" }, change: Partial<RecordedTask> = {}): Promise<RecordedTask> {
  const { asks, ...exported } = await waiting(run);
  const entry = ({ digest, calledAt }: Ask): Entry => ({
    digest,
    calledAt,
    outcome: { type: "answer", answer: { action: "accept", content } },
    arrived: { atMs: 1, revision: 9 },
  });
  const entries = Object.fromEntries(asks.map((each) => [`ask:${each.key}`, entry(each)]));
  return { ...exported, asks: [], journal: { ...exported.journal, ...entries }, ...change };
}

/** The verdict in words; the reason only if there is one. */
async function said(run: Run, recorded: RecordedTask, options?: ReplayOptions): Promise<string> {
  const { verdict, next, reason } = await replayRecorded(tool(run), recorded, options);
  return [verdict, next, reason].filter((part) => part !== undefined).join(": ");
}

describe("a task continues", () => {
  test("and waits for each of its questions, asks a new one, ends, sleeps or starts over", async () => {
    expect(await said(asksTwo, await waiting(asksTwo))).toBe("continues: waits for ask:one, waits for ask:two");
    expect(await said(asksTwo, await waiting(asksOne))).toBe("continues: waits for ask:one, asks ask:two");
    expect(await said(asksOne, await answered(asksOne))).toBe("continues: ends");
    const naps: Run = async (ctx) => {
      await asksOne(ctx);
      await ctx.sleep("nap", "1 second");
      return "";
    };
    expect(await said(naps, await answered(asksOne))).toBe("continues: sleeps");
    const again: Run = async (ctx) => {
      await asksOne(ctx);
      return await ctx.restart({});
    };
    expect(await said(again, await answered(asksOne))).toBe("continues: starts over");
  });

  test("and does a step that is not recorded, the first of several, whose work does not run", async () => {
    let works = 0;
    const works2: Run = async (ctx) => {
      await asksOne(ctx);
      await Promise.all([ctx.step("charge", () => (works += 1)), ctx.step("print", () => (works += 1))]);
      return "";
    };
    expect(await said(works2, await answered(asksOne))).toBe("continues: does step:charge");
    expect(works).toBe(0);
  });

  test("with its calls in the order in which they were made, those that were made together as the code makes them", async () => {
    const steps: Run = async (ctx) => {
      await ctx.step("b", () => 1);
      await ctx.step("a", () => 1);
      return await asksTwo(ctx);
    };
    const exported = await waiting(steps);
    const journal = Object.fromEntries(Object.entries(exported.journal).toReversed());
    const replayed = await replayRecorded(tool(steps), { ...exported, journal, asks: exported.asks.toReversed() });
    expect(replayed.recorded).toEqual(["step:b", "step:a", "ask:one", "ask:two"]);
    expect(replayed.found).toEqual(["step:b", "step:a", "ask:one", "ask:two"]);
    expect([...replayed.questions.keys()]).toEqual(["one", "two"]);
    expect(replayed.questions.get("two")).toMatchObject({ type: "form", message: "two?" });
    expect(replayed).not.toHaveProperty("changed");
  });
});

test("what the code no longer calls comes after what was called together with it", async () => {
  const both: Run = async (ctx) => {
    await Promise.all([ctx.step("lost", () => 1), ctx.step("kept", () => 1)]);
    return await asksOne(ctx);
  };
  const one: Run = async (ctx) => {
    await ctx.step("kept", () => 1);
    return await asksOne(ctx);
  };
  const exported = await waiting(both);
  for (const entries of [Object.entries(exported.journal), Object.entries(exported.journal).toReversed()]) {
    const replayed = await replayRecorded(tool(one), { ...exported, journal: Object.fromEntries(entries) });
    expect(replayed.recorded).toEqual(["step:kept", "step:lost", "ask:one"]);
  }
});

describe("a task fails", () => {
  test("with the error that ends the code, by name and message", async () => {
    const broken: Run = async (ctx) => {
      await asksOne(ctx);
      throw new RangeError("no ship is that large");
    };
    expect(await said(broken, await answered(asksOne))).toBe(
      "fails: the code ends the task with the error RangeError: no ship is that large",
    );
  });

  test("if it waits for something that never comes, until its runTimeout", async () => {
    const silent: Run = async (ctx) => {
      await asksOne(ctx);
      return new Promise(() => undefined);
    };
    expect(await said(silent, await answered(asksOne))).toBe(
      "fails: the handler waits for something that never comes, until its runTimeout",
    );
  });
});

describe("a task diverges", () => {
  test("with the error of its code, if there is one", async () => {
    const broken: Run = async () => {
      throw new TypeError("broken");
    };
    expect(await said(broken, await waiting(asksOne))).toBe(
      "diverges: recorded ask:one (not called again), found the end of the handler, with the error TypeError: broken",
    );
    expect(await said(async () => "early", await waiting(asksOne))).toBe(
      "diverges: recorded ask:one (not called again), found the end of the handler",
    );
  });

  test("with a question that has changed, open or answered; the answered one is known by its digest alone", async () => {
    const reworded: Run = async (ctx) => (await ask(ctx, "one", "Really?")).how;
    const open = await replayRecorded(tool(reworded), await waiting(asksOne));
    expect(open).toMatchObject({ verdict: "diverges", reason: 'the question "one" has changed' });
    expect(open.changed).toMatchObject({ key: "one", recorded: { message: "one?" }, found: { message: "Really?" } });
    const { verdict, changed } = await replayRecorded(tool(reworded), await answered(asksOne));
    expect([verdict, changed]).toMatchObject(["diverges", { key: "one", recorded: undefined, found: { message: "Really?" } }]);
  });

  test("if the code waits for something else and never calls what was recorded", async () => {
    expect(await said(() => new Promise(() => undefined), await waiting(asksOne))).toBe(
      "diverges: recorded ask:one (not called again), found nothing new",
    );
  });

  test("if the code waits for something of its own while what it recorded later is called again", async () => {
    let waits = false;
    const items: Run = async (ctx) => {
      const item = async (key: string) =>
        await ctx.branch(key, async () => {
          await sleep(1);
          await new Promise<void>((proceed) => void (waits && key === "a" ? undefined : setTimeout(proceed, key === "a" ? 1 : 20)));
          await ctx.step("save", () => key);
        });
      await Promise.all([item("a"), item("b")]);
      return await asksOne(ctx);
    };
    const exported = await (await startTool(tool(items), {}, { strict: false })).exported();
    expect(await said(items, exported)).toBe("continues: waits for ask:one");
    waits = true;
    expect(await said(items, exported)).toMatch(/^diverges: recorded step:a\/save/u);
  });
});

describe("no verdict is possible", () => {
  const cannot = (next: string, keys: string, why: string) =>
    `unknown: ${next}: the replay cannot compare ${keys} with the question that was asked, because ${why}; pass the code that the task runs on as baseline`;
  const reworded: Run = async (ctx) => (await ask(ctx, "one", "Really?")).how;

  /** Without what an export lacks that was sealed. */
  const unsealed = ({ journal, ...task }: RecordedTask): RecordedTask => ({
    ...task,
    journal: Object.fromEntries(Object.entries(journal).map(([id, entry]) => [id, { ...entry, digest: "" }])),
  });

  test("about questions that may contain redacted values, or were sealed", async () => {
    const twice: Run = async (ctx) => {
      await Promise.all([ask(ctx, "one", "1?"), ask(ctx, "two", "2?")]);
      return "";
    };
    expect(await said(twice, await waiting(asksTwo, REDACTED))).toBe(
      cannot("waits for ask:one, waits for ask:two", "ask:one, ask:two", "redacted values may be part of it"),
    );
    const sealed = unsealed(await answered(asksOne, { how: "air" }, { isSealed: true }));
    expect(await said(asksOne, sealed)).toBe(cannot("ends", "ask:one", "the question is sealed in the deployment"));
    expect(await said(reworded, sealed)).toBe(cannot("ends", "ask:one", "the question is sealed in the deployment"));
  });

  test("about a sealed question, unless something else diverges", async () => {
    const charges =
      (what: string): Run =>
      async (ctx) => {
        await asksOne(ctx);
        await ctx.step(what, () => 1);
        return await ask(ctx, "two").then(({ how }) => how);
      };
    const running = await startTool(tool(charges("charge")));
    await running.answer({ one: { how: "air" } });
    const sealed = unsealed({ ...(await running.exported()), isSealed: true });
    expect(await said(charges("refund"), sealed)).toMatch(/^diverges: recorded step:charge/);
  });

  test("if redacted values may be what made it diverge or fail", async () => {
    const cause = "the cause may be the change or the redacted values; pass the code that the task runs on as baseline. The replay";
    expect(await said(async () => "early", await waiting(asksOne, REDACTED))).toBe(
      `unknown: ${cause} diverges: recorded ask:one (not called again), found the end of the handler`,
    );
    const broken: Run = async (ctx) => {
      await asksOne(ctx);
      throw new RangeError("too large");
    };
    expect(await said(broken, await answered(asksOne, { how: "air" }, REDACTED))).toBe(
      `unknown: ${cause} fails: the code ends the task with the error RangeError: too large`,
    );
  });

  test("unless the code that the task runs on is there to compare with", async () => {
    const baseline = tool(asksOne);
    expect(await said(asksOne, await waiting(asksOne, REDACTED), { baseline })).toBe("continues: waits for ask:one");
    expect(await said(reworded, await waiting(asksOne, REDACTED), { baseline })).toBe('diverges: the question "one" has changed');
    const { changed } = await replayRecorded(tool(reworded), await waiting(asksOne, REDACTED), { baseline });
    expect(changed).toMatchObject({ recorded: { message: "one?" }, found: { message: "Really?" } });
    // What that code asks now counts as what was asked.
    expect(await said(reworded, await waiting(asksOne), { baseline: tool(reworded) })).toBe("continues: waits for ask:one");
    const broken: Run = async (ctx) => {
      await asksOne(ctx);
      throw new RangeError("too large");
    };
    expect(await said(broken, await answered(asksOne, { how: "air" }, REDACTED), { baseline })).toBe(
      "fails: the code ends the task with the error RangeError: too large",
    );
  });

  test("if that code does not replay the task either", async () => {
    expect(await said(asksOne, await waiting(asksOne, REDACTED), { baseline: tool(async () => "early") })).toBe(
      "unknown: the baseline does not replay the task itself (recorded ask:one (not called again), found the end of the handler)",
    );
  });

  test("for long: what the handler waits for outside of ctx is named", async () => {
    const outside: Run = async (ctx) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return await asksOne(ctx);
    };
    expect(await said(outside, await waiting(asksOne), { patienceMs: 10 })).toBe(
      "unknown: the handler waits for something outside ctx (Timeout) for more than 10 ms",
    );
    const server = createServer();
    const listens: Run = async (ctx) => {
      await Promise.all([new Promise((resolve) => setTimeout(resolve, 300)), once(server.listen(0), "close")]);
      return await asksOne(ctx);
    };
    expect(await said(listens, await waiting(asksOne), { patienceMs: 10 })).toBe(
      "unknown: the handler waits for something outside ctx (Timeout, TCPSERVERWRAP) for more than 10 ms",
    );
    server.close();
  });
});

describe("what exports lack", () => {
  const page = {
    secret: { key: { secret: "hush" } },
    oauth: { key: { grant: "token" } },
    file: { key: { file: { name: "a.txt", text: "a" } } },
  };
  const reads: Readonly<Record<keyof typeof page, (ctx: Context) => Promise<unknown>>> = {
    secret: async (ctx) => await (await ctx.secret("key", { message: "?" })).reveal(),
    oauth: async (ctx) => await (await ctx.oauth("key", { message: "?", provider: "google", scopes: [] })).accessToken(),
    file: async (ctx) => await ctx.openFile(await ctx.file("key", { message: "?" })),
  };

  test.each<[keyof typeof page, string, string]>([
    ["secret", "DEPOSIT_UNREADABLE", "what was left on pages is not exported"],
    ["oauth", "DEPOSIT_UNREADABLE", "what was granted on pages is not exported"],
    ["file", "FILE_GONE", "files are not exported"],
  ])("cannot be read outside of steps: %s", async (kind, code, message) => {
    const outside =
      (seen: unknown[]): Run =>
      async (ctx) => {
        seen.push(
          await reads[kind](ctx).then(
            () => "read",
            (error: Error & { code: string }) => [error.code, error.message],
          ),
        );
        return await asksOne(ctx);
      };
    const running = await startTool(tool(outside([])));
    await running.answer(page[kind]);
    const seen: unknown[] = [];
    expect(await said(outside(seen), await running.exported())).toBe("continues: waits for ask:one");
    expect(seen).toEqual([[code, message]]);
  });

  test("is the address of an event: it was passed on in a step", async () => {
    const seen: string[] = [];
    const waits: Run = async (ctx) => {
      const paid = ctx.event("paid", { timeout: "1 day" });
      seen.push(paid.token, paid.url);
      await paid.received();
      return "";
    };
    expect(await said(waits, await waiting(waits))).toBe("continues: waits for ask:event:paid");
    expect(seen.slice(-2)).toEqual(["token", "https://example.com/events/token"]);
  });
});

describe("a redacted answer without the content of a form", () => {
  test("stays what it is: a refusal", async () => {
    const asks: Run = async (ctx) => {
      await ctx.step(
        await ask(ctx, "one").then(
          ({ how }) => how,
          ({ name }: Error) => name,
        ),
        () => 1,
      );
      return "";
    };
    const recorded = await answered(asks, { how: "air" }, REDACTED);
    const { "ask:one": entry, ...journal } = recorded.journal as Record<string, Entry>;
    const declined = { ...entry, outcome: { type: "answer", answer: { action: "decline" } } } as Entry;
    const replayed = await replayRecorded(
      tool(asks),
      { ...recorded, journal: { ...journal, "ask:one": declined } },
      { baseline: tool(asks) },
    );
    expect(replayed.next).toBe("does step:Declined");
  });

  test("stays what it is: a page that was left", async () => {
    const enters: Run = async (ctx) => {
      await ctx.secret("one", { message: "?" });
      await ctx.step("connect", () => 1);
      return "";
    };
    const recorded = await answered(enters, { deposit: "one" } as never, REDACTED);
    expect(await said(enters, recorded, { baseline: tool(enters) })).toBe("continues: does step:connect");
  });
});

describe("a placeholder that the form does not have among its choices", () => {
  const shows: Run = async (ctx) => {
    const { how, note } = await ask(ctx, "one");
    await ctx.step(`by-${how}-${note}`, () => 1);
    return "";
  };

  test("is replaced by the smallest valid content, and what is valid stays", async () => {
    const recorded = await answered(shows, { how: "xxx", note: "Xxxx" } as { how: string }, REDACTED);
    expect((await replayRecorded(tool(shows), recorded, { baseline: tool(shows) })).next).toBe("does step:by-air-Xxxx");
  });

  test("stays as it is in an export with its content, where the tool sees it", async () => {
    const recorded = await answered(shows, { how: "xxx", note: "Xxxx" } as { how: string });
    const replayed: Replayed = await replayRecorded(tool(shows), recorded);
    expect(replayed.next).not.toBe("does step:by-air-Xxxx");
  });

  test("stays if it is valid", async () => {
    const recorded = await answered(shows, { how: "sea", note: "Xxxx" } as { how: string }, REDACTED);
    expect((await replayRecorded(tool(shows), recorded, { baseline: tool(shows) })).next).toBe("does step:by-sea-Xxxx");
  });
});
