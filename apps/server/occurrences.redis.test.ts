/** Events for clients that subscribe to them: list, poll and stream, at two front ends and over both families (SEP-3415). */
import { OCCURRENCE_TYPES, type Outbox, ParleyError } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type OpenRedis, openRedis } from "../../test/contract/open-redis.ts";
import { type Message, rpc, stream } from "./client.fixture.ts";
import { deploy, type Front } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const DAY_MS = 86_400_000;
let redis: OpenRedis;
let fronts: readonly Front[];

const ask = defineTool({
  name: "ask",
  input: z.object({ to: z.string().optional() }),
  async run({ to }, ctx) {
    const audience = to === undefined ? {} : { to: { people: [to] } };
    const answer = await ctx.ask("size", { message: "How many?", schema: z.object({ n: z.number() }), ...audience });
    return answer.action === "accept" ? "done" : "no";
  },
});

beforeEach(async () => {
  redis = await openRedis({ outbox: { lengthMax: 1_000, ageMs: DAY_MS }, partitions: 2 });
  ({ fronts } = await deploy({ catalogue: catalogue([ask]), stored: redis, sessions: redis.sessions, times: { keepAliveMs: 200 } }));
});
afterEach(() => redis.close());

const at = (index: number) => fronts[index] as Front;
const as = (principal: string) => ({ principal });

async function call(principal: string, args: object = {}): Promise<string> {
  const { result } = await rpc(at(0), "tools/call", { name: "ask", arguments: args }, as(principal));
  return (result as unknown as { taskId: string }).taskId;
}

async function answer(principal: string, taskId: string): Promise<void> {
  await expect.poll(async () => (await rpc(at(1), "tasks/get", { taskId }, as(principal))).result?.["status"]).toBe("input_required");
  const inputResponses = { size: { action: "accept", content: { n: 4 } } };
  expect((await rpc(at(1), "tasks/update", { taskId, inputResponses }, as(principal))).error).toBeUndefined();
}

async function cursor(principal: string, name: string): Promise<string> {
  const { result } = await rpc(at(0), "events/poll", { name, cursor: null }, as(principal));
  expect(result).toMatchObject({ resultType: "complete", events: [], truncated: false, hasMore: false, nextPollMs: expect.any(Number) });
  return result?.["cursor"] as unknown as string;
}

/** What a poll returns from the cursor on, at the other front end. */
async function polled(principal: string, params: object): Promise<Message["result"]> {
  return (await rpc(at(1), "events/poll", params, as(principal))).result;
}

describe("events", () => {
  test("are declared and listed, with schemas and ways of delivery", async () => {
    const { result: discovered } = await rpc(at(0), "server/discover", {});
    expect(discovered).toMatchObject({ capabilities: { extensions: { "io.modelcontextprotocol/events": {} } } });
    const { result } = await rpc(at(0), "events/list", {});
    const { events } = result as unknown as { events: { name: string; delivery: string[]; inputSchema: object; payloadSchema: object }[] };
    expect(events.map(({ name }) => name)).toEqual([
      "ask.opened",
      "ask.settled",
      "ask.claimed",
      "ask.released",
      "ask.commented",
      "ask.reminded",
      "ask.escalated",
      "approval.asked",
      "approval.given",
      "approval.refused",
      "approval.expired",
      "approval.withdrawn",
      "approval.spent",
      "approval.void",
      "task.changed",
      "task.ended",
    ]);
    for (const each of events) {
      expect(each).toMatchObject({ delivery: ["poll", "push"], inputSchema: { type: "object" }, payloadSchema: { type: "object" } });
    }
  });

  test("are polled at any front end from a cursor on, by those whom they concern", async () => {
    const [mine, theirs, ended] = [await cursor("ada", "ask.opened"), await cursor("bob", "ask.opened"), await cursor("ada", "task.ended")];
    const taskId = await call("ada", { to: "bob" });
    await answer("bob", taskId);
    await expect
      .poll(async () => (await polled("ada", { name: "task.ended", cursor: ended }))?.["events"])
      .toMatchObject([
        { eventId: expect.any(String), name: "task.ended", timestamp: expect.stringMatching(/Z$/), data: { taskId, status: "completed" } },
      ]);
    expect((await polled("ada", { name: "ask.opened", cursor: mine }))?.["events"]).toEqual([]);
    const heard = await polled("bob", { name: "ask.opened", cursor: theirs, arguments: { tool: "ask" } });
    expect(heard).toMatchObject({ events: [{ data: { taskId, key: "size" } }], hasMore: false });
    expect(await polled("bob", { name: "ask.opened", cursor: heard?.["cursor"] })).toMatchObject({ events: [] });
    expect(await polled("bob", { name: "ask.opened", cursor: theirs, arguments: { tool: "other" } })).toMatchObject({ events: [] });
  });

  test("are returned at most as many as wanted, and the rest follows at once", async () => {
    const from = await cursor("ada", "ask.opened");
    const ids = await Promise.all([call("ada"), call("ada"), call("ada")]);
    await expect.poll(async () => (await polled("ada", { name: "ask.opened", cursor: from }))?.["events"]).toHaveLength(3);
    const first = await polled("ada", { name: "ask.opened", cursor: from, maxEvents: 2 });
    expect(first).toMatchObject({ events: [{}, {}], hasMore: true });
    const rest = await polled("ada", { name: "ask.opened", cursor: first?.["cursor"], maxEvents: 2 });
    expect(rest).toMatchObject({ events: [{}], hasMore: false });
    const heard = [first, rest].flatMap((page) => page?.["events"] as unknown as { data: { taskId: string } }[]);
    expect(heard.map(({ data }) => data.taskId).toSorted()).toEqual(ids.toSorted());
  });

  test.each([
    [{ name: "nothing" }, -32011, "no event type"],
    [{ name: "__proto__" }, -32011, "no event type"],
    [{ name: "ask.opened", arguments: { colour: "red" } }, -32602, "arguments"],
    [{ name: "ask.opened", arguments: { tool: 7 } }, -32602, "arguments"],
    [{ name: "task.ended", arguments: { from: "me" } }, -32602, "arguments"],
    [{ name: "ask.opened", cursor: "1.zzz" }, -32602, "cursor"],
    [{ name: "ask.opened", cursor: 7 }, -32602, "cursor"],
    [{ name: "ask.opened", maxEvents: 0 }, -32602, "maxEvents"],
    [{ name: "ask.opened", maxAgeMs: -1 }, -32602, "maxAgeMs"],
    [{}, -32602, "name is required"],
  ])("a request that is wrong is refused with what is wrong: %j", async (params, code, message) => {
    for (const method of ["events/poll", "events/stream"]) {
      if (method === "events/stream" && "maxEvents" in params) continue;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { error } = await rpc(at(0), method, params, as("ada"));
      expect(error, method).toMatchObject({ code, message: expect.stringContaining(message) });
    }
  });

  test("a webhook is not offered", async () => {
    const delivery = { mode: "webhook", url: "https://example.com/hook", secret: "whsec_x" };
    const { error } = await rpc(at(0), "events/subscribe", { name: "ask.opened", delivery }, as("ada"));
    expect(error).toMatchObject({ code: -32014, data: { feature: "deliveryMode", value: "webhook" } });
  });
});

describe("a stream of events", () => {
  test("says where it begins, what happens, and how far it has looked while nothing does", async () => {
    const opened = await stream(at(1), "events/stream", { name: "task.changed", cursor: null }, as("ada"));
    const active = await opened.next();
    const subscription = { _meta: { "io.modelcontextprotocol/subscriptionId": expect.any(Number) } };
    expect(active).toMatchObject({
      method: "notifications/events/active",
      params: { truncated: false, cursor: expect.any(String), ...subscription },
    });
    const taskId = await call("ada");
    await answer("ada", taskId);
    const changes: unknown[] = [];
    const beats: unknown[] = [];
    while (changes.length < 3 || beats.length === 0) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { method, params } = await opened.next();
      if (method === "notifications/events/heartbeat") beats.push(params);
      else changes.push((params as unknown as { data: { change: string } }).data.change);
    }
    expect(changes).toEqual(["asked", "answered", "completed"]);
    expect(beats[0]).toMatchObject({ cursor: expect.any(String), ...subscription });
    opened.close();
    // What happened since is read by the last cursor, and nothing twice.
    const last = (beats.at(-1) as { cursor: string }).cursor;
    expect(await polled("ada", { name: "task.changed", cursor: last })).toMatchObject({ hasMore: false });
  });

  test("begins with what happened since its cursor, and ends with its result when the server stops", async () => {
    const from = await cursor("ada", "ask.opened");
    const taskId = await call("ada");
    await expect.poll(async () => (await polled("ada", { name: "ask.opened", cursor: from }))?.["events"]).toHaveLength(1);
    const opened = await stream(at(0), "events/stream", { name: "ask.opened", cursor: from }, as("ada"));
    expect(await opened.next()).toMatchObject({ method: "notifications/events/active" });
    let first = await opened.next();
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    while (first.method === "notifications/events/heartbeat") first = await opened.next();
    expect(first).toMatchObject({ method: "notifications/events/event", params: { name: "ask.opened", data: { taskId } } });
    await at(0).app.close();
    const rest = await opened.rest();
    // "An empty result that carries only resultType and the subscription ID in _meta."
    const _meta = { "io.modelcontextprotocol/subscriptionId": rest.at(-1)?.id };
    expect(rest.at(-1)).toMatchObject({ result: { resultType: "complete", _meta } });
    expect(rest.slice(0, -1).every(({ method }) => method === "notifications/events/heartbeat")).toBe(true);
  });

  // "notifications/events/error reports a recoverable failure. The subscription stays active, and the server retries and resumes."
  test("says once that what happens cannot be read, goes on, and loses nothing", async () => {
    let isDown = false;
    const outbox = redis.outbox as Outbox;
    const read: Outbox["read"] = async (...args) => {
      if (isDown) throw new ParleyError("UNAVAILABLE", "Redis does not respond");
      return await outbox.read(...args);
    };
    const stored = { store: redis.store, wakeUps: redis.wakeUps, ids: redis.ids, outbox: { ...outbox, read } };
    const { fronts: both } = await deploy({ catalogue: catalogue([ask]), stored, sessions: redis.sessions, times: { keepAliveMs: 200 } });
    const opened = await stream(both[0] as Front, "events/stream", { name: "ask.opened" }, as("ada"));
    expect(await opened.next()).toMatchObject({ method: "notifications/events/active" });
    const others: Message[] = [];
    /** The next message but heartbeats, of which so many must have come before. */
    const next = async (beats = 0): Promise<void> => {
      for (let seen = 0; ;) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const message = await opened.next();
        if (message.method !== "notifications/events/heartbeat") return void others.push(message);
        seen += 1;
        if (beats > 0 && seen >= beats) return;
      }
    };
    isDown = true;
    await next();
    expect(others).toMatchObject([
      {
        method: "notifications/events/error",
        params: {
          error: { code: -32603, message: expect.any(String), data: { reason: "unavailable" } },
          _meta: { "io.modelcontextprotocol/subscriptionId": expect.any(Number) },
        },
      },
    ]);
    const taskId = await call("ada");
    // Readings every 250 ms fail in this time.
    await next(5);
    expect(others).toHaveLength(1);
    isDown = false;
    await next();
    expect(others[1]).toMatchObject({ method: "notifications/events/event", params: { data: { taskId } } });
    isDown = true;
    await next();
    expect(others[2]).toMatchObject({ method: "notifications/events/error" });
    opened.close();
  });

  test("take a place among the streams of their caller until they end", async () => {
    const { fronts: few } = await deploy({ catalogue: catalogue([ask]), stored: redis, fronts: 1, limits: { streamsMax: 1 } });
    const params = { name: "ask.opened" };
    /** What a stream begins with; a refusal is no stream. */
    const begins = async () => {
      const opened = await stream(few[0]!, "events/stream", params, as("ada"));
      const first = await opened.next().catch(() => undefined);
      return { method: first?.method, close: opened.close };
    };
    for (let round = 0; round < 3; round += 1) {
      let opened = await begins();
      for (const untilMs = Date.now() + 5_000; !opened.method && Date.now() < untilMs;) opened = await begins();
      expect(opened.method).toBe("notifications/events/active");
      expect((await rpc(few[0]!, "events/stream", params, as("ada"))).error).toMatchObject({ data: { code: "QUOTA_EXCEEDED" } });
      opened.close();
    }
  });

  test("each of many hears its own, and a stream that is closed is followed no longer", async () => {
    const people = Array.from({ length: 20 }, (_, index) => `person-${index}`);
    const streams = await Promise.all(people.map((principal) => stream(at(1), "events/stream", { name: "ask.opened" }, as(principal))));
    const nextEvent = async (index: number): Promise<Message> => {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const message = await streams[index]?.next();
        if (message?.method === "notifications/events/event") return message;
      }
    };
    const ids = await Promise.all(people.map((principal) => call("boss", { to: principal })));
    const heard = await Promise.all(people.map((_, index) => nextEvent(index)));
    expect(heard.map(({ params }) => params?.["data"]?.["taskId"])).toEqual(ids);
    for (const each of streams) each.close();
    const again = await stream(at(1), "events/stream", { name: "ask.opened" }, as("person-0"));
    expect(await again.next()).toMatchObject({ method: "notifications/events/active" });
    again.close();
  });

  test("is served in a session as well", async () => {
    const session = await openSession(at(0), { principal: "ada" });
    expect(session.initialized.result).toMatchObject({ capabilities: { extensions: { "io.modelcontextprotocol/events": {} } } });
    const list = await session.request(at(1), "events/list");
    expect(list.messages.at(-1)?.result).toMatchObject({ events: OCCURRENCE_TYPES.map((name) => ({ name })) });
    const opened = await session.stream(at(1), "events/stream", { name: "task.changed" });
    expect(await opened.next()).toMatchObject({ method: "notifications/events/active" });
    const taskId = await call("ada");
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { method, params } = await opened.next();
      if (method !== "notifications/events/event") continue;
      expect(params).toMatchObject({ name: "task.changed", data: { taskId, change: "asked" } });
      break;
    }
    opened.close();
  });
});

test("without an outbox there are no events, and it is said how to have them", async () => {
  const { fronts: plain } = await deploy({ catalogue: catalogue([ask]) });
  const { result } = await rpc(plain[0] as Front, "server/discover", {});
  expect(JSON.stringify(result)).not.toContain("modelcontextprotocol/events");
  for (const method of ["events/list", "events/poll", "events/stream"]) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const { error } = await rpc(plain[0] as Front, method, { name: "ask.opened" });
    expect(error).toMatchObject({ code: -32601, message: expect.stringContaining("PARLEY_OUTBOX") });
  }
});
