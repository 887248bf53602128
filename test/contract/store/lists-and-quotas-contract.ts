/** Lists of tasks, and quotas of callers. */
import { type Call, type Outcome, summaryOf, type TaskQuotas } from "@parley/core";
import { describe, expect, test } from "vitest";
import { until } from "../../support/until.ts";
import { accept, aCall, anAsk, aStep, GRACE_MS, HOUR_MS, newToken } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

export function listsAndQuotas({ store, newTaskId, life, partitions }: UnderTest): void {
  describe("list", () => {
    const page = (principal: string, limit: number, cursor?: string) =>
      store.list({ principal, limit, ...(cursor !== undefined && { cursor }) });

    test("a principal's own tasks, newest first, page by page, without hidden ones", async () => {
      const principal = `ada-${newToken()}`;
      const taskIds: string[] = [];
      for (let i = 0; i < 5; i += 1) taskIds.unshift(await life.create({ principal }));
      await life.create({ principal, hidden: true });
      await life.create({ principal: "somebody else" });

      const first = await page(principal, 2);
      const second = await page(principal, 2, first.nextCursor);
      const third = await page(principal, 2, second.nextCursor);

      expect([first, second, third].map(({ tasks }) => tasks.map(({ id }) => id))).toEqual([
        taskIds.slice(0, 2),
        taskIds.slice(2, 4),
        taskIds.slice(4),
      ]);
      expect(third.nextCursor).toBeUndefined();
      expect((await page(principal, 5)).nextCursor).toBeUndefined();
    });

    test("contains a hidden task once it is revealed, however often and by whom; its client can be asked nothing then, and nothing else of it changes", async () => {
      const principal = `eve-${newToken()}`;
      const size = anAsk("size");
      const capabilities = { elicitation: { form: true, url: false }, sampling: { tools: false }, roots: true };
      const taskId = await life.parked([size], {
        principal,
        hidden: true,
        capabilities,
        arguments: { large: "x".repeat(5_000) },
        tenant: "acme",
      });
      const before = await life.load(taskId);
      expect((await page(principal, 5)).tasks).toEqual([]);
      await Promise.all([taskId, taskId, newTaskId()].map((id) => store.reveal(id, Date.now())));
      await store.reveal(taskId, Date.now());
      expect((await page(principal, 5)).tasks.map(({ id, hidden }) => [id, hidden])).toEqual([[taskId, false]]);
      expect(await life.load(taskId)).toEqual({ ...before, call: { ...before?.call, hidden: false, capabilities: {} } });
      // Its arguments are still there for its runs.
      expect((await store.recorded(taskId))?.task.call).toHaveProperty("arguments", { large: "x".repeat(5_000) });
    });

    test("contains a task with a handle once, also if its call ends in words", async () => {
      const principal = `una-${newToken()}`;
      const taskId = await life.create({ principal, hidden: false, capabilities: { sampling: { tools: true } } });
      await store.reveal(taskId, Date.now());
      expect((await page(principal, 5)).tasks.map(({ id }) => id)).toEqual([taskId]);
      expect((await life.load(taskId))?.call).toMatchObject({ hidden: false, capabilities: {} });
    });

    test("contains of each task the fields that a list shows, and nothing large", async () => {
      const principal = `lin-${newToken()}`;
      const large = "x".repeat(200_000);
      const asks = [anAsk("size", { request: { type: "form", message: large, schema: {} } })];
      const end = async (outcome: Outcome) => {
        const taskId = await life.create({ principal, arguments: { large } });
        await store.finish({ taskId, token: await life.begin({ taskId, run: 1 }), nowMs: Date.now(), entries: [], outcome });
      };
      const text = (words: string) => ({ type: "text", text: words });
      await life.create({ principal, hidden: false, arguments: { large } });
      await life.parked(asks, { principal, arguments: { large } });
      await end({ type: "result", result: { content: [text(large)] } });
      await end({ type: "result", result: { content: [{ type: "image" }, text("No."), text("Never.")], isError: true } });
      await end({ type: "result", result: { isError: true } });
      await end({ type: "error", error: { code: -1, message: large, data: large } });
      await life.cancel(await life.create({ principal }));

      const { tasks } = await page(principal, 10);

      expect(tasks.map(({ status, problem }) => [status, problem?.slice(0, 3)])).toEqual([
        ["cancelled", undefined],
        ["failed", "xxx"],
        ["completed", ""],
        ["completed", "No."],
        ["completed", undefined],
        ["input_required", undefined],
        ["working", undefined],
      ]);
      const loaded = await Promise.all(tasks.map(({ id }) => life.load(id)));
      expect(tasks).toEqual(loaded.map(summaryOf));
      expect(await store.summaries([newTaskId(), ...tasks.map(({ id }) => id), "no task id"])).toEqual([undefined, ...tasks, undefined]);
      expect(JSON.stringify(tasks).length).toBeLessThan(4_000);
    });

    test("a page ends at a megabyte of JSON, and the rest is on the next pages", async () => {
      const principal = `max-${newToken()}`;
      const taskIds: string[] = [];
      for (let i = 0; i < 20; i += 1) {
        const taskId = await life.create({ principal });
        const token = await life.begin({ taskId, run: 1 });
        await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "x".repeat(100_000) });
        taskIds.unshift(taskId);
      }

      const first = await page(principal, 20);
      const second = await page(principal, 20, first.nextCursor);

      expect([first.tasks.length, second.tasks.length, second.nextCursor]).toEqual([10, 10, undefined]);
      expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(taskIds);
    });

    test("a task that alone is larger has a page to itself", async () => {
      const principal = `moe-${newToken()}`;
      for (const length of [1, 1_100_000, 1]) {
        const taskId = await life.create({ principal });
        const token = await life.begin({ taskId, run: 1 });
        await store.report({ taskId, token, nowMs: Date.now(), items: [], message: "x".repeat(length) });
      }
      const lengths: number[][] = [];
      let cursor: string | undefined;
      do {
        const { tasks, nextCursor } = await page(principal, 10, cursor);
        lengths.push(tasks.map(({ message }) => message?.length ?? 0));
        cursor = nextCursor;
      } while (cursor !== undefined);
      expect(lengths).toEqual([[1], [1_100_000], [1]]);
    });

    test("expired tasks are left out and do not make a page shorter", async () => {
      const principal = `eve-${newToken()}`;
      const kept = [await life.create({ principal }), await life.create({ principal })];
      const gone = await life.create({ principal, retentionMs: 100 });
      const newest = await life.create({ principal });
      await life.cancel(gone);

      const ids = async () => (await page(principal, 3)).tasks.map(({ id }) => id);
      await expect.poll(ids).toEqual([newest, ...kept.toReversed()]);
      expect((await page(principal, 3)).nextCursor).toBeUndefined();
    });

    test("a principal without tasks has an empty list, and a made-up cursor is refused", async () => {
      expect(await page("nobody", 10)).toEqual({ tasks: [] });
      const madeUp = [
        "made up",
        "",
        "0-0.0",
        "0-0.3",
        "00-1.0",
        "1-1.00000",
        "1.0",
        "-1-0.0",
        "9999999999999999-9007199254740993.0",
        "1-1.0 ",
      ];
      for (const cursor of madeUp) {
        await expect(page("anonymous", 10, cursor)).rejects.toMatchObject({
          code: "INVALID_CURSOR",
          message: expect.stringMatching(/^cursor /),
        });
      }
    });
  });

  describe.runIf(partitions === 1)("quotas", () => {
    const roomy = { tasks: 1_000, bytes: 1_000_000 };
    const create = async (call: Partial<Call>, quotas: TaskQuotas | undefined) => {
      const taskId = newTaskId();
      const created = await store.create({ taskId, call: aCall(call), graceMs: GRACE_MS, ...(quotas && { quotas }) });
      return { taskId, created };
    };
    /** A caller that no other test uses. */
    const somebody = () => ({ principal: `ada-${newToken()}`, tenant: `acme-${newToken()}` });

    test("bound the unfinished tasks of a principal, at the limit and one beyond, of which nothing is written", async () => {
      const ada = somebody();
      const quotas = { principal: { ...roomy, tasks: 2 }, tenant: roomy };
      const tasks = [await create(ada, quotas), await create(ada, quotas), await create(ada, quotas)];
      expect(tasks.map(({ created }) => created)).toEqual(["created", "created", { over: "tasks", of: "principal" }]);
      expect(await store.load(tasks[2]!.taskId)).toBeUndefined();
      expect((await store.list({ principal: ada.principal, limit: 10 })).tasks).toHaveLength(2);
      expect((await create({ ...ada, principal: "somebody else" }, quotas)).created).toBe("created");
    });

    test("count a call with any request id that a client may choose, and the id is returned unchanged", async () => {
      const quotas = { principal: { ...roomy, tasks: 1 }, tenant: roomy };
      for (const id of ["\ud800", "a\udfffb", "\u0000\u2028\n", '"]', "☃", 1e300, -0.5]) {
        const ada = somebody();
        const request = { id, progressToken: id };
        const { taskId, created } = await create({ ...ada, hidden: true, request }, quotas);
        expect(created).toBe("created");
        expect((await life.load(taskId)).call.request).toStrictEqual(request);
        await life.cancel(taskId);
        expect((await create(ada, quotas)).created).toBe("created");
      }
    });

    test("make room once when a task ends, by result or cancellation, whether or not it had begun", async () => {
      const ada = somebody();
      const quotas = { principal: { ...roomy, tasks: 1 }, tenant: roomy };
      for (const end of ["finish", "cancel", "cancel before its run"]) {
        const { taskId, created } = await create(ada, quotas);
        expect(created).toBe("created");
        expect((await create(ada, quotas)).created).toEqual({ over: "tasks", of: "principal" });
        if (end === "finish") await life.finish(taskId, await life.begin({ taskId, run: 1 }));
        if (end === "cancel") await life.begin({ taskId, run: 1 });
        if (end !== "finish") await life.cancel(taskId);
        await life.cancel(taskId);
      }
      expect((await create(ada, quotas)).created).toBe("created");
      expect((await create(ada, quotas)).created).toEqual({ over: "tasks", of: "principal" });
    });

    test("bound the content of unfinished tasks, wherever it is stored", async () => {
      const ada = somebody();
      for (const length of [100, 100_000]) {
        const given = { ...ada, arguments: { text: "x".repeat(length) } };
        const quotas = { principal: { ...roomy, bytes: Math.floor(2.5 * (length + 13)) }, tenant: roomy };
        const first = await create(given, quotas);
        const second = await create(given, quotas);
        expect([first.created, second.created]).toEqual(["created", "created"]);
        expect((await create(given, quotas)).created).toEqual({ over: "bytes", of: "principal" });
        await life.cancel(first.taskId);
        const third = await create(given, quotas);
        expect(third.created).toBe("created");
        await life.cancel(second.taskId);
        await life.cancel(third.taskId);
      }
    });

    test("count early replies as content", async () => {
      const replies = { size: accept("x".repeat(1_000)) };
      const quotas = { principal: { ...roomy, bytes: 1_000 }, tenant: roomy };
      expect((await create({ ...somebody(), replies }, quotas)).created).toEqual({ over: "bytes", of: "principal" });
    });

    test("count the content of a call until its task ends, also after a restart with other arguments", async () => {
      const ada = somebody();
      const given = { ...ada, arguments: { text: "x".repeat(100_000) } };
      const quotas = { principal: { ...roomy, bytes: 250_000 }, tenant: roomy };
      const other = await create(given, quotas);
      const { taskId } = await create(given, quotas);
      const token = await life.begin({ taskId, run: 1 });
      const nowMs = Date.now();
      const anew = { entries: [], asks: [], dueAtMs: nowMs, attempt: 0, graceMs: GRACE_MS, restart: { arguments: {} } };
      await store.park({ taskId, token, nowMs, ...anew });
      await life.cancel(taskId);
      expect((await create(given, quotas)).created).toBe("created");
      expect((await create(given, quotas)).created).toEqual({ over: "bytes", of: "principal" });
      expect((await store.load(other.taskId))?.status).toBe("working");
    });

    test("count what people answered and what runs recorded, until a restart drops it", async () => {
      const ada = somebody();
      const quotas = { principal: { ...roomy, bytes: 250_000 }, tenant: roomy };
      const { taskId } = await create(ada, quotas);
      const first = await life.begin({ taskId, run: 1 });
      const fence = { taskId, nowMs: Date.now() };
      await store.record({ ...fence, token: first, leaseMs: 10_000, entries: [aStep("recorded", "x".repeat(80_000), 1)] });
      const park = { entries: [aStep("parked", "x".repeat(80_000), 2)], asks: [anAsk("size")], dueAtMs: Date.now() + HOUR_MS };
      await store.park({ ...fence, token: first, ...park, attempt: 0, graceMs: GRACE_MS });
      expect((await create(ada, quotas)).created).toBe("created");
      await life.answer(taskId, "size", "x".repeat(100_000));
      expect((await create(ada, quotas)).created).toEqual({ over: "bytes", of: "principal" });
      await life.restart(taskId, await life.begin({ taskId, run: 2 }));
      expect((await create(ada, quotas)).created).toBe("created");
      await life.cancel(taskId);
      expect((await create(ada, { principal: { ...roomy, bytes: 400 }, tenant: roomy })).created).toBe("created");
    });

    test("count what tasks report, as much as their feeds still hold, also after a restart, and give it back", async () => {
      const ada = somebody();
      const quotas = { principal: { ...roomy, bytes: 100_000 }, tenant: roomy };
      const { taskId } = await create(ada, quotas);
      const report = async (token: string, length: number, count: number) => {
        const items = Array.from({ length: count }, () => ({ type: "log", level: "info", data: "x".repeat(length) }) as const);
        await store.report({ taskId, token, nowMs: Date.now(), items });
      };
      const token = await life.begin({ taskId, run: 1 });
      await report(token, 30_000, 3);
      expect((await create(ada, quotas)).created).toBe("created");
      await life.restart(taskId, token);
      const second = await life.begin({ taskId, run: 2 });
      await report(second, 20_000, 1);
      expect((await create(ada, quotas)).created).toEqual({ over: "bytes", of: "principal" });
      const wider = { principal: { ...roomy, bytes: 140_000 }, tenant: roomy };
      await report(second, 1, 996);
      expect((await create(ada, wider)).created).toEqual({ over: "bytes", of: "principal" });
      // The feed holds a thousand: three more take the place of the three large ones.
      await report(second, 1, 3);
      expect((await create(ada, wider)).created).toBe("created");
      await life.cancel(taskId);
      expect((await create(ada, { principal: { ...roomy, bytes: 2_000 }, tenant: roomy })).created).toBe("created");
    });

    test.each(["principal", "tenant"] as const)(
      "count feeds among what the finished tasks of a %s keep, while they are kept",
      async (of) => {
        const ada = somebody();
        const quotas = { principal: roomy, tenant: roomy, [of]: { ...roomy, stored: 30_000 } };
        const { taskId } = await create({ ...ada, retentionMs: 500 }, quotas);
        const token = await life.begin({ taskId, run: 1 });
        const items = [{ type: "log", level: "info", data: "x".repeat(29_500) } as const];
        await store.report({ taskId, token, nowMs: Date.now(), items });
        await store.finish({ taskId, token, nowMs: Date.now(), entries: [], outcome: { type: "result", result: {} } });
        expect((await create(ada, quotas)).created).toEqual({ over: "stored", of });
        expect((await create(somebody(), quotas)).created).toBe("created");
        await until(async () => (await create(ada, quotas)).created === "created");
      },
    );

    test.each(["principal", "tenant"] as const)("bound what the finished tasks of a %s keep, until their retention is over", async (of) => {
      const ada = somebody();
      const text = "x".repeat(10_000);
      const tight = { ...roomy, stored: 25_000 };
      const quotas = { principal: roomy, tenant: roomy, [of]: tight };
      const end = async (retentionMs: number) => {
        const { taskId, created } = await create({ ...ada, retentionMs }, quotas);
        if (created !== "created") return created;
        const token = await life.begin({ taskId, run: 1 });
        const outcome = { type: "result", result: { text } } as const;
        await store.finish({ taskId, token, nowMs: Date.now(), entries: [aStep("a", "y".repeat(50_000), 1)], outcome });
        return created;
      };
      // Steps and arguments are gone with the end: two outcomes of 10 kB fit, and a third one only just.
      expect([await end(500), await end(HOUR_MS), await end(500)]).toEqual(["created", "created", "created"]);
      expect(await end(500)).toEqual({ over: "stored", of });
      expect((await create({ ...somebody(), retentionMs: 1 }, quotas)).created).toBe("created");
      // The two that were kept for half a second make room one after the other.
      let made = 0;
      await until(async () => (made += (await end(HOUR_MS)) === "created" ? 1 : 0) === 2);
      expect(await end(HOUR_MS)).toEqual({ over: "stored", of });
    });

    test("count the arguments, the journal and the feed of a task that keeps its content, for its retention", async () => {
      const ada = somebody();
      const quotas = { principal: { ...roomy, stored: 60_000 }, tenant: roomy };
      const end = async (retentionMs: number) => {
        const given = { ...ada, retentionMs, keepsContent: true, arguments: { text: "x".repeat(20_000) } } as const;
        const { taskId, created } = await create(given, quotas);
        if (created !== "created") return created;
        const token = await life.begin({ taskId, run: 1 });
        const items = [{ type: "log", level: "info", data: "x".repeat(15_000) } as const];
        await store.report({ taskId, token, nowMs: Date.now(), items });
        const outcome = { type: "result", result: {} } as const;
        await store.finish({ taskId, token, nowMs: Date.now(), entries: [aStep("a", "y".repeat(15_000), 1)], outcome });
        return created;
      };
      expect(await end(2_000)).toBe("created");
      expect(await end(2_000)).toEqual({ over: "stored", of: "principal" });
      await until(async () => (await end(HOUR_MS)) === "created");
      expect(await end(HOUR_MS)).toEqual({ over: "stored", of: "principal" });
    });

    test("bound all principals of a tenant together, and no other tenant", async () => {
      const ada = somebody();
      const quotas = { principal: roomy, tenant: { ...roomy, tasks: 2 } };
      const bob = { ...ada, principal: "bob" };
      expect([(await create(ada, quotas)).created, (await create(bob, quotas)).created]).toEqual(["created", "created"]);
      expect((await create(ada, quotas)).created).toEqual({ over: "tasks", of: "tenant" });
      expect((await create({ ...ada, tenant: `other-${newToken()}` }, quotas)).created).toBe("created");
    });

    test("bound what all principals of a tenant put into unfinished tasks", async () => {
      const ada = { ...somebody(), arguments: { text: "x".repeat(100) } };
      const quotas = { principal: roomy, tenant: { ...roomy, bytes: Math.floor(2.5 * 113) } };
      const bob = { ...ada, principal: "bob" };
      expect([(await create(ada, quotas)).created, (await create(bob, quotas)).created]).toEqual(["created", "created"]);
      expect((await create(ada, quotas)).created).toEqual({ over: "bytes", of: "tenant" });
    });

    test("do not count a task that was created without them, nor its end", async () => {
      const ada = somebody();
      const quotas = { principal: { ...roomy, tasks: 1 }, tenant: roomy };
      const uncounted = await create(ada, undefined);
      expect((await create(ada, quotas)).created).toBe("created");
      await life.cancel(uncounted.taskId);
      expect((await create(ada, quotas)).created).toEqual({ over: "tasks", of: "principal" });
    });
  });
}
