/** A question that is over is withdrawn from the client that it was sent to, in each way that it can end and in each dialect that sends it. */
import { answerTask, sweep } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../../../../test/support/until.ts";
import { callerNamed, type Deployment, deploy } from "../../../deployment.fixture.ts";
import { type Event, type EventStream, openSession, type SessionClient } from "../../../session-client.fixture.ts";

const schema = z.object({ ok: z.boolean() });
const MINUTE_MS = 60_000;

const offered = catalogue([
  defineTool({ name: "one", run: async (_args, ctx) => (await ctx.ask("one", { message: "One?", schema, timeout: "1 minute" })).action }),
  defineTool({
    name: "two",
    async run(_args, ctx) {
      await Promise.all(["one", "two"].map((key) => ctx.elicit(key, { message: `${key}?`, schema })));
      return "both";
    },
  }),
  defineTool({
    name: "race",
    async run(_args, ctx) {
      const lost = new AbortController();
      const first = await Promise.race([
        ctx.ask("one", { message: "One?", schema, signal: lost.signal }),
        ctx.ask("two", { message: "Two?", schema }),
      ]);
      lost.abort();
      await ctx.elicit("three", { message: "Three?", schema });
      return first.action;
    },
  }),
]);

interface Asked {
  readonly deployment: Deployment;
  readonly client: SessionClient;
  readonly stream: EventStream;
  readonly asks: readonly Event[];
  readonly taskId: string;
  /** The JSON-RPC id of the call, or undefined if the client knows the task. */
  readonly callId: string | undefined;
}

type Dialect = (tool: string, questions: number) => Promise<Asked>;

async function asked(stream: EventStream, questions: number): Promise<readonly Event[]> {
  const asks: Event[] = [];
  while (asks.length < questions) {
    const event = await stream.next();
    if (event.method === "elicitation/create") asks.push(event);
  }
  return asks;
}

const taskOf = (asks: readonly Event[]) => String(asks[0]?.id).split(":")[0] ?? "";

const blocking =
  (version: string): Dialect =>
  async (tool, questions) => {
    const deployment = await deploy({ catalogue: offered });
    const [a] = deployment.fronts;
    const client = await openSession(a!, { version });
    const stream = await client.stream(a!, "tools/call", { name: tool, arguments: {} }, "the call");
    const asks = await asked(stream, questions);
    return { deployment, client, stream, asks, taskId: taskOf(asks), callId: "the call" };
  };

const withTask =
  (open: (client: SessionClient, deployment: Deployment, taskId: string) => Promise<EventStream>): Dialect =>
  async (tool, questions) => {
    const deployment = await deploy({ catalogue: offered, times: { taskGraceMs: 0 } });
    const [a] = deployment.fronts;
    const client = await openSession(a!);
    const { messages } = await client.request(a!, "tools/call", { name: tool, arguments: {}, task: {} });
    const taskId = String(messages[0]?.result?.["taskId"]);
    const stream = await open(client, deployment, taskId);
    return { deployment, client, stream, asks: await asked(stream, questions), taskId, callId: undefined };
  };

const DIALECTS: Readonly<Record<string, Dialect>> = {
  "2025-11-25": blocking("2025-11-25"),
  "2025-06-18": blocking("2025-06-18"),
  "2025-03-26": blocking("2025-03-26"),
  "2025-11-25 with tasks, on tasks/result": withTask((client, { fronts }, taskId) => client.stream(fronts[0]!, "tasks/result", { taskId })),
  "2025-11-25 with tasks, on the session's own stream": withTask((client, { fronts }) => client.listen(fronts[0]!)),
};

/** Answers as another client of the same caller does, for example on a page. */
async function answerElsewhere({ deployment, taskId }: Asked, key: string, reply: object) {
  const { receipts } = await answerTask(deployment.services, {
    taskId,
    caller: callerNamed("anonymous"),
    door: "page",
    replies: { [key]: reply },
  });
  expect(receipts.get(key)).toEqual({ type: "accepted" });
}

const ACCEPT = { action: "accept", content: { ok: true } };

interface Way {
  readonly tool: "one" | "two" | "race";
  readonly questions: number;
  end(asked: Asked): Promise<unknown>;
  /** Which questions, by key, the client no longer need answer. */
  readonly withdrawn: readonly string[];
}

const WAYS: Readonly<Record<string, Way>> = {
  "is answered elsewhere": { tool: "one", questions: 1, end: (given) => answerElsewhere(given, "one", ACCEPT), withdrawn: ["one"] },
  "is declined elsewhere": {
    tool: "one",
    questions: 1,
    end: (given) => answerElsewhere(given, "one", { action: "decline" }),
    withdrawn: ["one"],
  },
  "is one of two, of which the client declines the other": {
    tool: "two",
    questions: 2,
    end: ({ client, deployment, asks }) => client.reply(deployment.fronts[0]!, asks[1]!.id, { action: "decline" }),
    withdrawn: ["one"],
  },
  "belongs to a call that is cancelled": {
    tool: "two",
    questions: 2,
    end: ({ client, deployment: { fronts }, callId, taskId }) =>
      callId === undefined
        ? client.request(fronts[1]!, "tasks/cancel", { taskId })
        : client.post(fronts[1]!, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: callId } }),
    withdrawn: ["one", "two"],
  },
  "times out": {
    tool: "one",
    questions: 1,
    async end({ deployment: { skip, services } }) {
      skip(2 * MINUTE_MS);
      await sweep(services, { partition: 0 });
    },
    withdrawn: ["one"],
  },
  "lost a race": {
    tool: "race",
    questions: 2,
    end: ({ client, deployment, asks }) => client.reply(deployment.fronts[0]!, asks[1]!.id, ACCEPT),
    withdrawn: ["one"],
  },
};

describe.each(Object.entries(WAYS))("a question that %s", (_way, { tool, questions, end, withdrawn }) => {
  test.each(Object.entries(DIALECTS))("is withdrawn from a client of %s", async (dialect, open) => {
    const given = await open(tool, questions);
    await end(given);
    const ids = withdrawn.map((key) => given.asks.find(({ id }) => String(id).startsWith(`${given.taskId}:${key}:`))?.id);
    const cancelled: Event[] = [];
    while (cancelled.length < withdrawn.length) {
      const event = await given.stream.next();
      if (event.method === "notifications/cancelled") cancelled.push(event);
    }
    expect(new Set(cancelled.map(({ params }) => params?.["requestId"]))).toEqual(new Set(ids));
    const related = { "io.modelcontextprotocol/related-task": { taskId: given.taskId } };
    const _meta = dialect.includes("tasks") ? { _meta: related } : {};
    for (const { params } of cancelled)
      expect(params).toEqual({ requestId: expect.any(String), reason: expect.stringContaining("no longer open"), ..._meta });
    given.stream.close();
  });
});

describe("a question that the client has answered itself", () => {
  const doors = [
    { door: "the front end of the stream", front: 0 },
    { door: "another front end", front: 1 },
  ];
  const cases = Object.entries(DIALECTS).flatMap(([dialect, open]) => doors.map((each) => ({ dialect, open, ...each })));
  test.each(cases)("at $door is not withdrawn from a client of $dialect", async ({ open, front }) => {
    const { client, deployment, stream, asks, taskId } = await open("one", 1);
    await client.reply(deployment.fronts[front]!, asks[0]!.id, ACCEPT);
    await until(async () => (await deployment.services.store.load(taskId))?.status === "completed");
    await until(() => !deployment.services.wakeUps.isWatched(taskId));
    stream.close();
    expect(stream.text).not.toContain("notifications/cancelled");
  });

  test("with something invalid is asked again, and the first request is not withdrawn", async () => {
    const { client, deployment, stream, asks } = await DIALECTS["2025-11-25"]!("one", 1);
    await client.reply(deployment.fronts[0]!, asks[0]!.id, { action: "accept", content: { ok: 7 } });
    const again = await stream.next();
    expect(again).toMatchObject({ method: "elicitation/create", id: expect.stringContaining(":1:") });
    await client.reply(deployment.fronts[0]!, again.id, ACCEPT);
    await stream.ended();
    expect(stream.text).not.toContain("notifications/cancelled");
  });
});

test("a question that is answered elsewhere while the client's connection is cut is withdrawn on the resumed stream if it was still open then", async () => {
  const given = await DIALECTS["2025-11-25"]!("two", 2);
  const { client, deployment, stream } = given;
  stream.close();
  const resumed = await client.listen(deployment.fronts[1]!, stream.lastEventId);
  await until(() => deployment.fronts[1]!.waiting === 1);
  await answerElsewhere(given, "one", ACCEPT);
  expect(await resumed.next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: given.asks[0]!.id } });
  resumed.close();
});
