/** Audit records: each is written in the change that it reports, numbered without a gap, and none without an audit. */
import {
  answerTask,
  type AuditFact,
  callKey,
  cancelTask,
  childId,
  createTask,
  DEFAULT_SETTINGS,
  eventKey,
  type Json,
  noteShown,
  type ParleyError,
  receiveEvent,
  type Runnable,
  type Services,
} from "@parley/core";
import { createScope, createValidator, eventTokens, sha256Digest, systemClock } from "@parley/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { accept, aCall, aLife, anAsk, anEvent, aWithdrawal, GRACE_MS, HOUR_MS } from "../../../test/contract/builders.ts";
import { aContentKey } from "../../../test/contract/content-keys.ts";
import { type OpenRedis, openRedis } from "../../../test/contract/open-redis.ts";
import { until } from "../../../test/support/until.ts";
import { createKeys } from "../keys.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

const tool: Runnable = {
  kind: "tool",
  name: "subject",
  settings: { attempts: 1, backoffMs: 1, runTimeoutMs: 1, retentionMs: HOUR_MS },
  earlyReplies: false,
  readArguments: (args) => ({ ok: true, args }),
  run: async () => ({}),
};

describe("audit records", () => {
  let opened: OpenRedis;
  beforeEach(async () => {
    opened = await openRedis({ contentKeys: aContentKey() });
  });
  afterEach(() => opened.close());

  const services = (isAudited = true): Services =>
    ({
      ...opened,
      digest: opened.content.digest(sha256Digest),
      clock: systemClock,
      scope: createScope(),
      validate: createValidator(),
      log: silent,
      settings: DEFAULT_SETTINGS,
      audit: isAudited ? opened.audit : undefined,
    }) as Services;
  const records = async () => (await opened.audit.read(0, 0, 1_000)).map(({ number, verdict, fact }) => ({ number, verdict, ...fact }));
  const actor = (principal: string) => ({
    caller: { principal, tenant: "acme", scopes: [], authenticatedBy: "test", names: [], groups: [], roles: [] },
    door: "a door",
  });
  const alice = actor("alice");
  const create = (of: Services) =>
    createTask(of, tool, { ...alice, arguments: { secret: "MARKER" }, capabilities: {}, hidden: false }).then(({ id }) => id);
  const ask = (key: string) =>
    anAsk(key, { request: { type: "form", message: "MARKER?", schema: { type: "object", properties: { value: { type: "string" } } } } });
  async function park(taskId: string): Promise<void> {
    const life = aLife(opened.store);
    await life.park(taskId, await life.begin({ taskId, run: 1 }), [ask("size"), ask("name")]);
  }

  test("report each call, answer and cancellation: by whom, through which door, with what result, and without content", async () => {
    const audited = services();
    const taskId = await create(audited);
    await park(taskId);
    const replying = { ...alice, taskId, replies: { size: accept("MARKER") } };
    await answerTask(audited, replying);
    await answerTask(audited, replying);
    await answerTask(audited, { ...replying, replies: { size: accept("other") } });
    await answerTask(audited, { ...replying, replies: { name: { action: "accept", content: { value: 1 } } }, countRefusals: true });
    await cancelTask(audited, { ...alice, taskId });
    await cancelTask(audited, { ...alice, taskId });

    const all = await records();
    const common = { taskId, principal: "alice", tenant: "acme", door: "a door" };
    const digest = expect.stringMatching(/^[\w-]{22}$/) as string;
    expect(all).toEqual([
      { ...common, number: 1, action: "call", tool: "tool subject", call: digest, verdict: "created" },
      {
        ...common,
        number: 2,
        action: "answer",
        tool: "tool subject",
        ask: "size",
        did: "accept",
        assurance: "token",
        verdict: "accepted",
        question: "digest-of-size",
        schema: digest,
        version: 2,
        asked: expect.any(Number) as number,
        call: digest,
      },
      { ...common, number: 3, action: "answer", ask: "size", verdict: "duplicate" },
      { ...common, number: 4, action: "answer", ask: "size", verdict: "late" },
      {
        ...common,
        number: 5,
        action: "refuse",
        tool: "tool subject",
        ask: "name",
        verdict: "refused",
        question: "digest-of-name",
        schema: digest,
        version: 2,
        asked: expect.any(Number) as number,
        call: digest,
      },
      {
        taskId,
        tenant: "acme",
        door: "end",
        number: 6,
        action: "answer",
        tool: "tool subject",
        ask: "name",
        did: "withdrawn",
        verdict: "accepted",
        question: "digest-of-name",
        version: 2,
        asked: expect.any(Number) as number,
        call: digest,
      },
      { ...common, number: 7, action: "cancel", tool: "tool subject", verdict: "cancelled" },
      { ...common, number: 8, action: "cancel", tool: "tool subject", verdict: "finished" },
    ]);
    expect(all[1]?.call).toBe(all[0]?.call);
    expect(JSON.stringify(all)).not.toContain("MARKER");
  });

  test.each([HOUR_MS, 0])(
    "report a question that its tool withdraws, and a child that ends with its parent and is kept for %i ms, with its own question",
    async (retentionMs) => {
      const audited = services();
      const { store } = opened;
      const life = aLife(store);
      const taskId = await create(audited);
      const token = await life.begin({ taskId, run: 1 });
      const child = childId(audited.digest, { id: taskId, seed: "seed" }, "hotel", { tool: "child", arguments: {} });
      const { askedAtMs, deadlineMs } = anAsk("hotel");
      const open = {
        key: callKey("hotel"),
        digest: child,
        calledAt: "0",
        request: { type: "call", tool: "child" },
        askedAtMs,
        deadlineMs,
      } as const;
      const parent = { taskId, key: "hotel", rootId: taskId, depth: 1, path: "hotel" };
      await store.create({
        taskId: child,
        call: aCall({ hidden: true, name: "child", parent, binding: "the binding", retentionMs }),
        graceMs: GRACE_MS,
        parent: { token, open: { ...open, onTimeout: "cancel" }, nowMs: Date.now(), leaseMs: HOUR_MS },
      });
      await life.park(child, await life.begin({ taskId: child, run: 1 }), [ask("nights")]);
      const written = { taskId, token, nowMs: Date.now(), leaseMs: HOUR_MS };
      await store.record({ ...written, entries: [], asks: [ask("size"), ask("name")] });
      await answerTask(audited, { ...alice, taskId, replies: { name: accept("Ann") } });
      await store.record({ ...written, entries: [aWithdrawal("size", 1), aWithdrawal("name", 2)] });
      await cancelTask(audited, { ...alice, taskId });

      const told = (await records())
        .slice(1)
        .map(({ taskId: of, action, door, did, ask: key, verdict, parent: above, call, principal, tool: name }) =>
          [of === child ? "child" : "parent", name, action, door, did, key, verdict, above === taskId, call?.length, principal].join(" "),
        );
      expect(told).toEqual([
        "parent tool subject answer a door accept name accepted false 22 alice",
        "parent tool subject answer tool withdrawn size accepted false 22 ",
        "child tool child answer end withdrawn nights accepted false 11 ",
        "child tool child cancel parent   cancelled true 11 ",
        "parent tool subject cancel a door   cancelled false  alice",
      ]);
      expect(JSON.stringify(await records())).not.toContain("MARKER");
    },
  );

  test("report each acceptance of an ask with a quorum once, in the order in which they were counted", async () => {
    const audited = services();
    const taskId = await create(audited);
    const life = aLife(opened.store);
    const several = { ...ask("pay"), audience: { to: "tenant", quorum: 3 } } as const;
    await life.park(taskId, await life.begin({ taskId, run: 1 }), [several]);
    const people = ["ada", "eve", "bob", "kim", "joe", "alice"];
    const sent = await Promise.all(
      people.flatMap((name) => [1, 2].map(() => answerTask(audited, { ...actor(name), taskId, replies: { pay: accept("MARKER") } }))),
    );
    const receipts = sent.map(({ receipts: each }) => each.get("pay"));
    expect(
      receipts.filter((receipt) => receipt?.type === "accepted").map((receipt) => receipt?.type === "accepted" && receipt.missing),
    ).toEqual(expect.arrayContaining([2, 1, undefined]));
    const votes = (await records()).filter(({ verdict, action }) => action === "answer" && verdict === "accepted");
    expect(votes.map(({ accepted }) => accepted)).toEqual(["1 of 3", "2 of 3", "3 of 3"]);
    const counted = votes.map(({ principal }) => principal);
    expect(new Set(counted).size).toBe(3);
    const begun = await opened.store.begin({ taskId, run: 2, token: "next", nowMs: Date.now(), leaseMs: HOUR_MS });
    const outcome = begun.type === "begun" ? begun.journal.get("ask:pay")?.outcome : undefined;
    expect(outcome?.type === "answer" && outcome.accepted?.map(({ by }) => by ?? "alice")).toEqual(counted);
    for (const [index, name] of people.entries()) {
      const theirs = receipts.slice(2 * index, 2 * index + 2).map((receipt) => receipt?.type);
      expect(theirs.toSorted()).toEqual(counted.includes(name) ? ["accepted", "duplicate"] : ["late", "late"]);
    }
    expect(JSON.stringify(await records())).not.toContain("MARKER");
  });

  test("report an event of another system, through the door of events, without its body or its token", async () => {
    const tokens = eventTokens({ secrets: ["a secret that nobody else in this test knows"], publicUrl: "https://parley.example.com" });
    const audited = { ...services(), eventTokens: tokens };
    const taskId = await create(audited);
    const life = aLife(opened.store);
    await life.park(taskId, await life.begin({ taskId, run: 1 }), [anEvent("paid")]);
    const { token } = tokens.tokenOf(taskId, eventKey("paid"));
    const tell = (body: Json) => receiveEvent(audited, { token, body, door: "event" }).catch(({ code }: ParleyError) => code);
    expect([await tell("MARKER"), await tell({ amount: "MARKER" }), await tell({ amount: "MARKER" }), await tell({ amount: 2 })]).toEqual([
      "INVALID_EVENT",
      "accepted",
      "duplicate",
      "EVENT_LATE",
    ]);
    await until(async () => (await records()).length === 5);
    const all = await records();
    expect(
      all.slice(1).map(({ action, door, principal, tenant, ask: key, verdict }) => ({ action, door, principal, tenant, key, verdict })),
    ).toEqual(
      [
        ["refuse", "invalid"],
        ["answer", "accepted"],
        ["answer", "duplicate"],
        ["answer", "late"],
      ].map(([action, verdict]) => {
        return { action, door: "event", principal: `event ${taskId}`, tenant: "acme", key: "event:paid", verdict };
      }),
    );
    expect(JSON.stringify(all)).not.toMatch(new RegExp(`MARKER|${token.split(".")[2]}`));
  });

  test("bind an answer to its arguments: another call has another digest", async () => {
    const audited = services();
    await create(audited);
    await createTask(audited, tool, { ...alice, arguments: { other: 1 }, capabilities: {}, hidden: false });
    const [one, other] = await records();
    expect(one?.call).not.toBe(other?.call);
  });

  test("are not written without an audit, and the task is as small as without", async () => {
    const taskId = await create(services(false));
    await park(taskId);
    await answerTask(services(false), { ...alice, taskId, replies: { size: accept("4") } });
    await cancelTask(services(false), { ...alice, taskId });
    expect(await records()).toEqual([]);
    expect((await opened.store.load(taskId))?.call).not.toHaveProperty("binding");
  });

  test("are written once per reader and time asked for shown questions, and each time for invalid replies", async () => {
    const audited = services();
    const taskId = await create(audited);
    await park(taskId);
    const task = await aLife(opened.store).load(taskId);
    for (const principal of ["alice", "alice", "bob"]) noteShown(audited, actor(principal), task, task.asks);
    const wrong = { ...alice, taskId, replies: { name: { action: "accept", content: { value: 1 } } } };
    await answerTask(audited, wrong);
    await answerTask(audited, wrong);
    await until(async () => (await records()).length === 7);
    const told = (await records()).slice(1).map(({ action, principal, ask: key, verdict }) => [action, principal, key, verdict].join(" "));
    expect(told).toEqual([
      "shown alice size ",
      "shown alice name ",
      "shown bob size ",
      "shown bob name ",
      // The fact's own verdict, if no script determined one.
      "refuse alice name invalid",
      "refuse alice name invalid",
    ]);
  });

  test("are numbered without a gap by concurrent writers, in the same command as the change", async () => {
    const audited = services();
    const taskIds = await Promise.all(Array.from({ length: 50 }, () => create(audited)));
    await Promise.all(taskIds.map((taskId) => cancelTask(audited, { ...alice, taskId })));
    const all = await records();
    expect(all.map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    expect((await opened.audit.read(0, 98, 10)).map(({ number }) => number)).toEqual([99, 100]);
  });

  test("a call that is sent twice is recorded once", async () => {
    const taskId = opened.newTaskId();
    const fact: AuditFact = { action: "call", taskId };
    const request = { taskId, call: aCall(), graceMs: GRACE_MS, audit: fact };
    expect([await opened.store.create(request), await opened.store.create(request)]).toEqual(["created", "exists"]);
    expect(await records()).toHaveLength(1);
  });

  test.each([
    ["the newest", (stream: string) => opened.redis.xdel(stream, "2-1"), [1, 3]],
    ["all", (stream: string) => opened.redis.xtrim(stream, "MAXLEN", 0), [3]],
  ])("have a gap if %s is removed manually, which stops no change", async (_, takeAway, left) => {
    await opened.audit.note({ action: "keys" });
    await opened.audit.note({ action: "keys" });
    await takeAway(createKeys(opened.prefix).audit(0));
    const taskId = opened.newTaskId();
    expect(await opened.store.create({ taskId, call: aCall(), graceMs: GRACE_MS, audit: { action: "call", taskId } })).toBe("created");
    expect((await records()).map(({ number }) => number)).toEqual(left);
  });

  test("of a task are in its partition, and all others in the first", async () => {
    await opened.audit.note({ action: "shown", taskId: "3-YuagbDh7XfhieSlD0dvNkQ" });
    await opened.audit.note({ action: "keys" });
    const actions = async (partition: number) => (await opened.audit.read(partition, 0, 10)).map(({ fact }) => fact.action);
    expect([await actions(0), await actions(3)]).toStrictEqual([["keys"], ["shown"]]);
  });

  test("are dropped, oldest first, beyond the limit", async () => {
    const bounded = await openRedis({ prefix: opened.prefix, auditLengthMax: 100 });
    for (let count = 0; count < 400; count += 1) await bounded.audit.note({ action: "keys" });
    const left = (await bounded.audit.read(0, 0, 1_000)).map(({ number }) => number);
    expect(left.at(-1)).toBe(400);
    // Redis drops whole nodes of its tree, a hundred entries each.
    expect(left.length).toBeGreaterThanOrEqual(100);
    expect(left.length).toBeLessThanOrEqual(200);
    expect(await opened.redis.ttl(createKeys(opened.prefix).audit(0))).toBe(-1);
    await bounded.close();
  });
});
