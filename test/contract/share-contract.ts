/** What every implementation of the gateway's share does, in memory and on Redis. */
import type { DeadProcess, Share } from "@parley/gateway";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { newTaskId } from "./builders.ts";

interface UnderTest {
  /** Whether it knows how many processes listen; a node of a Cluster knows only its own. */
  readonly countsListeners: boolean;
  /** Adds a process. */
  share(): Share;
  /** Lets time pass: its own, and that of leases. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

const FACTS = { isFinal: true, ttlMs: 60_000 };

export function describeShare(where: string, open: () => Promise<UnderTest>): void {
  describe(`a gateway's share ${where}`, () => {
    let under: UnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(() => under.close());
    const share = () => under.share();

    test("names the process that claimed a call, as long as it beats and holds it", async () => {
      const [holder, other] = [share(), share()];
      const task = newTaskId();
      expect(await other.holderOf(task)).toBe("here");
      await holder.beat();
      await holder.claim(task, FACTS);
      expect([await holder.holderOf(task), await other.holderOf(task)]).toEqual(["here", { process: holder.id }]);
      await holder.release(task);
      expect(await other.holderOf(task)).toBe("here");
      await holder.claim(task, FACTS);
      await holder.leave();
      expect(await other.holderOf(task)).toBe("here");
    });

    test("passes runs to the process that they name, and to no other", async () => {
      const [holder, other] = [share(), share()];
      const got: string[] = [];
      const stops = await Promise.all([
        holder.onPost("run", (run) => got.push(`holder ${run}`)),
        other.onPost("run", (run) => got.push(`other ${run}`)),
      ]);
      await other.post("run", holder.id, "a run");
      await until(() => got.length > 0);
      for (const stop of stops) stop();
      expect(got).toEqual(["holder a run"]);
    });

    test("leaves the name of a process that has taken a call over to that one", async () => {
      const [former, later, other] = [share(), share(), share()];
      const task = newTaskId();
      await former.claim(task, FACTS);
      await later.beat();
      await later.claim(task, FACTS);
      await former.release(task);
      expect(await other.holderOf(task)).toEqual({ process: later.id });
    });

    test("sends what concerns a call without a task to one process, and says whether it can have received it", async () => {
      const [front, worker] = [share(), share()];
      const got: string[] = [];
      expect(await front.post("call", worker.id, "nobody listens")).toBe(!under.countsListeners);
      const stops = await Promise.all([
        worker.onPost("call", (text) => got.push(`call ${text}`)),
        front.onPost("reply", (text) => got.push(`reply ${text}`)),
        front.onPost("call", (text) => got.push(`to the front end ${text}`)),
      ]);
      expect(await front.post("call", worker.id, "one")).toBe(true);
      expect(await worker.post("reply", front.id, "two")).toBe(true);
      await until(() => got.length === 2);
      expect(got.toSorted()).toEqual(["call one", "reply two"]);
      for (const stop of stops) stop();
    });

    test("knows the processes that make calls: those that beat, until they leave or stop", async () => {
      const [front, one, other] = [share(), share(), share()];
      expect(await front.callers()).toEqual([]);
      await one.beat();
      await other.beat();
      expect([...(await front.callers())].toSorted()).toEqual([one.id, other.id].toSorted());
      await one.leave();
      expect(await front.callers()).toEqual([other.id]);
      await under.pass(7_001);
      expect(await front.callers()).toEqual([]);
      await one.beat();
      expect(await one.takeDead()).not.toEqual([]);
      expect(await front.callers()).toEqual([one.id]);
    });

    test("reports the calls of a dead process to one other, which forgets them", async () => {
      const [dead, one, other] = [share(), share(), share()];
      const [final, repeatable] = [newTaskId(), newTaskId()];
      expect([await dead.beat(), await dead.beat()]).toEqual([false, true]);
      await dead.claim(final, FACTS);
      await dead.claim(repeatable, { ...FACTS, isFinal: false });
      expect(await one.takeDead()).toEqual([]);
      await under.pass(7_001);
      await one.beat();
      expect(await dead.takeDead()).toEqual([]);
      const found = (await Promise.all([one.takeDead(), other.takeDead()])).flat();
      const calls = [
        { taskId: final, isFinal: true },
        { taskId: repeatable, isFinal: false },
      ];
      expect(found.map(sorted)).toEqual([sorted({ ...TAKEN, process: dead.id, calls })]);
      await one.forgetDead(found[0]!);
      await under.pass(10_001);
      expect(await other.takeDead()).toEqual([{ ...TAKEN, process: one.id, calls: [] }]);
    });

    test("reports a dead process again, if the one that took it died before it had followed up on its calls", async () => {
      const [dead, taker, other] = [share(), share(), share()];
      const call = { taskId: newTaskId(), isFinal: true };
      await dead.beat();
      await dead.claim(call.taskId, FACTS);
      await under.pass(7_001);
      const found = [{ ...TAKEN, process: dead.id, calls: [call] }];
      expect(await taker.takeDead()).toEqual(found);
      await under.pass(9_999);
      expect(await other.takeDead()).toEqual([]);
      await under.pass(2);
      expect(await other.takeDead()).toEqual(found);
    });

    test("tells a process that beats again that it was declared dead, and has it follow up on its calls, but no later ones", async () => {
      const [dead, taker] = [share(), share()];
      const [before, after] = [newTaskId(), newTaskId()];
      await dead.beat();
      await dead.claim(before, FACTS);
      await under.pass(7_001);
      await taker.takeDead();
      expect(await dead.beat()).toBe(false);
      const found = await dead.takeDead();
      expect(found).toEqual([{ ...TAKEN, process: dead.id, calls: [{ taskId: before, isFinal: true }] }]);
      await dead.claim(after, FACTS);
      await dead.forgetDead(found[0]!);
      expect([await dead.takeDead(), await dead.beat(), await taker.holderOf(after)]).toEqual([[], true, { process: dead.id }]);
      await under.pass(7_001);
      expect(await taker.takeDead()).toEqual([{ ...TAKEN, process: dead.id, calls: [{ taskId: after, isFinal: true }] }]);
    });

    test("an entry that nobody has followed up on is no end of a process that lives again", async () => {
      const [dead, taker] = [share(), share()];
      await dead.beat();
      await under.pass(7_001);
      await taker.takeDead();
      await dead.beat();
      await under.pass(5_000);
      await dead.beat();
      await under.pass(5_001);
      expect(await taker.takeDead()).toEqual([{ ...TAKEN, process: dead.id, calls: [] }]);
      expect(await dead.beat()).toBe(true);
    });

    test("keeps the entry of a process that lived and died again while its first death was followed up on", async () => {
      const [dead, slow, second, third] = [share(), share(), share(), share()];
      await dead.beat();
      await under.pass(7_001);
      const first = (await slow.takeDead())[0]!;
      await dead.beat();
      await dead.forgetDead((await dead.takeDead())[0]!);
      const call = { taskId: newTaskId(), isFinal: true };
      await dead.claim(call.taskId, FACTS);
      await under.pass(7_001);
      const found = [{ ...TAKEN, process: dead.id, calls: [call] }];
      expect(await second.takeDead()).toEqual(found);
      await slow.forgetDead(first);
      // The second dies before it has followed up.
      await under.pass(10_001);
      expect(await third.takeDead()).toEqual(found);
    });

    test("reports a process that has left as a dead one, unless it follows up on its calls itself", async () => {
      const [one, two, other] = [share(), share(), share()];
      const call = { taskId: newTaskId(), isFinal: true };
      for (const leaving of [one, two]) await leaving.beat();
      await one.claim(call.taskId, FACTS);
      expect(await one.leave()).toEqual({ ...TAKEN, process: one.id, calls: [call] });
      await two.forgetDead(await two.leave());
      expect([await other.holderOf(call.taskId), await other.takeDead()]).toEqual(["here", []]);
      await under.pass(10_001);
      expect(await other.takeDead()).toEqual([{ ...TAKEN, process: one.id, calls: [call] }]);
    });

    test("takes ten dead processes at a time", async () => {
      for (let dead = 0; dead < 11; dead += 1) {
        const process = share();
        await process.beat();
        await process.claim(newTaskId(), FACTS);
      }
      await under.pass(7_001);
      const looks = share();
      expect([await looks.takeDead(), await looks.takeDead(), await looks.takeDead()].map((found) => found.length)).toEqual([10, 1, 0]);
    });

    test("keeps the lists of upstreams, and returns those that have changed", async () => {
      const [writer, reader] = [share(), share()];
      await writer.writeList("crm", "first");
      const read = async (revision = "") =>
        (await reader.readLists(
          new Map([
            ["crm", revision],
            ["none", ""],
          ]),
        )) as ReadonlyMap<string, Listed>;
      const first = await read();
      expect([[...first.keys()], first.get("crm")?.text]).toEqual([["crm"], "first"]);
      const { revision } = first.get("crm")!;
      expect((await read(revision)).get("crm")).toEqual({ revision });
      await writer.writeList("crm", "second");
      expect((await read(revision)).get("crm")?.text).toBe("second");
      expect(await reader.readLists(new Map())).toEqual(new Map());
    });

    test("lets one process read the lists of an upstream, and another one when its lease is over", async () => {
      const [one, other] = [share(), share()];
      expect([await one.lease("crm", 30_000), await other.lease("crm", 30_000), await other.lease("mail", 150)]).toEqual([
        true,
        false,
        true,
      ]);
      expect(await one.lease("crm", 150)).toBe(true);
      await under.pass(200);
      expect([await other.lease("crm", 30_000), await one.lease("crm", 30_000)]).toEqual([true, false]);
    });

    test("brings a request to all workers, lets one claim it, and brings the reply to the process that asked", async () => {
      const [asker, other, ...workers] = [share(), share(), share(), share()];
      const claimed: boolean[] = [];
      const replied: string[] = [];
      const serve = async (worker: Share, from: string) => {
        const isMine = await worker.claimAsked("1", 60_000);
        claimed.push(isMine);
        if (isMine) await worker.post("read", from, "done");
      };
      const stops = await Promise.all([
        asker.onPost("read", (text) => replied.push(`asker ${text}`)),
        other.onPost("read", (text) => replied.push(`other ${text}`)),
        ...workers.map((worker) => worker.onAsked((text) => void serve(worker, text))),
      ]);
      await asker.ask(asker.id);
      await until(() => claimed.length === 2 && replied.length > 0);
      for (const stop of stops) stop();
      expect([claimed.toSorted(), replied]).toEqual([[false, true], ["asker done"]]);
    });

    test("leaves a request to the worker that renews its claim, and to another one when that stops", async () => {
      const [one, other] = [share(), share()];
      expect(await one.claimAsked("1", 900)).toBe(true);
      await one.renewAsked("1", 30_000);
      await under.pass(950);
      expect(await other.claimAsked("1", 300)).toBe(false);
      await one.renewAsked("1", 100);
      await under.pass(200);
      await one.renewAsked("1", 30_000);
      expect(await other.claimAsked("1", 300)).toBe(true);
    });

    test("names the process that has the state of a caller, as long as it lives, and says so when it does not", async () => {
      const [owner, other] = [share(), share()];
      for (const process of [owner, other]) await process.beat();
      expect(await other.stateAt("a")).toBe("here");
      expect(await owner.takeState("a", 60_000)).toBe("new");
      expect(await owner.takeState("a", 60_000)).toEqual({ process: owner.id, isAlive: true });
      expect(await other.takeState("a", 60_000)).toEqual({ process: owner.id, isAlive: true });
      expect([await owner.stateAt("a"), await other.stateAt("a"), await other.stateAt("b")]).toEqual([
        "here",
        { process: owner.id },
        "here",
      ]);
      await owner.leave();
      expect([await other.stateAt("a"), await other.takeState("a", 60_000)]).toEqual(["here", { process: owner.id, isAlive: false }]);
      // Only its own name is prolonged, and only the one that is meant is removed.
      await other.keepState("a", 60_000);
      await other.releaseState({ key: "a", process: other.id });
      expect(await other.takeState("a", 60_000)).toEqual({ process: owner.id, isAlive: false });
      await other.releaseState({ key: "a", process: owner.id });
      expect(await other.takeState("a", 60_000)).toBe("new");
    });

    test("forgets who had the state of a caller when its time is over, unless that is prolonged", async () => {
      const [owner, other] = [share(), share()];
      for (const key of ["a", "b"]) await owner.takeState(key, 900);
      await owner.keepState("a", 30_000);
      await under.pass(950);
      expect([await other.takeState("b", 300), await other.takeState("a", 300)]).toEqual(["new", { process: owner.id, isAlive: false }]);
    });

    test("counts the questions to a caller, for all processes together", async () => {
      const [one, other] = [share(), share()];
      const taken = await Promise.all([one, other, one].map((process) => process.takeQuestions("ann", 1, 3)));
      expect(taken).toEqual([0, 0, 0]);
      expect(await other.takeQuestions("ann", 1, 3)).toBe(20_000);
      expect(await other.takeQuestions("bob", 9, 3)).toBe(0);
      expect(await one.takeQuestions("bob", 2, 3)).toBe(40_000);
    });
  });
}

/** When it was taken is of no interest here. */
const TAKEN = { untilMs: expect.any(Number) as number };

function sorted({ calls, ...dead }: DeadProcess): DeadProcess {
  return { ...dead, calls: calls.toSorted((a, b) => Number(b.isFinal) - Number(a.isFinal)) };
}

interface Listed {
  readonly revision: string;
  readonly text?: string;
}
