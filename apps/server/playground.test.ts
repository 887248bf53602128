/**
 * The routes besides MCP: the page at /, the playground's own route, and who may read them. test/e2e/playground.e2e.test.ts tests the
 * playground's page.
 */
import { ParleyError, type Rates } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { post, rpc } from "./client.fixture.ts";
import { SERVER_SETTINGS, serverConfig } from "./config.ts";
import { callerNamed, deploy, type Deploy, type Front } from "./deployment.fixture.ts";

const SECRET = "the secret of the owner";

const tools = catalogue([
  defineTool({
    name: "book",
    input: z.object({ note: z.string() }),
    async run({ note }, ctx) {
      await ctx.step("hold", () => note);
      ctx.log("info", "held");
      const { size } = await ctx.elicit("size", {
        message: "For how many?",
        schema: z.object({ size: z.int() }),
        timeout: "2 days",
        to: { groups: ["finance"] },
      });
      return `booked for ${size}`;
    },
  }),
  defineTool({ name: "through", run: (_args, ctx) => ctx.call("ask", {}, { key: "mine" }).then(String) }),
  defineTool({
    name: "ask",
    async run(_args, ctx) {
      await ctx.elicit("mine", { message: "Yours?", schema: z.object({ ok: z.boolean() }), timeout: "1 hour", onTimeout: "decline" });
      return "done";
    },
  }),
  defineTool({
    name: "chatter",
    input: z.object({ lines: z.int() }),
    run({ lines }, ctx) {
      for (let line = 0; line < lines; line += 1) ctx.log("info", line);
      return "said";
    },
  }),
]);

const PEOPLE = {
  owner: callerNamed("ada", { tenant: "acme" }),
  asked: callerNamed("eve", { tenant: "acme", groups: ["finance"] }),
  colleague: callerNamed("sam", { tenant: "acme" }),
  stranger: callerNamed("ada", { tenant: "umbrella" }),
};

async function playground(request: Partial<Deploy> = {}) {
  const { fronts, services } = await deploy({
    catalogue: tools,
    fronts: 1,
    playground: true,
    authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"]) as keyof typeof PEOPLE] ?? callerNamed("nobody"),
    ...request,
  });
  const front = fronts[0] as Front;
  const origin = new URL(front.url).origin;
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${origin}${path}`, { headers, redirect: "manual" });
  const timeline = async (taskId: string, who: keyof typeof PEOPLE, query = "") => {
    const response = await get(`/play/api/tasks/${taskId}/timeline${query}`, { "x-principal": who });
    return { status: response.status, body: (await response.json()) as Timeline, headers: response.headers };
  };
  async function called(name: string, args: object, status: string): Promise<string> {
    const { result } = await rpc(front, "tools/call", { name, arguments: args }, { principal: "owner" });
    const taskId = String(result?.["taskId"]);
    await until(async () => (await services.store.load(taskId))?.status === status);
    return taskId;
  }
  return { front, get, timeline, called };
}

interface Timeline {
  readonly feed: { readonly items: readonly { readonly data: unknown }[]; readonly cursor?: string; readonly more: boolean };
  readonly error?: { readonly code: string };
}

describe("a task's timeline", () => {
  test("shows its owner what it has done, its status and what it waits for, and no content of steps", async () => {
    const { timeline, called } = await playground();
    const taskId = await called("book", { note: SECRET }, "input_required");
    const { status, body } = await timeline(taskId, "owner");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      task: { id: taskId, name: "book", status: "input_required", run: 1, generation: 0 },
      // Asked of others, who alone may read the message.
      asks: [{ key: "size", type: "form", isPutToOthers: true, onTimeout: "cancel" }],
      journal: { entries: 1, settled: 1, lines: [{ kind: "step", name: "hold", place: 1, state: "recorded" }] },
      feed: { items: [{ type: "log", level: "info", data: "held" }], more: false },
    });
    expect(JSON.stringify(body)).not.toContain(SECRET);
    expect(JSON.stringify(body)).not.toContain("For how many?");
  });

  test("of a task that calls another one links to it, and back", async () => {
    const { timeline, called } = await playground();
    const taskId = await called("through", {}, "input_required");
    const { body } = await timeline(taskId, "owner");
    const { calls } = body as unknown as { calls: { child: string }[] };
    expect(body).toMatchObject({ asks: [{ key: "mine:mine", message: "Yours?" }], calls: [{ key: "mine", tool: "ask" }] });
    expect((await timeline(calls[0]!.child, "owner")).body).toMatchObject({
      task: { parent: taskId, name: "ask" },
      asks: [{ key: "mine" }],
    });
  });

  test("has the message and deadline of a question to the owner", async () => {
    const { timeline, called } = await playground();
    const { body } = await timeline(await called("ask", {}, "input_required"), "owner");
    const [ask] = (body as unknown as { asks: { askedAtMs: number; deadlineMs: number }[] }).asks;
    expect(ask).toMatchObject({ key: "mine", message: "Yours?", onTimeout: "decline", isPutToOthers: false });
    expect((ask?.deadlineMs ?? 0) - (ask?.askedAtMs ?? 0)).toBe(3_600_000);
  });

  test("is only for its owner: the person who is asked is refused, and for others the task does not exist", async () => {
    const { timeline, called } = await playground();
    const taskId = await called("book", { note: SECRET }, "input_required");
    const answers = await Promise.all((["asked", "colleague", "stranger"] as const).map((who) => timeline(taskId, who)));
    expect(answers.map(({ status, body }) => [status, body.error?.code])).toEqual([
      [403, "NOT_PERMITTED"],
      [404, "TASK_NOT_FOUND"],
      [404, "TASK_NOT_FOUND"],
    ]);
    expect(JSON.stringify(answers)).not.toContain("hold");
    expect((await timeline("0-unknown", "owner")).status).toBe(404);
  });

  test("is served to its owner alone, even without the playground", async () => {
    const { timeline, called } = await playground({ playground: false });
    const taskId = await called("book", { note: SECRET }, "input_required");
    expect(await timeline(taskId, "owner")).toMatchObject({ status: 200, body: { task: { id: taskId }, journal: { entries: 1 } } });
    expect((await timeline(taskId, "asked")).status).toBe(403);
    expect((await timeline(taskId, "stranger")).status).toBe(404);
  });

  test("comes in pages of two hundred items, at the limit and one beyond", async () => {
    const { timeline, called } = await playground();
    const full = (await timeline(await called("chatter", { lines: 199 }, "completed"), "owner")).body.feed;
    expect([full.items.length, full.more]).toEqual([199, false]);
    const taskId = await called("chatter", { lines: 201 }, "completed");
    const first = (await timeline(taskId, "owner")).body.feed;
    expect([first.items.length, first.more]).toEqual([200, true]);
    const second = (await timeline(taskId, "owner", `?after=${first.cursor}`)).body.feed;
    expect([second.items.map(({ data }) => data), second.more]).toEqual([[200], false]);
  });

  test("is refused in one clear answer", async () => {
    const rates: Rates = {
      take: () => Promise.reject(new ParleyError("QUOTA_EXCEEDED", "the caller may have few reads", { data: { retryAfterMs: 1_200 } })),
    };
    const { timeline, get } = await playground({ rates });
    const { status, headers, body } = await timeline("0-x", "owner");
    expect([status, headers.get("retry-after"), body.error?.code]).toEqual([429, "2", "QUOTA_EXCEEDED"]);

    const open = await playground();
    expect((await open.timeline("0-x", "owner", "?after=1&after=2")).body.error?.code).toBe("INVALID_CURSOR");
    expect((await open.get("/play/api/tasks/0-x/timeline", { origin: "https://evil.example" })).status).toBe(403);
    expect((await get("/play/api/tasks/0-x/timeline", { "x-principal": "owner" })).headers.get("cache-control")).toBe("no-store");

    const failing = await playground({
      authenticate: () => {
        throw new ParleyError("CREDENTIALS_MISSING", "no token");
      },
    });
    const refused = await failing.timeline("0-x", "owner");
    expect([refused.status, refused.body.error?.code]).toEqual([401, "CREDENTIALS_MISSING"]);
  });
});

describe("the page at /", () => {
  test("is a page for browsers and JSON for other clients", async () => {
    const { get, front } = await playground();
    const page = await get("/", { accept: "text/html,application/xhtml+xml;q=0.9" });
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'; style-src 'self'");
    const text = await page.text();
    expect(text).toContain(`>${front.url}<`);
    expect(text).toContain('href="play/"');
    expect(text).not.toMatch(/<script|<style| style=| on\w+=/);
    for (const accept of ["*/*", "application/json", ""]) {
      expect(await (await get("/", { accept })).json()).toMatchObject({ name: "Parley", mcp: front.url });
    }
    const german = await get("/", { accept: "text/html", "accept-language": "de-DE,de;q=0.9" });
    expect([german.headers.get("vary"), await german.text()]).toEqual([
      "Accept, Accept-Language, Host",
      expect.stringMatching(/<html lang="de"[^]*Playground öffnen/),
    ]);
    expect((await get("/home.css")).headers.get("content-type")).toBe("text/css; charset=utf-8");
  });

  test("leads to the inbox where people log in, and says otherwise that its address is in the terminal, and not what it is", async () => {
    const withLogin = await playground({ visitors: { authenticate: () => PEOPLE.owner, ticket: undefined } });
    expect(await (await withLogin.get("/", { accept: "text/html" })).text()).toContain('<a href="inbox">Your inbox</a>');
    const { get } = await playground();
    for (const path of ["/", "/?k=x"]) {
      const text = (await (await get(path, { accept: "text/html" })).text()).replaceAll(' translate="no"', "");
      expect(text).toContain(
        "opens only at the address that <code>parley start</code> or <code>parley dev</code> prints, after <code>Inbox:</code>.",
      );
      // Where it prints none.
      expect(text).toMatch(/use <code>parley inbox --url http:[^<]*\/mcp<\/code> in a terminal, or have people log in/);
      expect(text).not.toMatch(/href="[^"]*inbox|[?&]k=/);
    }
    expect(await (await get("/")).text()).not.toMatch(/inbox/i);
  });

  test("names the address from the settings, and escapes everything", async () => {
    const { get } = await playground({ resourceUrl: "https://parley.example.com/a/mcp", playground: false });
    const text = await (await get("/", { accept: "text/html" })).text();
    expect(text).toContain("https://parley.example.com/a/mcp");
    expect(text).not.toContain('href="play/"');
    expect(await (await get("/")).json()).not.toHaveProperty("playground");

    const { front } = await playground({ trusted: { allowedHosts: ["*"], allowedOrigins: [] } });
    const injected = await front.app.server.inject({ url: "/", headers: { host: '"><script>1</script>', accept: "text/html" } });
    expect(injected.body).not.toContain("<script>");
  });

  test.each(["[", "a b", "x:99999"])("has no URL of the playground if any Host is served and the Host is %j", async (host) => {
    const { front } = await playground({ trusted: { allowedHosts: ["*"], allowedOrigins: [] } });
    const response = await front.app.server.inject({ url: "/", headers: { host } });
    expect(response.statusCode).toBe(200);
    expect(response.json()).toMatchObject({ name: "Parley" });
    expect(response.json()).not.toHaveProperty("playground");
  });

  test("is served only under the names of the server, like the playground", async () => {
    const { front } = await playground();
    for (const url of ["/", "/play", "/play/"]) {
      expect((await front.app.server.inject({ url, headers: { host: "evil.example" } })).statusCode, url).toBe(403);
    }
  });
});

describe("the playground", () => {
  test("is found without a slash, and does not exist if it is off", async () => {
    const on = await (await playground()).get("/play");
    expect([on.status, on.headers.get("location")]).toEqual([308, "play/"]);
    expect(on.headers.get("content-security-policy")).toMatch(/frame-ancestors 'none'.*script-src 'self'/);
    expect(on.headers.get("content-security-policy")).not.toMatch(/unsafe/);
    const { get } = await playground({ playground: false });
    for (const path of ["/play", "/play/", "/play/index.html", "/play/api", "/play/api/tasks"])
      expect((await get(path)).status, path).toBe(404);
  });

  test("is on by default only if no other machine can reach the server", () => {
    const on = (settings: Record<string, string>) =>
      serverConfig(SERVER_SETTINGS.parse({ REDIS_URL: "redis://localhost", PARLEY_AUTH_NONE_ANYWHERE: "true", ...settings })).playground;
    expect(["127.0.0.1", "::1", "localhost"].map((host) => on({ PARLEY_HOST: host }))).toEqual([true, true, true]);
    expect(["0.0.0.0", "::", "10.0.0.4"].map((host) => on({ PARLEY_HOST: host }))).toEqual([false, false, false]);
    expect(on({ PARLEY_HOST: "0.0.0.0", PARLEY_PLAYGROUND: "on" })).toBe(true);
    expect(on({ PARLEY_PLAYGROUND: "off" })).toBe(false);
  });

  test("has no door of its own for calls: it uses the endpoint", async () => {
    const { front } = await playground();
    const response = await fetch(new URL("/play/api/tasks", front.url), { method: "POST" });
    expect(response.status).toBe(404);
    expect((await post(front, "tools/list", {}, {})).status).toBe(200);
  });
});
