/**
 * Another Parley behind the gateway: what it tells clients in words is for clients of its own, and must not come through as the result of a tool. Every
 * kind of question, through every way to reach that Parley, to every client by what it declares.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Message, rpc } from "../../apps/server/client.fixture.ts";
import type { Front } from "../../apps/server/deployment.fixture.ts";
import { openSession } from "../../apps/server/session-client.fixture.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { type Issuer, startIssuer } from "../support/issuer.ts";
import { until } from "../support/until.ts";
import { writeUpstreams } from "../support/upstream.ts";

const TOOLS = [join(import.meta.dirname, "tools/every-kind.ts")];

/** By name: an upstream with tasks, and one that asks during the call. */
const UPSTREAMS = ["newest", "sessions", "newestcalls", "sessioncalls"] as const;
const KINDS = ["form", "page", "model", "folders"] as const;
const DECLARED = {
  nothing: {},
  forms: { elicitation: { form: {} } },
  pages: { elicitation: { url: {} } },
  "forms and pages": { elicitation: { form: {}, url: {} } },
} as const;

const PUBLIC_URL = "https://upstream.example";

let directory: string;
let issuer: Issuer;
/** With which the gateway calls: of a machine, and of the person who calls, as after `oauth`. */
const credentials: Record<"KEY" | "TOKEN", string> = { KEY: "", TOKEN: "" };
let upstream: Deployment;
let withoutTasks: Deployment;
let gateway: Deployment;
/** In front of the other. */
let outer: Deployment;
let front: Front;
let outerFront: Front;

async function keyOf({ redis }: Deployment): Promise<string> {
  const env = { PATH: process.env["PATH"], REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix };
  const create = ["apps/cli/main.ts", "keys", "create", "gateway", "--scopes", "tools,tasks,asks", "--expires", "1d"];
  return (await promisify(execFile)(process.execPath, create, { env })).stdout.trimEnd();
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-behind-"));
  issuer = await startIssuer({ audience: `${PUBLIC_URL}/mcp` });
  const env = {
    PARLEY_AUTH: "required",
    PARLEY_AUTH_ISSUERS: issuer.url,
    PARLEY_AUTH_GROUPS_CLAIM: "groups",
    PARLEY_AUTH_API_KEYS: "true",
    PARLEY_PUBLIC_URL: PUBLIC_URL,
    // Each call of the gateway is a session of the same caller here.
    PARLEY_QUOTA_SESSIONS: "100",
  };
  [upstream, withoutTasks] = await Promise.all([
    startDeployment({ frontEnds: 2, workers: 1, tools: TOOLS, env }),
    startDeployment({ frontEnds: 2, workers: 1, tools: TOOLS, env: { ...env, PARLEY_RUNGS: "input_required,held,apps,text" } }),
  ]);
  const [key, other] = await Promise.all([keyOf(upstream), keyOf(withoutTasks)]);
  Object.assign(credentials, { KEY: key, TOKEN: await issuer.token({ sub: "ann", scope: "tools tasks asks" }) });
  const of = (name: string) => ({ authorization: `Bearer \${${name}}` });
  const file = await writeUpstreams(directory, [
    { name: "newest", url: upstream.url, revisions: "newest", headers: of("KEY") },
    { name: "sessions", url: upstream.url, revisions: "sessions", headers: of("KEY") },
    // Less time than the people take below.
    { name: "newestcalls", url: withoutTasks.url, revisions: "newest", headers: of("OTHER_KEY"), callTimeout: "2s" },
    { name: "sessioncalls", url: withoutTasks.url, revisions: "sessions", headers: of("OTHER_KEY"), callTimeout: "2s" },
    { name: "brief", url: upstream.url, headers: of("KEY"), callTimeout: "2s" },
    { name: "personal", url: upstream.url, headers: of("TOKEN"), callTimeout: "2s" },
  ]);
  gateway = await startDeployment({
    frontEnds: 2,
    workers: 2,
    env: { PARLEY_UPSTREAMS: file },
    frontEndEnv: { PARLEY_CALL_TIMEOUT: "8s" },
    workerEnv: { ...credentials, OTHER_KEY: other },
  });
  front = { url: gateway.url } as Front;
  await until(async () => {
    const { result } = await rpc(front, "tools/list", {}, { tasks: false, capabilities: {} });
    const names = JSON.stringify(result);
    return [...UPSTREAMS, "brief", "personal"].every((name) => names.includes(`"${name}_form"`));
  });
  const ofOuter = await writeUpstreams(await mkdtemp(join(directory, "outer-")), [{ name: "inner", url: gateway.url, callTimeout: "2s" }]);
  outer = await startDeployment({
    frontEnds: 1,
    workers: 1,
    env: { PARLEY_UPSTREAMS: ofOuter },
    frontEndEnv: { PARLEY_CALL_TIMEOUT: "8s" },
  });
  outerFront = { url: outer.url } as Front;
  await until(async () => {
    const { result } = await rpc(outerFront, "tools/list", {}, { tasks: false, capabilities: {} });
    return JSON.stringify(result).includes('"inner_brief_others"');
  });
});

afterAll(async () => {
  await outer?.close();
  await gateway?.close();
  await Promise.all([upstream?.close(), withoutTasks?.close(), issuer?.close()]);
  await rm(directory, { recursive: true });
});

const textIn = (result: Message["result"]) => (result as { content?: readonly { text: string }[] } | undefined)?.content?.[0]?.text;

interface Seen {
  /** `form`, `page`, `words`, `words of the upstream`, `nobody`, or the text of the result. */
  readonly shown: string;
  readonly text: string;
}

function seenIn(name: string, { method, params, result, error }: Message): Seen {
  const text = textIn(result) ?? error?.message ?? "";
  if (method === "elicitation/create") return { shown: params?.["mode"] === "url" ? "page" : "form", text };
  const { inputRequests } = (result ?? {}) as { inputRequests?: Record<string, Message> };
  const [first] = Object.values(inputRequests ?? {});
  if (first) return seenIn(name, first);
  // The words of the upstream would name its own tool, without the prefix.
  if (text.startsWith("NOT FINISHED: "))
    return { shown: text.startsWith(`NOT FINISHED: ${name} `) ? "words" : "words of the upstream", text };
  return { shown: text === "not answered" || text.includes("did not declare") ? "nobody" : text, text };
}

const CALLS: { readonly [client: string]: (name: string, capabilities: object) => Promise<Seen> } = {
  "2026-07-28": async (name, capabilities) =>
    seenIn(name, await rpc(front, "tools/call", { name, arguments: {} }, { tasks: false, capabilities })),
  "2025-11-25": async (name, capabilities) => {
    const client = await openSession(front, { capabilities });
    const call = await client.stream(front, "tools/call", { name, arguments: {} });
    const first = async (): Promise<Message> => {
      for (;;) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const message = await call.next().catch(() => JSON.parse(call.text) as Message);
        if (message.id !== undefined) return message;
      }
    };
    const seen = seenIn(name, await first());
    call.close();
    return seen;
  },
};

/** What is shown of each kind: the same as without a gateway (docs/dialects.md). Nobody has declared a model or folders. */
const EXPECTED: { readonly [declared in keyof typeof DECLARED]: readonly string[] } = {
  nothing: ["words", "words", "nobody", "nobody"],
  forms: ["form", "words", "nobody", "nobody"],
  pages: ["page", "page", "nobody", "nobody"],
  "forms and pages": ["form", "page", "nobody", "nobody"],
};

describe.each(UPSTREAMS)("through %s", (name) => {
  test.each(Object.keys(DECLARED) as (keyof typeof DECLARED)[])(
    "a client that declares %s is told by the gateway alone",
    async (declared) => {
      for (const [client, call] of Object.entries(CALLS)) {
        const seen = await Promise.all(KINDS.map(async (kind) => await call(`${name}_${kind}`, DECLARED[declared])));
        expect(
          seen.map(({ shown }) => shown),
          client,
        ).toEqual(EXPECTED[declared]);
        const told = seen.find(({ shown }) => shown === "words");
        if (!told) continue;
        const [, taskId = ""] = /taskId "([^"]+)"/.exec(told.text) ?? [];
        const [, key = ""] = /\/asks\/[^/\s]+\/([^?\s]+)/.exec(told.text) ?? [];
        const poll = rpc(front, "tools/call", { name: "parley_task", arguments: { taskId, seen: 99 } }, { tasks: false, capabilities: {} });
        const declined = await fetch(new URL(`/api/v1/asks/${taskId}/${key}`, gateway.url), {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ action: "decline" }),
        });
        expect(declined.status).toBe(200);
        expect(textIn((await poll).result)).toBe("not answered");
      }
    },
  );
});

/** What a person of finance finds in the upstream's inbox, and answers there. */
async function asPerson({ url }: Deployment, claims: object) {
  const headers = {
    authorization: `Bearer ${await issuer.token({ scope: "tools tasks asks", ...claims })}`,
    "content-type": "application/json",
  };
  const found = async () => {
    const { asks } = (await (await fetch(new URL("/api/v1/asks", url), { headers })).json()) as {
      asks: { taskId: string; key: string }[];
    };
    return asks;
  };
  const answer = async ({ taskId, key }: { taskId: string; key: string }) =>
    (
      await fetch(new URL(`/api/v1/asks/${taskId}/${key}`, url), {
        method: "POST",
        headers,
        body: JSON.stringify({ action: "accept", content: { n: 4 } }),
      })
    ).status;
  return { found, answer };
}

describe("a question that the gateway cannot be asked", () => {
  const call = async (name: string, capabilities: object, tasks = false) =>
    await rpc(front, "tools/call", { name, arguments: {} }, { tasks, capabilities });
  const poll = async (taskId: string, seen?: number, at = front) =>
    textIn(
      (await rpc(at, "tools/call", { name: "parley_task", arguments: { taskId, seen } }, { tasks: false, capabilities: {} })).result,
    ) ?? "";

  test("is found and answered at the upstream by whom it is put to, and the caller has the result", async () => {
    const ways = ["brief", "personal", "newestcalls", "sessioncalls"];
    const people = await Promise.all(
      [upstream, withoutTasks].map(async (at) => ({
        bob: await asPerson(at, { sub: "bob", name: "Bob", groups: ["finance"] }),
        eve: await asPerson(at, { sub: "eve", name: "Eve", groups: ["sales"] }),
      })),
    );
    const texts = await Promise.all(ways.map(async (name) => textIn((await call(`${name}_others`, {})).result) ?? ""));
    // By then longer than they may work.
    for (const [index, name] of ways.entries())
      expect(texts[index]).toMatch(new RegExp(`^NOT FINISHED: ${name}_others is still working\\.`));
    const ids = texts.map((text) => /taskId "([^"]+)"/.exec(text)?.[1] ?? "");
    const open = await Promise.all(ids.map(async (taskId) => await poll(taskId)));
    const says = 'Waiting for an answer to "How many?" from group finance, but not from the caller.';
    expect(open.map((text) => text.includes(says))).toEqual([true, true, true, true]);
    for (const { bob, eve } of people) {
      const found = await bob.found();
      expect(found).toHaveLength(2);
      expect(await eve.found()).toEqual([]);
      for (const asked of found) {
        expect(await eve.answer(asked)).not.toBe(200);
        expect(await bob.answer(asked)).toBe(200);
      }
    }
    const ends = ids.map((taskId) =>
      until(async () => {
        const said = await poll(taskId, 99);
        return !said.startsWith("NOT FINISHED") && said;
      }),
    );
    expect(await Promise.all(ends)).toEqual(ways.map(() => "answered by Bob"));
  });

  test("is waited for by each gateway of a chain, longer than a call may work there, and ends in the caller's task", async () => {
    const { result } = await rpc(
      outerFront,
      "tools/call",
      { name: "inner_brief_others", arguments: {} },
      { tasks: false, capabilities: {} },
    );
    const [, taskId = ""] = /taskId "([^"]+)"/.exec(textIn(result) ?? "") ?? [];
    const says =
      'Status: Waiting for people at inner: Waiting for people at brief: Waiting for an answer to "How many?" from group finance';
    await until(async () => (await poll(taskId, undefined, outerFront)).includes(says));
    const bob = await asPerson(upstream, { sub: "bob", name: "Bob", groups: ["finance"] });
    // Three times `callTimeout` of both.
    await sleep(6_000);
    expect(await poll(taskId, undefined, outerFront)).toMatch(/^NOT FINISHED/);
    const found = await bob.found();
    expect(await Promise.all(found.map((asked) => bob.answer(asked)))).toEqual(found.map(() => 200));
    const end = await until(async () => {
      const said = await poll(taskId, 99, outerFront);
      return !said.startsWith("NOT FINISHED") && said;
    });
    expect(end).toBe("answered by Bob");
  });

  test("is named by the status of the caller's task, with the page where the person logs in, and ends with that task", async () => {
    const { result } = await call("personal_login", {}, true);
    const taskId = String(result?.["taskId"]);
    const get = async () => (await rpc(front, "tasks/get", { taskId }, { capabilities: {} })).result!;
    const said = await until(async () => (await get())["statusMessage"]);
    const [, page = ""] = /answer on the page (\S+), after logging in there/.exec(String(said)) ?? [];
    expect(page).toMatch(new RegExp(`^${PUBLIC_URL}/asks/[^/]+/n$`));
    const ann = await asPerson(upstream, { sub: "ann" });
    const [, of = ""] = /asks\/([^/]+)\//.exec(page) ?? [];
    // The token with which the gateway calls is no login.
    expect(await ann.answer({ taskId: of, key: "n" })).toBe(403);
    await rpc(front, "tasks/cancel", { taskId }, { capabilities: {} });
    await until(async () => !(await ann.found()).some((ask) => ask.taskId === of));
  });

  test("leaks no credential of the gateway", () => {
    const logs = JSON.stringify(
      [...gateway.frontEnds, ...gateway.workers, ...upstream.frontEnds, ...upstream.workers].map((each) => each.logs),
    );
    for (const secret of Object.values(credentials)) expect(logs).not.toContain(secret.slice(20));
  });
});
