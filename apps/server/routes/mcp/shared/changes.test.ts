import { ParleyError, type Task } from "@parley/core";
import { describe, expect, test } from "vitest";
import { createHandClock } from "../../../../../packages/core/hand-clock.fixture.ts";
import { until } from "../../../../../test/support/until.ts";
import { callerNamed } from "../../../deployment.fixture.ts";
import { Changes } from "./changes.ts";

/** A change whose name begins with `t` concerns the task with that name. */
function subject() {
  const reported: string[] = [];
  const failures: unknown[] = [];
  const reads = { underWay: 0, most: 0, wait: Promise.resolve(), of: [] as string[], away: false };
  const reader = { taken: Promise.resolve() };
  const reporter = { away: false };
  const hand = createHandClock();
  const store = {
    async load(taskId: string) {
      reads.of.push(taskId);
      reads.most = Math.max(reads.most, (reads.underWay += 1));
      await reads.wait;
      reads.underWay -= 1;
      if (reads.away) throw new ParleyError("UNAVAILABLE", "Redis did not answer in time");
      if (taskId === "t-lost") throw new Error("its text is not JSON");
      return taskId === "t-gone" ? undefined : ({ id: taskId, call: { principal: "ann" }, asks: [] } as unknown as Task);
    },
  };
  const changes = new Changes<string>(
    { store, clock: hand.clock } as unknown as ConstructorParameters<typeof Changes>[0],
    callerNamed("ann"),
    {
      taskOf: (change) => (change.startsWith("t") ? change : undefined),
      async report(change, task) {
        if (reporter.away) throw new ParleyError("UNAVAILABLE", "Redis did not answer in time");
        reported.push(task ? `task ${task.id}` : change);
      },
      drained: () => reader.taken,
      failed: (error) => void failures.push(error),
    },
  );
  return { changes, reported, failures, reads, reader, reporter, hand };
}

describe("changes", () => {
  test("are reported in the order of their arrival, with their task if there is one", async () => {
    const { changes, reported } = subject();
    for (const change of ["list", "t1", "t-gone", "other"]) changes.add(change);
    await until(() => reported.length === 4);
    expect(reported).toEqual(["list", "task t1", "t-gone", "other"]);
  });

  test("that are repeated while the client reads are reported once more, not every time", async () => {
    const { changes, reported, reader } = subject();
    const taken = Promise.withResolvers<void>();
    reader.taken = taken.promise;
    changes.add("t1");
    await until(() => reported.length === 1);
    for (let count = 0; count < 10; count += 1) changes.add("t1");
    taken.resolve();
    await until(() => reported.length === 2);
    changes.add("end");
    await until(() => reported.includes("end"));
    expect(reported).toEqual(["task t1", "task t1", "end"]);
  });

  test("of many tasks are read eight at a time", async () => {
    const { changes, reported, reads } = subject();
    const back = Promise.withResolvers<void>();
    reads.wait = back.promise;
    for (let index = 0; index < 20; index += 1) changes.add(`t${index}`);
    // The first one was read alone.
    await until(() => reads.underWay === 1);
    back.resolve();
    await until(() => reported.length === 20);
    expect(reads.most).toBe(8);
    // A client that reads has none of them read twice.
    expect(reads.of).toHaveLength(20);
  });

  test("keep no tasks in memory for a client that does not read: the tasks are read again in their turn once it does", async () => {
    const { changes, reported, reads, reader, hand } = subject();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    reader.taken = first.promise;
    for (let index = 0; index < 12; index += 1) changes.add(`t${index}`);
    await until(() => reported.length === 1);
    reader.taken = second.promise;
    first.resolve();
    await until(() => reported.length === 2);
    expect(reads.of).toEqual(["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"]);
    // As long as tasks are kept in memory.
    await hand.pass(100);
    changes.add("t5");
    reader.taken = Promise.resolve();
    second.resolve();
    await until(() => reported.length === 12);
    expect(reads.of.slice(9)).toEqual(["t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10", "t11"]);
    expect(reported).toEqual(Array.from({ length: 12 }, (_, index) => `task t${index}`));
  });

  test("end with the first task that cannot be read", async () => {
    const { changes, reported, failures } = subject();
    for (const change of ["t1", "t-lost", "t2"]) changes.add(change);
    await until(() => failures.length === 1);
    changes.add("t3");
    await new Promise(setImmediate);
    expect(reported).toEqual(["task t1"]);
    expect(changes.stopped).toBe(true);
  });

  test("are reported when Redis is back, if it was away when their tasks were read", async () => {
    const { changes, reported, failures, reads, hand } = subject();
    reads.away = true;
    changes.add("t1");
    await until(() => hand.sleeping().length === 1);
    changes.add("t2");
    await hand.pass(1_000);
    expect([reads.of, reported]).toEqual([["t1", "t1", "t2"], []]);
    reads.away = false;
    await hand.pass(1_000);
    await until(() => reported.length === 2);
    expect([reported, failures]).toEqual([["task t1", "task t2"], []]);
  });

  test("are reported in their order when Redis is back, if it was away when they were reported, with the task as it then is", async () => {
    const { changes, reported, failures, reads, reporter, hand } = subject();
    reporter.away = true;
    changes.add("t1");
    changes.add("list");
    await until(() => hand.sleeping().length === 1);
    changes.add("t2");
    reporter.away = false;
    await hand.pass(1_000);
    await until(() => reported.length === 3);
    expect([reported, reads.of, failures]).toEqual([["task t1", "list", "task t2"], ["t1", "t1", "t2"], []]);
  });

  test("are no longer reported once stopped, even if their task was already read", async () => {
    const { changes, reported, reads } = subject();
    const back = Promise.withResolvers<void>();
    reads.wait = back.promise;
    changes.add("t1");
    await until(() => reads.underWay === 1);
    changes.stop();
    back.resolve();
    await new Promise(setImmediate);
    expect(reported).toEqual([]);
  });
});
