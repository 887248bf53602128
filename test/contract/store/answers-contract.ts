/** Answers: one counts, and every sender receives a receipt. */
import type { Acceptance, Answer } from "@parley/core";
import { describe, expect, test } from "vitest";
import { accept, anAsk, GRACE_MS, HOUR_MS, LEASE_MS, WEEK_MS } from "../builders.ts";
import type { UnderTest } from "./under-test.ts";

export function answers({ store, newTaskId, life, overdueAt, begin, record, journalOf, countWakes }: UnderTest): void {
  describe("answer", () => {
    test("an accepted answer is in the journal under the ask's digest, without a place yet, and the next run is due", async () => {
      const taskId = await life.parked([anAsk("size", { calledAt: "12o" })]);
      const nowMs = Date.now();

      const request = { taskId, key: "size", digest: "digest-of-size", answer: accept("4"), graceMs: GRACE_MS };
      expect(await store.answer({ ...request, nowMs })).toEqual({ receipt: "accepted", nextRun: 2 });

      expect(await store.load(taskId)).toMatchObject({ status: "working", asks: [], revision: 3 });
      expect(await overdueAt(nowMs + HOUR_MS / 2, taskId)).toBe(2);
      expect(await begin(taskId, 2)).toMatchObject({
        journal: new Map([
          [
            "ask:size",
            {
              digest: "digest-of-size",
              outcome: { type: "answer", answer: accept("4") },
              calledAt: "12o",
              arrived: { atMs: nowMs, revision: 3 },
            },
          ],
        ]),
      });
    });

    test("who gave an answer is recorded with it and is no part of it: the same answer by another name is a duplicate", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const given = { name: "Ada Lovelace", atMs: Date.now() };
      const request = {
        taskId,
        key: "size",
        digest: "digest-of-size",
        answer: accept("4"),
        by: "ada",
        nowMs: given.atMs,
        graceMs: GRACE_MS,
      };
      expect(await store.answer({ ...request, given })).toMatchObject({ receipt: "accepted" });
      expect(await store.answer({ ...request, given: { name: "Ada King", atMs: 1 } })).toMatchObject({ receipt: "duplicate" });
      expect(await store.answer(request)).toMatchObject({ receipt: "duplicate" });
      const { outcome } = (await journalOf(taskId, 2)).get("ask:size") ?? {};
      expect(outcome).toEqual({ type: "answer", answer: accept("4"), by: "ada", given });
    });

    test("answers that arrive in the same millisecond are ordered by the revision that each led to", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const nowMs = Date.now();
      const send = (key: string) =>
        store.answer({ taskId, key, digest: `digest-of-${key}`, answer: accept("4"), nowMs, graceMs: GRACE_MS });
      await send("name");
      await send("size");

      const journal = await journalOf(taskId, 2);
      expect(journal.get("ask:name")?.arrived).toEqual({ atMs: nowMs, revision: 3 });
      expect(journal.get("ask:size")?.arrived).toEqual({ atMs: nowMs, revision: 4 });
    });

    test("a timeout is dated at the deadline, however late a worker notices it", async () => {
      const deadlineMs = Date.now() - WEEK_MS;
      const taskId = await life.parked([anAsk("size", { askedAtMs: deadlineMs - HOUR_MS, deadlineMs })]);
      const token = await life.begin({ taskId, run: 2 });
      const request = { taskId, key: "size", digest: "digest-of-size", nowMs: Date.now(), graceMs: GRACE_MS, token };
      await store.answer({ ...request, answer: { action: "timeout" } });

      expect((await journalOf(taskId, 2)).get("ask:size")).toEqual({
        digest: "digest-of-size",
        outcome: { type: "answer", answer: { action: "timeout" } },
        calledAt: "0",
        arrived: { atMs: deadlineMs, revision: 3 },
      });
    });

    test("a repeated answer is a duplicate, whether or not a run has settled it", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      await life.answer(taskId, "size", "4");
      const token = await life.begin({ taskId, run: 2 });
      const entry = { digest: "digest-of-size", outcome: { type: "answer", answer: accept("4") }, calledAt: "0", place: 1 } as const;
      await record(taskId, token, { key: "ask:size", entry, known: true });

      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate" });
      expect(await life.answer(taskId, "size", "5")).toEqual({ receipt: "late" });
      const toAnother = { taskId, key: "size", digest: "of-another-question", answer: accept("4"), graceMs: GRACE_MS };
      expect(await store.answer({ ...toAnother, nowMs: Date.now() })).toEqual({ receipt: "late" });
      expect((await journalOf(taskId, 2)).get("ask:size")).toEqual(entry);
    });

    test("I3: the task stays input_required until the last ask is answered, and each answer makes a run due", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);

      expect(await life.answer(taskId, "name", "Ada")).toEqual({ receipt: "accepted", nextRun: 2 });
      expect(await store.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "size" }] });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "accepted", nextRun: 2 });
      expect(await store.load(taskId)).toMatchObject({ status: "working", asks: [] });
    });

    test("I2: of 20 racing answers exactly one is accepted, and every other one receives its receipt", async () => {
      const taskId = await life.parked([anAsk("size")]);

      const recorded = await Promise.all(Array.from({ length: 20 }, (_, i) => life.answer(taskId, "size", String(i % 4))));

      const receipts = recorded.map(({ receipt }) => receipt);
      expect(receipts.filter((receipt) => receipt === "accepted")).toHaveLength(1);
      expect(receipts.filter((receipt) => receipt === "duplicate")).toHaveLength(4);
      expect(receipts.filter((receipt) => receipt === "late")).toHaveLength(15);
    });

    test("a duplicate returns the run again until it begins, because the first sender may have died", async () => {
      const taskId = await life.parked([anAsk("size")]);
      await life.answer(taskId, "size", "4");

      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate", nextRun: 2 });
      const token = await life.begin({ taskId, run: 2 });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate" });
      await life.park(taskId, token, [anAsk("name")]);
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "duplicate" });
      expect(await life.answer(taskId, "size", "5")).toEqual({ receipt: "late" });
    });

    test("a duplicate returns no run while one is open, even after its lease: the sweep returns the run to take over", async () => {
      const taskId = await life.parked([anAsk("size")]);
      await life.answer(taskId, "size", "4");
      await life.begin({ taskId, run: 2 });
      const request = { taskId, key: "size", digest: "digest-of-size", answer: accept("4"), graceMs: GRACE_MS };

      expect(await store.answer({ ...request, nowMs: Date.now() + 2 * LEASE_MS })).toEqual({ receipt: "duplicate" });
    });

    test("two answers are the same in any order of their fields", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const send = (answer: Answer) =>
        store.answer({ taskId, key: "size", digest: "digest-of-size", answer, nowMs: Date.now(), graceMs: GRACE_MS });
      await send({ action: "accept", content: { a: 1, b: { c: [1], d: "2" } } });

      expect(await send({ content: { b: { d: "2", c: [1] }, a: 1 }, action: "accept" })).toMatchObject({ receipt: "duplicate" });
      expect(await send({ action: "accept", content: { a: 1, b: { c: [1], d: "3" } } })).toEqual({ receipt: "late" });
    });

    test("a key that no ask ever had is unknown, and so is every key of a missing task", async () => {
      const taskId = await life.parked([anAsk("size")]);

      expect(await life.answer(taskId, "colour", "red")).toEqual({ receipt: "unknown" });
      expect(await life.answer(newTaskId(), "size", "4")).toEqual({ receipt: "unknown" });
      expect(await store.load(taskId)).toMatchObject({ status: "input_required", revision: 2 });
    });

    test("I4: an answer to another question of the same name settles nothing, and neither does its timeout", async () => {
      const taskId = await life.parked([anAsk("size", { digest: "of-another-question" })]);

      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
      const token = await life.begin({ taskId, run: 2 });
      const timeout = {
        taskId,
        key: "size",
        digest: "digest-of-size",
        answer: { action: "timeout" },
        nowMs: Date.now() + HOUR_MS,
        graceMs: GRACE_MS,
      } as const;
      expect(await store.answer({ ...timeout, token })).toEqual({ receipt: "late" });
      expect(await store.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "size" }] });
    });

    test("an answer without a digest settles nothing and is only compared with the recorded answer", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const send = (key: string, value: string) =>
        store.answer({ taskId, key, answer: accept(value), nowMs: Date.now(), graceMs: GRACE_MS });
      await life.answer(taskId, "size", "4");

      expect(await send("size", "4")).toEqual({ receipt: "duplicate", nextRun: 2 });
      expect(await send("size", "5")).toEqual({ receipt: "late" });
      expect(await send("name", "Ada")).toEqual({ receipt: "unknown" });
      expect((await life.load(taskId)).asks.map(({ key }) => key)).toEqual(["name"]);
    });

    test("the holder of the run closes an ask at its deadline without another run, and loses to a faster person", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const token = await life.begin({ taskId, run: 2 });
      const close = (key: string) =>
        store.answer({
          taskId,
          key,
          digest: `digest-of-${key}`,
          answer: { action: "timeout" },
          nowMs: Date.now() + HOUR_MS,
          graceMs: GRACE_MS,
          token,
        });

      expect(await close("size")).toEqual({ receipt: "accepted" });
      expect(await close("size")).toEqual({ receipt: "duplicate" });
      expect(await life.answer(taskId, "size", "4")).toEqual({ receipt: "late" });
      expect(await life.park(taskId, token, [anAsk("name")])).toEqual({ type: "parked" });

      const next = await life.begin({ taskId, run: 3 });
      expect(await life.answer(taskId, "name", "Ada")).toEqual({ receipt: "accepted" });
      const late = { taskId, key: "name", digest: "digest-of-name", nowMs: Date.now() + HOUR_MS, graceMs: GRACE_MS, token: next };
      expect(await store.answer({ ...late, answer: { action: "timeout" } })).toEqual({ receipt: "late" });
    });

    test("an ask whose deadline was put off since its worker looked is not closed before its new one", async () => {
      const nowMs = Date.now();
      const ask = anAsk("size", { askedAtMs: nowMs - HOUR_MS, deadlineMs: nowMs });
      const taskId = await life.parked([ask]);
      const token = await life.begin({ taskId, run: 2 });
      const thread = { comments: 0 };
      const moved = { askedAtMs: ask.askedAtMs, deadlineMs: nowMs + 1, request: ask.request };
      expect(await store.writeThread({ taskId, key: "size", digest: ask.digest, thread, history: [], moved, nowMs })).toBe("accepted");
      const close = (atMs: number) =>
        store.answer({ taskId, key: "size", digest: ask.digest, answer: { action: "timeout" }, nowMs: atMs, graceMs: GRACE_MS, token });
      expect(await close(nowMs)).toEqual({ receipt: "late" });
      expect(await life.load(taskId)).toMatchObject({ status: "input_required", asks: [{ key: "size", deadlineMs: nowMs + 1 }] });
      // As the run does that found it overdue: it parks with what it read, and the next one looks again.
      await life.park(taskId, token, [ask]);
      const next = await life.begin({ taskId, run: 3 });
      expect(
        await store.answer({
          taskId,
          key: "size",
          digest: ask.digest,
          answer: { action: "timeout" },
          nowMs: nowMs + 1,
          graceMs: GRACE_MS,
          token: next,
        }),
      ).toEqual({ receipt: "accepted" });
    });

    test("I5: a worker that was replaced cannot close an ask", async () => {
      const taskId = await life.parked([anAsk("size")]);
      const dead = await life.begin({ taskId, run: 2 });
      await life.takeOver({ taskId, run: 2 });
      const request = { taskId, key: "size", digest: "digest-of-size", nowMs: Date.now() + HOUR_MS, graceMs: GRACE_MS };

      expect(await store.answer({ ...request, answer: { action: "timeout" }, token: dead })).toEqual({ receipt: "late" });
      expect(await store.load(taskId)).toMatchObject({ asks: [{ key: "size" }] });
    });
  });

  describe("agree", () => {
    const agree = (taskId: string, key: string, digest = `digest-of-${key}`) => store.agree({ taskId, key, digest, nowMs: Date.now() });

    test("an ask whose page the person agreed to visit stays open, shows it and wakes watchers; a second time changes nothing", async () => {
      const taskId = await life.parked([anAsk("size"), anAsk("name")]);
      const { revision } = await life.load(taskId);
      const { onChange, stop } = await countWakes(taskId);

      expect(await agree(taskId, "size")).toBe("accepted");
      expect(await agree(taskId, "size")).toBe("duplicate");

      await expect.poll(() => onChange).toHaveBeenCalled();
      const task = await life.load(taskId);
      expect(task).toMatchObject({ status: "input_required", revision: revision + 1 });
      expect(task.asks.map(({ key, agreed }) => [key, agreed])).toEqual([
        ["size", true],
        ["name", undefined],
      ]);
      stop();
    });

    test("agreeing has no effect unless the ask is open: answered, never asked, another question of that name (I4), no task", async () => {
      const taskId = await life.parked([anAsk("size")]);
      expect(await agree(taskId, "size", "digest-of-another")).toBe("late");
      expect(await agree(taskId, "name")).toBe("late");
      expect(await agree(newTaskId(), "size")).toBe("late");
      expect(await agree("nonsense", "size")).toBe("late");
      const nowMs = Date.now();
      await store.answer({ taskId, key: "size", digest: "digest-of-size", answer: accept("4"), nowMs, graceMs: GRACE_MS });
      expect(await agree(taskId, "size")).toBe("late");
      expect((await life.load(taskId)).asks).toEqual([]);
    });
  });

  describe("an answer on a page", () => {
    const onPage = (taskId: string, more: object = {}) =>
      store.answer({
        taskId,
        key: "key",
        digest: "digest-of-key",
        answer: { action: "accept", content: { deposit: "key" } },
        page: { deposit: "sealed ☃" },
        nowMs: Date.now(),
        graceMs: GRACE_MS,
        ...more,
      });
    const bare = (taskId: string, more: object = {}) => ({
      taskId,
      key: "key",
      answer: { action: "accept" as const },
      nowMs: Date.now(),
      graceMs: GRACE_MS,
      ...more,
    });

    test("is recorded, and its deposit stays with the task until the task ends", async () => {
      const taskId = await life.parked([anAsk("key")]);
      expect(await store.deposit(taskId, "key")).toBeUndefined();
      expect((await onPage(taskId)).receipt).toBe("accepted");
      expect(await store.deposit(taskId, "key")).toBe("sealed ☃");
      expect(await store.deposit(taskId, "other")).toBeUndefined();
      expect(await store.deposit("nonsense", "key")).toBeUndefined();
      expect((await journalOf(taskId, 2)).get("ask:key")?.outcome).toEqual({
        type: "answer",
        answer: { action: "accept", content: { deposit: "key" } },
      });
      await store.cancel({ taskId, nowMs: Date.now(), message: "" });
      expect(await store.deposit(taskId, "key")).toBeUndefined();
    });

    test("is repeated by a bare acceptance of the same person; anything else is late and leaves nothing behind", async () => {
      const taskId = await life.parked([anAsk("key")]);
      await onPage(taskId, { by: "bob" });
      expect((await store.answer(bare(taskId, { by: "bob" }))).receipt).toBe("duplicate");
      expect((await store.answer(bare(taskId, { by: "eve" }))).receipt).toBe("late");
      expect((await store.answer(bare(taskId))).receipt).toBe("late");
      expect((await store.answer(bare(taskId, { by: "bob", answer: { action: "decline" } }))).receipt).toBe("late");
      expect((await onPage(taskId, { page: { deposit: "another" } })).receipt).not.toBe("accepted");
      expect(await store.deposit(taskId, "key")).toBe("sealed ☃");
    });

    test("is accepted once in a race, and only the deposit of that one is kept", async () => {
      const taskId = await life.parked([anAsk("key")]);
      const sent = await Promise.all(
        Array.from({ length: 10 }, async (_, n) => ({ n, ...(await onPage(taskId, { page: { deposit: `${n}` } })) })),
      );
      const accepted = sent.filter(({ receipt }) => receipt === "accepted");
      expect(accepted).toHaveLength(1);
      expect(await store.deposit(taskId, "key")).toBe(`${accepted[0]?.n}`);
    });

    test("has a deposit that is replaced only if it is the one expected, by one of several, and not after the task has ended", async () => {
      const taskId = await life.parked([anAsk("key")]);
      const replace = (before: string, deposit: string, key = "key") => store.redeposit({ taskId, key, before, deposit });
      expect(await replace("sealed ☃", "new")).toBe(false);
      await onPage(taskId);
      expect(await replace("something else", "new")).toBe(false);
      expect(await replace("sealed ☃", "new", "other")).toBe(false);
      expect(await store.redeposit({ taskId: "nonsense", key: "key", before: "", deposit: "new" })).toBe(false);
      const replaced = await Promise.all(["one ☃", "two ☃", "three ☃"].map((deposit) => replace("sealed ☃", deposit)));
      expect(replaced.filter(Boolean)).toHaveLength(1);
      expect(await store.deposit(taskId, "key")).toBe(["one ☃", "two ☃", "three ☃"][replaced.indexOf(true)]);
      await store.cancel({ taskId, nowMs: Date.now(), message: "" });
      expect(await replace("two ☃", "four")).toBe(false);
      expect(await store.deposit(taskId, "key")).toBeUndefined();
    });

    test("is forgotten when the task restarts", async () => {
      const taskId = await life.parked([anAsk("key")]);
      await onPage(taskId);
      const token = await life.begin({ taskId, run: 2 });
      await life.restart(taskId, token);
      expect(await store.deposit(taskId, "key")).toBeUndefined();
    });
  });

  describe("an ask that several must accept", () => {
    const audience = { to: { groups: ["finance"] }, quorum: 3 } as const;
    const content = (value: string) => ({ value });
    const acceptance = (by: string, value = "yes"): Acceptance => ({ by, content: content(value), atMs: 5 });
    const parked = async () => life.parked([{ ...anAsk("pay"), audience }]);

    interface Given {
      readonly by: string;
      readonly acceptances?: readonly Acceptance[];
      readonly seen?: number | undefined;
      readonly missing?: number;
      readonly answer?: Answer;
      readonly token?: string;
    }
    const give = (
      taskId: string,
      { by, acceptances = [], seen, missing = 0, answer = { action: "accept", content: content("yes") }, token }: Given,
    ) =>
      store.answer({
        taskId,
        key: "pay",
        digest: "digest-of-pay",
        answer,
        by,
        quorum: { acceptances, missing, ...(seen !== undefined && { seen }) },
        nowMs: Date.now() + (answer.action === "timeout" ? HOUR_MS : 0),
        graceMs: GRACE_MS,
        ...(token !== undefined && { token }),
      });
    const again = (taskId: string, answer: Answer, by: string) =>
      store.answer({ taskId, key: "pay", answer, by, nowMs: Date.now(), graceMs: GRACE_MS });

    test("stays open, records who has accepted and wakes watchers, and makes a run due only with the last acceptance", async () => {
      const taskId = await parked();
      const first = [acceptance("eve ☃", "with thanks ☃")];
      const { onChange, stop } = await countWakes(taskId);
      expect(await give(taskId, { by: "eve ☃", acceptances: first, missing: 2 })).toEqual({ receipt: "accepted" });
      await expect.poll(() => onChange).toHaveBeenCalledTimes(1);
      stop();
      const task = await life.load(taskId);
      expect(task).toMatchObject({ status: "input_required", asks: [{ audience, accepted: { acceptances: first } }] });
      expect(task.asks[0]?.accepted?.revision).toBe(task.revision);
      expect(await overdueAt(Date.now() + HOUR_MS / 2, taskId)).toBeUndefined();

      const second = [...first, acceptance("bob")];
      expect(await give(taskId, { by: "bob", acceptances: second, missing: 1, seen: task.revision })).toEqual({ receipt: "accepted" });
      const third = [...second, acceptance("kim")];
      const settled = await give(taskId, { by: "kim", acceptances: third, seen: (await life.load(taskId)).revision });
      expect(settled).toEqual({ receipt: "accepted", nextRun: 2 });
      const begun = await begin(taskId, 2);
      expect(begun.type === "begun" && begun.task.asks).toEqual([]);
      expect(begun.type === "begun" && begun.journal.get("ask:pay")?.outcome).toEqual({
        type: "answer",
        answer: accept("yes"),
        by: "kim",
        accepted: third,
      });
      for (const { by = "", content: said } of third)
        expect(await again(taskId, { action: "accept", content: said }, by)).toMatchObject({ receipt: "duplicate" });
      expect(await again(taskId, accept("yes"), "joe")).toEqual({ receipt: "late" });
      expect(await again(taskId, accept("no"), "kim")).toEqual({ receipt: "late" });
    });

    test("takes one of many simultaneous acceptances: the others are overtaken, leave nothing behind, and count when sent again", async () => {
      const taskId = await parked();
      const people = ["eve", "bob", "kim", "joe"];
      const at = await Promise.all(people.map((by) => give(taskId, { by, acceptances: [acceptance(by)], missing: 2 })));
      expect(at.map(({ receipt }) => receipt).toSorted()).toEqual(["accepted", "overtaken", "overtaken", "overtaken"]);
      const { asks, revision } = await life.load(taskId);
      const counted = asks[0]?.accepted?.acceptances ?? [];
      expect(counted.map(({ by }) => by)).toEqual([people[at.findIndex(({ receipt }) => receipt === "accepted")]]);
      // An answer that settled it by an old count would leave out those who were counted since.
      expect(await give(taskId, { by: "joe", acceptances: [acceptance("joe")] })).toEqual({ receipt: "overtaken" });
      expect(await give(taskId, { by: "joe", answer: { action: "decline" } })).toEqual({ receipt: "overtaken" });
      expect(await life.load(taskId)).toMatchObject({ status: "input_required", revision });
    });

    test("is settled by a decline or the deadline, with those who had accepted by then", async () => {
      for (const action of ["decline", "timeout"] as const) {
        const taskId = await parked();
        const acceptances = [acceptance("eve")];
        await give(taskId, { by: "eve", acceptances, missing: 2 });
        const { revision } = await life.load(taskId);
        const hold = action === "timeout" ? { token: await life.begin({ taskId, run: 2 }) } : {};
        expect(await give(taskId, { by: "bob", answer: { action }, acceptances, seen: revision, ...hold })).toMatchObject({
          receipt: "accepted",
        });
        expect(await life.load(taskId)).toMatchObject({ status: "working", asks: [] });
        expect((await journalOf(taskId, 2)).get("ask:pay")?.outcome).toEqual({
          type: "answer",
          answer: { action },
          by: "bob",
          accepted: acceptances,
        });
        expect(await again(taskId, { action: "accept", content: content("yes") }, "eve")).toMatchObject({ receipt: "duplicate" });
        expect(await again(taskId, { action }, "bob")).toMatchObject({ receipt: "duplicate" });
        expect(await again(taskId, { action }, "eve")).toEqual({ receipt: "late" });
      }
    });

    test("is forgotten with those who had accepted when it is withdrawn or its task ends or restarts", async () => {
      const half = async () => {
        const taskId = await parked();
        await give(taskId, { by: "eve", acceptances: [acceptance("eve")], missing: 2 });
        return taskId;
      };
      const cancelled = await half();
      await store.cancel({ taskId: cancelled, nowMs: Date.now(), message: "" });
      expect((await life.load(cancelled)).asks).toEqual([]);
      expect(await again(cancelled, accept("yes"), "eve")).toEqual({ receipt: "late" });

      const restarted = await half();
      const token = await life.begin({ taskId: restarted, run: 2 });
      const park = { taskId: restarted, nowMs: Date.now(), entries: [], dueAtMs: Date.now(), attempt: 0, graceMs: GRACE_MS };
      await store.park({ ...park, token, asks: [], restart: { arguments: {} } });
      const next = await life.begin({ taskId: restarted, run: 3 });
      await store.park({ ...park, token: next, asks: [{ ...anAsk("pay"), audience }] });
      expect((await life.load(restarted)).asks[0]).not.toHaveProperty("accepted");
    });
  });

  describe("who is asked, and who answers", () => {
    test("an ask keeps its audience, and a task its tenant", async () => {
      const audience = { to: { groups: ["finance"] }, not: "caller" } as const;
      const taskId = await life.parked([{ ...anAsk("pay"), audience }, anAsk("size")], { tenant: "acme" });
      const task = await life.load(taskId);
      expect(task.call.tenant).toBe("acme");
      expect(task.asks.map((ask) => ask.audience)).toEqual([audience, undefined]);
      expect(await begin(taskId, 2)).toMatchObject({ task: { call: { tenant: "acme" }, asks: [{ audience }, {}] } });
      expect((await life.load(await life.create())).call).not.toHaveProperty("tenant");
    });

    test("the same answer is late from another person and a duplicate from the same one; the run reads who gave it", async () => {
      const taskId = await life.parked([anAsk("pay")]);
      const give = (by?: string, digest?: string) =>
        store.answer({
          taskId,
          key: "pay",
          answer: accept("4"),
          nowMs: Date.now(),
          graceMs: GRACE_MS,
          ...(digest !== undefined && { digest }),
          ...(by !== undefined && { by }),
        });
      expect(await give("eve", anAsk("pay").digest)).toMatchObject({ receipt: "accepted" });
      expect(await give("eve")).toMatchObject({ receipt: "duplicate" });
      expect(await give("bob")).toEqual({ receipt: "late" });
      expect(await give()).toEqual({ receipt: "late" });
      const begun = await begin(taskId, 2);
      expect(begun.type === "begun" && begun.journal.get("ask:pay")?.outcome).toEqual({ type: "answer", answer: accept("4"), by: "eve" });
    });
  });
}
