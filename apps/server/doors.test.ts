/** Every kind of question, for every client by what it declares: what the client is shown. docs/dialects.md has the same table. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogue, defineTool } from "@parley/sdk";
import { expect, test } from "vitest";
import { z } from "zod";
import { type Message, rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import type { Authenticate } from "./front-end/caller.ts";
import { type EventStream, openSession } from "./session-client.fixture.ts";

const schema = z.object({ n: z.number() });
const done = (_answer: unknown) => "done";

/** A question to the caller by a form, by a page (as for secrets, files and access), and one to others. */
const KINDS = ["form", "page", "others"] as const;
/** The tasks of calls that were not refused. */
const begun = new Set<string>();
/** The first two say that they need it of their client, or not. */
const asking = (isSaid: boolean) =>
  catalogue([
    defineTool({
      name: "form",
      ...(isSaid && { needs: { elicitation: { form: true, url: false } } }),
      async run(_args, ctx) {
        begun.add(ctx.taskId);
        return done(await ctx.elicit("n", { message: "How many?", schema }));
      },
    }),
    defineTool({
      name: "page",
      ...(isSaid && { needs: { elicitation: { form: false, url: true } } }),
      async run(_args, ctx) {
        begun.add(ctx.taskId);
        return done(await ctx.secret("key", { message: "The key?" }));
      },
    }),
    defineTool({
      name: "others",
      run: async (_args, ctx) => done(await ctx.elicit("n", { message: "How many?", schema, to: { groups: ["finance"] }, not: "caller" })),
    }),
  ]);

const UI = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } };
const DECLARED: { readonly [declared: string]: object } = {
  nothing: {},
  forms: { elicitation: { form: {} } },
  pages: { elicitation: { url: {} } },
  "forms and pages": { elicitation: { form: {}, url: {} } },
  views: UI,
  "forms and views": { elicitation: { form: {} }, ...UI },
};

const loggedIn: Authenticate = () => callerNamed("ann", { authenticatedBy: "oidc" });
/** How long a call is held. A client that is asked nothing in half of that waits: a busy machine asks sooner. */
const HELD_MS = 4_000;

/** The first message that is no notification. An answer that comes at once is no stream. */
async function firstOf(call: EventStream): Promise<Message> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const message = await call.next().catch(() => JSON.parse(call.text) as Message);
    if (message.id !== undefined) return message;
  }
}

type Call = (front: Front, name: string, capabilities: object) => Promise<string>;

/** What a result or a question is, in the words of the table. */
function shown({ method, params, result, error }: Pick<Message, "method" | "params" | "result" | "error">): string {
  if (method === "elicitation/create") return params?.["mode"] === "url" ? "page" : "form";
  const { inputRequests, requestState, content } = (result ?? {}) as {
    inputRequests?: Record<string, Message>;
    requestState?: string;
    content?: readonly { text: string }[];
  };
  const [first] = Object.values(inputRequests ?? {});
  if (first) return shown(first);
  if (requestState !== undefined) return "waits";
  const text = error?.message ?? content?.[0]?.text ?? "";
  if (text.startsWith("NOT FINISHED: ")) return "words";
  return /from a client that declares the capability|, and this client did not declare/.test(text) ? "error" : `unknown: ${text}`;
}

const CALLS: { readonly [client: string]: Call } = {
  "2026-07-28": async (front, name, capabilities) =>
    shown(await rpc(front, "tools/call", { name, arguments: {} }, { tasks: false, capabilities })),
  "2026-07-28, tasks": async (front, name, capabilities) => {
    const extensions = { ...(capabilities as { extensions?: object }).extensions, "io.modelcontextprotocol/tasks": {} };
    const options = { tasks: false, capabilities: { ...capabilities, extensions } };
    const called = await rpc(front, "tools/call", { name, arguments: {} }, options);
    if (called.error) return shown(called);
    const taskId = String(called.result?.["taskId"]);
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until it asks
      const { result: task } = await rpc(front, "tasks/get", { taskId }, options);
      const [asked] = Object.values((task?.["inputRequests"] ?? {}) as Record<string, Message>);
      if (asked) return shown(asked);
      if (task?.["status"] === "completed") return shown({ result: task["result"]! });
      const message = String(task?.["statusMessage"] ?? "");
      if (message.startsWith("Waiting for an answer")) return message.includes("This client cannot ask it: answer ") ? "status" : "waits";
    }
  },
  "2025-11-25": async (front, name, capabilities) => {
    const client = await openSession(front, { capabilities });
    const call = await client.stream(front, "tools/call", { name, arguments: {} });
    const waits = new Promise<string>((resolve) => setTimeout(resolve, HELD_MS / 2, "waits"));
    const seen = await Promise.race([firstOf(call).then(shown), waits]);
    call.close();
    return seen;
  },
};

interface Asked extends Pick<Deploy, "settings" | "ladder"> {
  readonly kinds?: readonly string[];
  readonly isSaid?: boolean;
}

async function table({ kinds = KINDS, isSaid = true, ...deployment }: Asked = {}): Promise<string> {
  const { fronts } = await deploy({
    catalogue: asking(isSaid),
    fronts: 1,
    authenticate: loggedIn,
    ...deployment,
    times: { callTimeoutMs: HELD_MS },
  });
  const clients = Object.keys(CALLS);
  const cells = await Promise.all(
    Object.entries(DECLARED).map(async ([declared, capabilities]) => {
      const rows = await Promise.all(
        kinds.map(async (kind) => {
          const outcomes = await Promise.all(clients.map((client) => CALLS[client]!(fronts[0]!, kind, capabilities)));
          return `| ${declared} | ${kind} | ${outcomes.join(" | ")} |`;
        }),
      );
      return rows.join("\n");
    }),
  );
  return [`| declares | asked | ${clients.join(" | ")} |`, `|---|---|${clients.map(() => "---|").join("")}`, ...cells].join("\n");
}

test("where a deployment forbids to ask during the call, every client is told in words", async () => {
  const found = await table({ ladder: { rungs: new Set(["task", "apps", "text"]) } });
  expect(found).not.toMatch(/error|unknown/);
  expect(found).toContain("| forms | page | words | status | words |");
  expect(found).toContain("| pages | form | words | page | words |");
});

const OF_CALLER = { kinds: ["form", "page"] };

test.each<[string, Asked, readonly string[]]>([
  [
    "text is forbidden",
    { ladder: { rungs: new Set(["task", "input_required", "held", "apps"]) } },
    [
      "| nothing | form | error | status | error |",
      "| nothing | page | error | status | error |",
      "| forms | page | error | status | error |",
      "| forms and views | page | error | status | error |",
    ],
  ],
  [
    "what its client cannot show ends",
    { settings: { taskWithoutCapability: "end" } },
    [
      "| nothing | form | error | error | error |",
      "| nothing | page | error | error | error |",
      "| forms | page | error | error | error |",
      "| views | form | error | error | error |",
      "| views | page | error | error | error |",
      "| forms and views | page | error | error | error |",
    ],
  ],
  [
    "only handles are allowed",
    { ladder: { rungs: new Set(["task"]) } },
    [
      "| nothing | form | error | status | error |",
      "| nothing | page | error | status | error |",
      "| forms | form | error | form | error |",
      "| forms | page | error | status | error |",
      "| pages | form | error | page | error |",
      "| pages | page | error | page | error |",
      "| forms and pages | form | error | form | error |",
      "| forms and pages | page | error | page | error |",
      "| views | form | error | status | error |",
      "| views | page | error | status | error |",
      "| forms and views | form | error | form | error |",
      "| forms and views | page | error | status | error |",
    ],
  ],
  [
    "asking during the call is forbidden, and what its client cannot be asked ends",
    { ladder: { rungs: new Set(["task", "apps", "text"]) }, settings: { taskWithoutCapability: "end" } },
    [
      "| nothing | form | error | error | error |",
      "| nothing | page | error | error | error |",
      "| forms | form | error | form | error |",
      "| forms | page | error | error | error |",
      "| pages | form | error | page | error |",
      "| pages | page | error | page | error |",
      "| forms and pages | form | error | form | error |",
      "| forms and pages | page | error | page | error |",
      "| views | form | error | error | error |",
      "| views | page | error | error | error |",
      "| forms and views | form | error | form | error |",
      "| forms and views | page | error | error | error |",
    ],
  ],
])(
  "where %s, a tool that says what it needs is refused to exactly those whom it could not ask that",
  async (_what, deployment, refused) => {
    const errors = async (asked: Asked) => (await table(asked)).split("\n").filter((row) => row.includes("error"));
    expect(await errors({ ...OF_CALLER, ...deployment, isSaid: false })).toEqual(refused);
    begun.clear();
    expect(await errors({ ...OF_CALLER, ...deployment })).toEqual(refused);
    // Before anything has begun.
    const calls = Object.keys(DECLARED).length * OF_CALLER.kinds.length * Object.keys(CALLS).length;
    expect(calls - begun.size).toBe(refused.join().split(" error ").length - 1);
  },
);

test("what each client is shown of each question is what docs/dialects.md says", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/dialects.md"), "utf8");
  const found = await table();
  expect(page.includes(found), found).toBe(true);
});
