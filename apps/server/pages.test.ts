/** Pages on which people answer: who may open them, what settles a question, and what they show after a change. */
import { type AuditFact, type ErrorCode, ParleyError, type RatedCounts, sweep } from "@parley/core";
import { CREDENTIAL_ERRORS } from "@parley/protocol";
import { catalogue, defineTool, Secret } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import { anonymous } from "./front-end/caller.ts";
import { protectedResource } from "./front-end/protected-resource.ts";
import type { Visitors } from "./front-end/visitors.ts";
import { SECRET_CHARS_MAX } from "./routes/asks/views.ts";
import { openSession } from "./session-client.fixture.ts";

const asking = catalogue([
  defineTool({
    name: "connect",
    title: "Connect the Calendar",
    input: z.object({ message: z.string().default("Your key?"), to: z.string().optional(), timeout: z.string().optional() }),
    async run({ message, to, timeout }, ctx) {
      const audience = to === undefined ? {} : { to: { people: [to] } };
      const patience = timeout === undefined ? {} : { timeout: timeout as "1s" };
      const key = await ctx.branch("api", () => ctx.secret("key", { message, ...audience, ...patience }));
      const length = await ctx.step("use", () => key.use((text) => text.length));
      return `${key instanceof Secret} ${String(key)} ${JSON.stringify({ key })} ${length}`;
    },
  }),
]);

/** Visitors are the person in the header, as if they had logged in. */
const named: Visitors = {
  authenticate: ({ headers }) => callerNamed(String(headers["x-principal"] ?? "ann")),
  ticket: undefined,
};

async function asked(args: object = {}, deployed: Partial<Deploy> = {}) {
  const deployment = await deploy({ catalogue: asking, fronts: 2, ...(!deployed.visitors && LOCAL), ...deployed });
  const [here, there] = deployment.fronts as [Front, Front];
  const options = { principal: "ann" };
  const created = await rpc(here, "tools/call", { name: "connect", arguments: args }, options);
  const taskId = String(created.result!["taskId"]);
  const get = async () => (await rpc(there, "tasks/get", { taskId }, options)).result!;
  await until(async () => (await get())["status"] === "input_required");
  const answer = (action: string) => rpc(there, "tasks/update", { taskId, inputResponses: { "api/key": { action } } }, options);
  const url = String((await get())["inputRequests"]!["api/key"]!["params"]!["url"] ?? "");
  return {
    ...deployment,
    here,
    there,
    taskId,
    get,
    answer,
    url,
    at: (front: Front) => url.replace(/^http:\/\/[^/]+/, new URL(front.url).origin),
  };
}

/** All callers are the same, for clients and for pages. */
const LOCAL = { authenticate: anonymous };

interface Opened {
  readonly status: number;
  readonly text: string;
  readonly fields: Record<string, string>;
}

async function open(url: string, headers: Record<string, string> = {}): Promise<Opened> {
  const response = await fetch(url, { headers });
  const text = await response.text();
  const fields = Object.fromEntries(
    [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  return { status: response.status, text, fields };
}

async function send(url: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams(fields), headers });
  return { status: response.status, text: await response.text() };
}

const sentence = (text: string) => /<p>([^<]*)<\/p>/.exec(text)?.[1];

describe("a secret", () => {
  test("is entered on a page of any front end, and reaches only the tool", async () => {
    const { here, there, at, get, services, taskId, logged } = await asked();
    const { status, text, fields } = await open(at(here));
    expect([status, text]).toEqual([200, expect.stringContaining("Your key?")]);
    expect(text).toContain("<bdi>Connect the Calendar</bdi>");

    const sent = await send(at(there), { ...fields, action: "accept", secret: "hunter2-☃" });
    expect([sent.status, sentence(sent.text)]).toEqual([200, expect.stringContaining("The tool has received your answer")]);

    await until(async () => (await get())["status"] === "completed");
    expect((await get())["result"]!["content"]![0]!["text"]).toBe('true [secret] {"key":"[secret]"} 9');
    expect(JSON.stringify([await services.store.load(taskId), logged])).not.toContain("hunter2");
    // The deposit is deleted when the task ends.
    expect(await services.store.deposit(taskId, "api/key")).toBeUndefined();
  });

  test("is sealed in the store", async () => {
    const { here, at, services } = await asked();
    const deposits: string[] = [];
    const { answer } = services.store;
    Object.assign(services.store, {
      answer: (request: Parameters<typeof answer>[0]) => (deposits.push(request.page?.deposit ?? ""), answer(request)),
    });
    await send(at(here), { ...(await open(at(here))).fields, action: "accept", secret: "hunter2-hunter2" });
    expect(deposits.join("")).toMatch(/^[\w-]{8}\.[\w-]{40,}$/);
  });

  test("has at most 16,384 characters, at the limit and one beyond, and at least one", async () => {
    const { here, at, get } = await asked();
    const { fields } = await open(at(here));
    const empty = await send(at(here), { ...fields, action: "accept", secret: "" });
    expect([empty.status, empty.text]).toEqual([422, expect.stringContaining("Enter the secret, or decline.")]);
    const large = await send(at(here), { ...fields, action: "accept", secret: "☃".repeat(SECRET_CHARS_MAX + 1) });
    expect([large.status, large.text]).toEqual([422, expect.stringContaining("at most 16384 characters")]);
    expect(large.text).not.toContain("☃");
    const huge = await send(at(here), { ...fields, action: "accept", secret: "x".repeat(200_000) });
    expect([huge.status, sentence(huge.text)]).toEqual([413, expect.stringContaining("larger than this page accepts")]);
    expect((await send(at(here), { ...fields, action: "accept", secret: "☃".repeat(SECRET_CHARS_MAX) })).status).toBe(200);
    await until(async () => (await get())["status"] === "completed");
  });
});

describe("the page of a question", () => {
  test("is not changed by GET and HEAD", async () => {
    const { at, here, get } = await asked();
    const before = await get();
    for (const method of ["GET", "HEAD", "GET"]) expect((await fetch(at(here), { method })).status).toBe(200);
    expect(await get()).toEqual(before);
    for (const method of ["PUT", "DELETE"]) expect((await fetch(at(here), { method })).status).toBe(404);
  });

  test("is recorded as shown by GET, and not by HEAD", async () => {
    const facts: AuditFact[] = [];
    const { at, here, taskId } = await asked({}, { audit: { note: async (fact) => void facts.push(fact) } });
    const shown = () => facts.filter(({ action, door }) => action === "shown" && door === "page");
    await fetch(at(here), { method: "HEAD" });
    expect(shown()).toEqual([]);
    // What a reader says of an earlier look keeps no look out of the record.
    await fetch(at(here), { headers: { "if-none-match": '"x"' } });
    expect(shown()).toMatchObject([{ taskId, ask: "api/key" }]);
    await fetch(at(here));
    expect(shown()).toHaveLength(1);
  });

  test("runs no script, cannot be framed, loads nothing, is not cached, and escapes what it shows", async () => {
    const { at, here } = await asked({ message: `<script>alert("1")</script> & 'so on'` });
    const response = await fetch(at(here));
    const text = await response.text();
    expect(text).toContain("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;so on&#39;");
    expect(text).not.toMatch(/<script|<img|<link|http:|https:/);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
      ),
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": "same-origin",
      "cache-control": "no-store",
    });
  });

  test("shows a message in the direction of its script", async () => {
    const { here, at } = await asked({ message: "מה המפתח שלך? (API)" });
    expect((await open(at(here))).text).toContain('<p class="said" id="said" dir="auto">מה המפתח שלך? (API)</p>');
  });

  test("shows that it is done if it is opened or sent again", async () => {
    const { here, there, at, get } = await asked();
    const { fields } = await open(at(here));
    const form = { ...fields, action: "accept", secret: "hunter2" };
    const sent = await Promise.all([send(at(here), form), send(at(there), form), send(at(here), { ...form, secret: "other" })]);
    expect(sent.map(({ text }) => /<h1>([^<]*)/.exec(text)?.[1]).toSorted()).toEqual(["Already done", "Already done", "Thank you"]);
    expect(sentence((await open(at(there))).text)).toContain("Your answer counted");
    expect(sentence((await send(at(there), form)).text)).toContain(
      "was already answered, perhaps by your own first click, and what came later changed nothing",
    );
    await until(async () => (await get())["status"] === "completed");
    expect(sentence((await open(at(here))).text)).toContain("Your answer counted");
    expect(sentence((await send(at(here), form)).text)).toContain("was already answered");
  });

  test.each([
    ["declined by a client", async ({ answer }: Awaited<ReturnType<typeof asked>>) => void (await answer("decline"))],
    ["cancelled with its task", async ({ there, taskId }) => void (await rpc(there, "tasks/cancel", { taskId }, { principal: "ann" }))],
    ["too late", async ({ skip }) => skip(2_000)],
  ] as [string, (given: Awaited<ReturnType<typeof asked>>) => Promise<void>][])(
    "shows that it is closed if it was %s",
    async (what, close) => {
      const given = await asked(what === "too late" ? { timeout: "1s" } : {});
      const { here, at, get } = given;
      const { fields } = await open(at(here));
      await close(given);
      await sweep(given.services, { partition: 0 });
      await until(async () => !["working", "input_required"].includes(String((await get())["status"])));
      for (const closed of [await open(at(here)), await send(at(here), { ...fields, action: "accept", secret: "hunter2" })])
        expect([closed.status, sentence(closed.text)]).toEqual([410, expect.stringContaining("This question is closed")]);
    },
  );

  test("says nothing certain about an answer whose receipt was lost, and shows when it is opened again that it was recorded", async () => {
    const { here, at, services } = await asked();
    const { fields } = await open(at(here));
    const { answer } = services.store;
    services.store.answer = async (request) => {
      await answer(request);
      throw new ParleyError("UNAVAILABLE", "Redis did not answer in time");
    };
    const sent = await send(at(here), { ...fields, action: "accept", secret: "hunter2" });
    expect([sent.status, sentence(sent.text)]).toEqual([503, expect.stringContaining("it shows whether it was recorded")]);
    expect(sent.text).not.toContain("nothing was sent");
    services.store.answer = answer;
    expect(sentence((await open(at(here))).text)).toContain("Your answer counted");
  });

  test("is declined by its button", async () => {
    const { here, at, get } = await asked();
    const sent = await send(at(here), { ...(await open(at(here))).fields, action: "decline" });
    expect([sent.status, sentence(sent.text)]).toEqual([200, expect.stringContaining("You declined")]);
    await until(async () => (await get())["status"] === "completed");
    expect((await get())["result"]!["content"]![0]!["text"]).toContain("declined");
  });

  test.each([
    ["another site's form", {}, { origin: "https://evil.example" }, 403],
    ["a form without an origin", {}, { origin: "null" }, 403],
    ["a form from another site by Sec-Fetch-Site", {}, { "sec-fetch-site": "cross-site" }, 403],
    ["a form from a sibling site", {}, { "sec-fetch-site": "same-site" }, 403],
    ["a form without its token", { token: "" }, {}, 409],
    ["a form with an invented token", { token: "A".repeat(22) }, {}, 409],
    ["a form for another version of the question", { shown: "A".repeat(22) }, {}, 409],
    ["no choice", { action: "" }, {}, 400],
    ["a body that is not a form", {}, { "content-type": "application/json" }, 400],
  ])("accepts nothing from %s", async (_what, fields, headers, status) => {
    const { here, at, get } = await asked();
    const opened = await open(at(here));
    const sent = await send(at(here), { ...opened.fields, action: "accept", secret: "hunter2", ...fields }, headers);
    expect([sent.status, sentence(sent.text)]).toEqual([status, expect.stringContaining("nothing was sent")]);
    expect((await get())["status"]).toBe("input_required");
  });
});

describe("without identity", () => {
  test("a page opens only at the address that its client received; unknown and known tasks look the same", async () => {
    const { here, at, taskId } = await asked();
    const right = at(here);
    const { origin } = new URL(right);
    const wrong = [
      right.replace(/\?.*/, ""),
      right.replace(/k=./, (found) => `k=${found.endsWith("A") ? "B" : "A"}`),
      right.replace("key", "other"),
      right.replace(taskId, `0-${"A".repeat(22)}`),
      `${origin}/asks/${taskId}/`,
      `${origin}/asks/${taskId}`,
      `${origin}/asks/${taskId}/api%2Fother?k=a&k=b`,
      `${origin}/asks/${"x".repeat(80)}/${"y".repeat(2_000)}?k=z`,
    ];
    const pages = await Promise.all(wrong.map(async (url) => await open(url)));
    expect(new Set(pages.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([pages[0]?.status, sentence(pages[0]?.text ?? "")]).toEqual([404, expect.stringContaining("This question does not exist")]);
    expect((await open(right.replace("api/key", "api%2Fkey"))).status).toBe(200);
  });

  test("is served only under the names of this machine", async () => {
    const { here, at } = await asked();
    const response = await here.app.server.inject({ url: at(here), headers: { host: "evil.example" } });
    expect(response.statusCode).toBe(403);
  });
});

describe("where people log in", () => {
  test("a page opens at a plain address for the person who was asked; for others the question does not exist", async () => {
    const { here, at, url } = await asked({}, { visitors: named });
    expect(url).not.toContain("?");
    expect((await open(at(here), { "x-principal": "ann" })).text).toContain("You are logged in as ann.");
    const foreign = await open(at(here), { "x-principal": "bob" });
    const unknown = await open(at(here).replace(/asks\/[^/]+/, `asks/0-${"A".repeat(22)}`), { "x-principal": "bob" });
    expect(foreign).toEqual(unknown);
    expect(foreign.status).toBe(404);
  });

  test("a person learns that there is no login if there is none, instead of being sent to it", async () => {
    const authenticate = () => Promise.reject(new ParleyError("CREDENTIALS_MISSING", "no"));
    const { fronts } = await deploy({ catalogue: asking, fronts: 1, visitors: { ...named, authenticate } });
    const { status, text } = await open(`${new URL(fronts[0]!.url).origin}/asks/0-${"A".repeat(22)}/key`);
    expect([status, sentence(text)]).toEqual([401, expect.stringContaining("has no login for browsers: ask its operator")]);
  });

  test("a person cannot send the form that another person was shown", async () => {
    const { here, at, get } = await asked({}, { visitors: named });
    const { fields } = await open(at(here), { "x-principal": "ann" });
    const sent = await send(at(here), { ...fields, action: "accept", secret: "hunter2" }, { "x-principal": "bob" });
    expect(sent.status).toBe(404);
    expect((await get())["status"]).toBe("input_required");
  });
});

test("a page, its form and the addresses to return to need the scope that answers need, and count towards the caller's quotas", async () => {
  const taken: RatedCounts[] = [];
  const { here, at, get } = await asked(
    {},
    {
      resource: protectedResource({ url: "https://parley.example/mcp", authorizationServers: [], scopePrefix: "" }),
      authenticate: () => callerNamed("ann", { scopes: ["tools", "tasks", "asks"] }),
      visitors: { ...named, authenticate: ({ headers }) => callerNamed("ann", { scopes: [String(headers["x-scope"])] }) },
      rates: { take: async (_caller, counts) => void taken.push(counts) },
    },
  );
  const may = { "x-scope": "asks:answer" };
  const mayNot = { "x-scope": "tasks:read" };
  const returns = `${new URL(here.url).origin}/returns/state`;
  const callback = `${new URL(here.url).origin}/oauth/callback/crm`;
  taken.length = 0;
  const { status, fields } = await open(at(here), may);
  expect(status).toBe(200);
  const form = { ...fields, action: "accept", secret: "hunter2" };
  for (const url of [at(here), returns, callback]) expect((await open(url, mayNot)).status).toBe(403);
  expect((await send(at(here), form, mayNot)).status).toBe(403);
  expect(taken).toEqual([{ reads: 1 }]);
  expect((await get())["status"]).toBe("input_required");
  taken.length = 0;
  for (const url of [returns, callback]) expect((await open(url, may)).status).not.toBe(403);
  expect((await send(at(here), form, may)).status).toBe(200);
  expect(taken).toEqual([{ answers: 1 }, { answers: 1 }, { answers: 1 }]);
});

describe("credentials that are refused", () => {
  const others = {
    CREDENTIALS_MISSING: 401,
    CREDENTIALS_MISPLACED: 400,
    LOGIN_REFUSED: 401,
    PROVIDER_UNAVAILABLE: 503,
    PROVIDER_INVALID: 503,
  };
  const statuses: Record<string, number> = { ...Object.fromEntries(Object.keys(CREDENTIAL_ERRORS).map((code) => [code, 403])), ...others };

  test.each(Object.entries(statuses))("%s: the page says so with status %i, and the log has no defect", async (code, status) => {
    const visitors: Visitors = { ...named, authenticate: () => Promise.reject(new ParleyError(code as ErrorCode, "no")) };
    const { fronts, logged } = await deploy({ catalogue: asking, fronts: 1, visitors });
    for (const path of [`/asks/0-${"A".repeat(22)}/key`, "/returns/state", "/oauth/callback/google"]) {
      const { status: given, text } = await open(new URL(path, fronts[0]!.url).href);
      expect([path, given, /<h1>Something went wrong/.test(text)]).toEqual([path, status, false]);
    }
    expect(logged.filter(({ message }) => message === "request failed")).toEqual([]);
  });
});

describe("a question to another person", () => {
  test("opens for that person; its owner reads that it is for others, and the person reads when it is done", async () => {
    const deployment = await deploy({ catalogue: asking, fronts: 1, visitors: named });
    const [front] = deployment.fronts as [Front];
    const created = await rpc(front, "tools/call", { name: "connect", arguments: { to: "bob" } }, { principal: "ann" });
    const taskId = String(created.result!["taskId"]);
    await until(async () => {
      const { result } = await rpc(front, "tasks/get", { taskId }, { principal: "ann" });
      return result!["status"] === "working" && String(result!["statusMessage"]).includes("from bob");
    });
    const url = `${new URL(front.url).origin}/asks/${taskId}/api/key`;
    expect(await open(url, { "x-principal": "ann" })).toMatchObject({
      status: 200,
      text: expect.stringContaining("It waits for bob until"),
    });
    const { fields } = await open(url, { "x-principal": "bob" });
    expect((await send(url, { ...fields, action: "accept", secret: "hunter2" }, { "x-principal": "bob" })).status).toBe(200);
    expect((await open(url, { "x-principal": "bob" })).text).toContain("Your answer counted");
    expect((await open(url, { "x-principal": "eve" })).status).toBe(404);
  });
});

describe("a client's answer to a page's address", () => {
  test("`accept` means that the person opens the page: the task still waits for it, and the client is not asked again", async () => {
    const { here, at, get, answer } = await asked();
    const { fields } = await open(at(here));
    expect((await answer("accept")).error).toBeUndefined();
    const waiting = await get();
    expect([waiting["status"], waiting["inputRequests"]]).toEqual(["working", undefined]);
    expect(waiting["statusMessage"]).toContain('Waiting for a page to be completed: "Your key?"');
    // A second `accept` changes nothing.
    expect((await answer("accept")).error).toBeUndefined();
    expect((await send(at(here), { ...fields, action: "accept", secret: "hunter2" })).status).toBe(200);
    await until(async () => (await get())["status"] === "completed");
    // Afterwards, it is a duplicate.
    expect((await answer("accept")).error).toBeUndefined();
  });

  test.each(["decline", "cancel"])("`%s` ends the question, even after `accept`", async (action) => {
    const { get, answer } = await asked();
    await answer("accept");
    expect((await answer(action)).error).toBeUndefined();
    await until(async () => (await get())["status"] === "completed");
  });

  test("in a session a held call ends with the page", async () => {
    const { fronts } = await deploy({ catalogue: asking, fronts: 2, ...LOCAL });
    const [here, there] = fronts as [Front, Front];
    const client = await openSession(here);
    const call = await client.stream(here, "tools/call", { name: "connect", arguments: {} });
    const ask = await call.next();
    expect(ask).toMatchObject({ method: "elicitation/create", params: { mode: "url", message: "Your key?" } });
    expect((await client.reply(there, ask.id, { action: "accept" })).status).toBe(202);
    const url = String(ask.params!["url"]);
    await send(url, { ...(await open(url)).fields, action: "accept", secret: "hunter2" });
    const messages = [await call.next(), await call.next()];
    expect(messages[0]).toMatchObject({
      method: "notifications/elicitation/complete",
      params: { elicitationId: ask.params!["elicitationId"] },
    });
    expect(messages[1]!.result!["content"]![0]!["text"]).toContain("7");
    call.close();
  });

  test("in a call without tasks the retried call waits for the page", async () => {
    const { fronts } = await deploy({ catalogue: asking, fronts: 2, ...LOCAL });
    const [here, there] = fronts as [Front, Front];
    const params = { name: "connect", arguments: {} };
    const first = (await rpc(here, "tools/call", params, { tasks: false })).result!;
    const url = String(first["inputRequests"]!["api/key"]!["params"]!["url"]);
    const retried = rpc(
      there,
      "tools/call",
      { ...params, inputResponses: { "api/key": { action: "accept" } }, requestState: first["requestState"] },
      { tasks: false },
    );
    await send(url, { ...(await open(url)).fields, action: "accept", secret: "hunter2" });
    expect((await retried).result!["content"]![0]!["text"]).toContain("7");
  });
});
