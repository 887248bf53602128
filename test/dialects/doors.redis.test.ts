/**
 * The oracle of dialects for people who answer elsewhere than in the client that called: whatever door somebody answers through, what is stored at the end
 * is what every other door leaves there. Two front ends, one Redis; the person is asked at one front end and answers at the other.
 */
import { catalogue, defineTool } from "@parley/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { answer as answerAtTerminal } from "../../apps/cli/answer/run.ts";
import { apiClient } from "../../apps/cli/client/api-client.ts";
import { mcpClient } from "../../apps/cli/client/mcp-client.ts";
import { rpc } from "../../apps/server/client.fixture.ts";
import { callerNamed, closedLater, deploy, type Front } from "../../apps/server/deployment.fixture.ts";
import { type OpenRedis, openRedis } from "../contract/open-redis.ts";
import { until } from "../support/until.ts";

type Reply = { readonly action: "accept" | "decline" | "cancel"; readonly content?: Readonly<Record<string, string | boolean>> };

const to = { groups: ["finance"] };
const TOOLS = [
  defineTool({
    name: "form",
    run: async (_args, ctx) =>
      JSON.stringify(await ctx.ask("it", { message: "Who are you?", schema: z.object({ name: z.string().min(2) }), to })),
  }),
  defineTool({ name: "yes_or_no", run: async (_args, ctx) => JSON.stringify(await ctx.confirm("it", { message: "Pay?", to })) }),
  // As a call that a rule stops.
  defineTool({
    name: "approval",
    run: async (_args, ctx) => JSON.stringify(await ctx.ask("it", { message: "May it?", schema: z.object({}), to })),
  }),
  defineTool({
    name: "page",
    run: async (_args, ctx) => JSON.stringify(await ctx.ask("it", { message: "Look.", url: "https://example.com/there", to })),
  }),
];

/** By kind of question: what is accepted, what does not fit it, and what a colleague answers before. */
const KINDS = {
  form: {
    accept: { action: "accept", content: { name: "Ann" } },
    invalid: { action: "accept", content: { name: "A" } },
    before: { action: "accept", content: { name: "Carol" } },
  },
  yes_or_no: {
    accept: { action: "accept", content: { value: true } },
    invalid: { action: "accept", content: { value: "perhaps" } },
    before: { action: "accept", content: { value: false } },
  },
  approval: {
    accept: { action: "accept", content: {} },
    // Members that no field has are passed over, here and in the next one.
    invalid: undefined,
    before: { action: "decline" },
  },
  page: {
    accept: { action: "accept" },
    invalid: undefined,
    before: { action: "decline" },
  },
} satisfies Record<string, Readonly<Record<"accept" | "before", Reply> & { readonly invalid: Reply | undefined }>>;
type Kind = keyof typeof KINDS;

const CASES = ["accept", "decline", "cancel", "invalid", "late", "not allowed"] as const;
type Case = (typeof CASES)[number];

interface Door {
  readonly name: string;
  /** What it has no means for, and why. */
  cannot?(kind: Kind, of: Case): string | undefined;
  /** The person opens the question. Returns what answers it, and whether the answer was taken. */
  open(front: Front, who: string, taskId: string): Promise<(reply: Reply) => Promise<boolean>>;
}

const send = (front: Front, who: string, path: string, init: RequestInit = {}) =>
  fetch(new URL(path, front.url), { ...init, headers: { "x-principal": who, ...(init.headers as object) }, redirect: "manual" });
const sendJson = (front: Front, who: string, path: string, body: object) =>
  send(front, who, path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** What a browser would send of the form that is shown for the question. Undefined if none is. */
async function formOn(front: Front, who: string, path: string) {
  const response = await send(front, who, path);
  const text = await response.text();
  const [, attributes = "", form] = /<form (?=[^>]*question)([^>]*)>([^]*?)<\/form>/.exec(text) ?? [];
  if (form === undefined) return undefined;
  const action = (/action="([^"]*)"/.exec(attributes)?.[1] ?? response.url).replaceAll("&amp;", "&");
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
    ([, name = "", value = ""]): [string, string] => [name, value],
  );
  const buttons = [...form.matchAll(/name="action" value="(\w+)"/g)].map(([, value = ""]) => value);
  return { action: new URL(action, response.url), hidden, buttons };
}

/** `cancel` is no button of a page, and what a page cannot bring about need not be refused there. */
const ofPages = (kind: Kind, of: Case) => {
  if (of === "cancel") return "a page that is left is not answered, and has no button that says more";
  if (of === "decline" && kind === "yes_or_no") return "its No is an answer";
  return of === "invalid" && kind !== "form" ? "its buttons have no other values" : undefined;
};

const onPage = (path: (taskId: string) => string): Door["open"] =>
  async function open(front, who, taskId) {
    const form = await formOn(front, who, path(taskId));
    return async ({ action, content = {} }) => {
      if (!form) return false;
      const [yes = "", no = ""] = form.buttons;
      const isYes = action === "accept" && content["value"] !== false;
      const body = new URLSearchParams(form.hidden);
      body.set("action", isYes ? yes : no);
      if (content["name"] !== undefined) body.set("f0", String(content["name"]));
      const response = await send(front, who, form.action.pathname + form.action.search, {
        method: "POST",
        headers: { origin: new URL(front.url).origin },
        body,
      });
      const text = await response.text();
      return (response.status === 200 || response.status === 303) && !/0 of 1 answer/.test(text);
    };
  };

const DOORS: readonly Door[] = [
  {
    name: "MCP 2026-07-28",
    open: async (front, who, taskId) => async (reply) => {
      const { result } = await rpc(front, "tasks/update", { taskId, inputResponses: { it: reply } }, { principal: who });
      return (result?.["_meta"] as Record<string, Record<string, string>> | undefined)?.["parley/receipts"]?.["it"] === "accepted";
    },
  },
  {
    name: "API",
    open: async (front, who, taskId) => async (reply) => (await sendJson(front, who, `/api/v1/asks/${taskId}/it`, reply)).status === 200,
  },
  {
    name: "API, several at once",
    open: async (front, who, taskId) => async (reply) => {
      const response = await sendJson(front, who, "/api/v1/asks/batch", { answers: [{ taskId, key: "it", ...reply }] });
      return ((await response.json()) as { receipts: { receipt: string }[] }).receipts[0]?.receipt === "accepted";
    },
  },
  { name: "page of the question", cannot: ofPages, open: onPage((taskId) => `/asks/${taskId}/it`) },
  { name: "inbox", cannot: ofPages, open: onPage((taskId) => `/inbox?ask=${taskId}/it`) },
  {
    name: "inbox, several at once",
    cannot: (kind, of) => (kind === "page" ? "a page to visit is looked at by itself" : ofPages(kind, of)),
    open: onPage((taskId) => `/inbox?batch=${taskId}/it`),
  },
  {
    name: "command line",
    open: async (front, who, taskId) => async (reply) => {
      const remote = { url: async () => front.url, lost: () => undefined, token: async () => who };
      const server = { ...mcpClient(remote), api: apiClient(remote), url: front.url, isOwn: false };
      const { action, content } = reply;
      const given = action === "accept" ? (content ? { content: JSON.stringify(content) } : { accept: true }) : { [action]: true };
      try {
        await answerAtTerminal(server, taskId, "it", { json: true, ...given });
        return true;
      } catch {
        return false;
      } finally {
        await server.close();
      }
    },
  },
];

const GROUPS: Readonly<Record<string, readonly string[]>> = { bob: ["finance"], carol: ["finance"] };
const authenticate = ({ headers }: { headers: Readonly<Record<string, string | string[] | undefined>> }) => {
  const name = String(headers["x-principal"] ?? headers["authorization"]?.slice("Bearer ".length) ?? "nobody");
  return callerNamed(name, { names: [name], groups: GROUPS[name] ?? [] });
};

let redis: OpenRedis;
let fronts: readonly Front[];
const { atEnd, close } = closedLater();

beforeAll(async () => {
  redis = await openRedis({ partitions: 1 });
  ({ fronts } = await deploy({
    catalogue: catalogue(TOOLS),
    stored: redis,
    authenticate,
    visitors: { authenticate, ticket: undefined },
    atEnd,
  }));
});
afterAll(async () => {
  await close();
  await redis.close();
});
// The command line prints.
afterEach(() => vi.restoreAllMocks());

interface End {
  readonly isTaken: boolean;
  readonly status: string | undefined;
  readonly outcome: unknown;
  /** How it ended, who answered, what, and what is in the history. */
  readonly record: {
    readonly state: string;
    readonly end?: string;
    readonly by?: string;
    readonly answer?: object;
    readonly history: readonly string[];
  };
}

/** Plays one case through one door. */
async function play(door: Door, kind: Kind, of: Case): Promise<End> {
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const [here, there] = fronts as [Front, Front];
  const created = await rpc(here, "tools/call", { name: kind, arguments: {} }, { principal: "ann" });
  const taskId = String(created.result?.["taskId"]);
  const load = () => redis.store.load(taskId);
  await until(async () => (await load())?.asks.length === 1);
  const { accept, invalid = accept, before } = KINDS[kind];
  const given = {
    accept,
    decline: { action: "decline" },
    cancel: { action: "cancel" },
    invalid,
    late: accept,
    "not allowed": accept,
  } as const;
  const answer = await door.open(there, of === "not allowed" ? "eve" : "bob", taskId);
  const isOver = () => until(async () => (await load())?.status === "completed");
  if (of === "late") {
    expect((await sendJson(here, "carol", `/api/v1/asks/${taskId}/it`, before)).status).toBe(200);
    await isOver();
  }
  const isTaken = await answer(given[of]);
  if (isTaken) await isOver();
  const task = await load();
  const {
    state,
    end,
    by,
    answer: answered,
    history,
  } = (await (await send(here, "bob", `/api/v1/asks/${taskId}/it`)).json()) as {
    readonly by?: { readonly principal: string };
    readonly history: readonly { readonly what: string }[];
  } & Omit<End["record"], "by" | "history">;
  if (task?.status === "input_required") await rpc(here, "tasks/cancel", { taskId }, { principal: "ann" });
  const settled = state === "settled" && { end, by: by?.principal, answer: answered };
  return {
    isTaken,
    status: task?.status,
    outcome: task?.outcome,
    record: { state, ...settled, history: history.map(({ what }) => what) } as End["record"],
  };
}

const ENDS = { accept: "accepted", decline: "declined", cancel: "cancelled" } as const;

/** Whatever the door. What the tool made of it is compared between doors. */
function expected(kind: Kind, of: Case): End {
  const { accept, before } = KINDS[kind];
  if (of === "invalid" || of === "not allowed")
    return { isTaken: false, status: "input_required", outcome: undefined, record: { state: "open", history: ["asked"] } };
  const answer: Reply = of === "accept" ? accept : of === "late" ? before : { action: of };
  const end = ENDS[answer.action];
  // Who came second is not told what the first one answered.
  const record = { state: "settled", end, ...(of === "late" ? { by: "carol" } : { by: "bob", answer }), history: [end] };
  return { isTaken: of !== "late", status: "completed", outcome: expect.anything(), record };
}

describe.each(Object.keys(KINDS) as Kind[])("a question of the kind %s", (kind) => {
  test.each(CASES.filter((of) => of !== "invalid" || KINDS[kind].invalid !== undefined))(
    "%s, through every door: equal ends",
    async (of) => {
      const able = DOORS.filter(({ cannot }) => cannot?.(kind, of) === undefined);
      const ends: Record<string, End> = {};
      for (const door of able) ends[door.name] = await play(door, kind, of);
      expect(ends).toEqual(Object.fromEntries(able.map(({ name }) => [name, expected(kind, of)])));
      // What the tool made of it is the same as well.
      expect(new Set(Object.values(ends).map((each) => JSON.stringify(each.outcome))).size).toBe(1);
    },
  );
});
