/**
 * Another Parley behind the gateway: what it tells clients in words is for clients of its own, and must not come through as the result of a tool. Every
 * kind of question, through every way to reach that Parley, to every client by what it declares.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Message, rpc } from "../../apps/server/client.fixture.ts";
import type { Front } from "../../apps/server/deployment.fixture.ts";
import { openSession } from "../../apps/server/session-client.fixture.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";
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

let directory: string;
let upstream: Deployment;
let withoutTasks: Deployment;
let gateway: Deployment;
let front: Front;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-behind-"));
  [upstream, withoutTasks] = await Promise.all([
    startDeployment({ frontEnds: 2, workers: 1, tools: TOOLS }),
    startDeployment({ frontEnds: 2, workers: 1, tools: TOOLS, env: { PARLEY_RUNGS: "input_required,held,apps,text" } }),
  ]);
  const file = await writeUpstreams(directory, [
    { name: "newest", url: upstream.url, revisions: "newest" },
    { name: "sessions", url: upstream.url, revisions: "sessions" },
    { name: "newestcalls", url: withoutTasks.url, revisions: "newest" },
    { name: "sessioncalls", url: withoutTasks.url, revisions: "sessions" },
  ]);
  gateway = await startDeployment({ frontEnds: 2, workers: 2, env: { PARLEY_UPSTREAMS: file } });
  front = { url: gateway.url } as Front;
  await until(async () => {
    const { result } = await rpc(front, "tools/list", {}, { tasks: false, capabilities: {} });
    const names = JSON.stringify(result);
    return UPSTREAMS.every((name) => names.includes(`"${name}_form"`));
  });
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all([upstream?.close(), withoutTasks?.close()]);
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
