/** The inbox: what it lists for whom, in which order, and the question beside the list. */
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type AuditFact, type Caller, COMMENT_CHARS_MAX, COMMENTS_MAX, ParleyError, PRIORITIES, type Rates } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { PAGES_SCRIPT } from "@parley/web";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { BATCH_MAX } from "./routes/inbox/batch.ts";
import { INBOX_STREAMS_MAX } from "./routes/inbox/changes.ts";
import { callerNamed, deploy, type Front } from "./deployment.fixture.ts";
import { localVisitors, type Visitors } from "./front-end/visitors.ts";
import { signatures } from "./seals/signatures.ts";
import { anonymous } from "./front-end/caller.ts";
import { stateKeys } from "./seals/state-keys.ts";

const asks = (name: string, title?: string, { schema = z.object({ ok: z.boolean() }), destructive = false }: Shape = {}) =>
  defineTool({
    name,
    ...(title !== undefined && { title }),
    input: z.object({
      message: z.string(),
      group: z.string().optional(),
      timeout: z.string().default("2 days"),
      priority: z.enum(PRIORITIES).default("normal"),
      dueMs: z.number().optional(),
      mayHandOn: z.boolean().default(false),
      leads: z.string().optional(),
      needsLogin: z.boolean().default(false),
    }),
    async run({ message, group, timeout, priority, dueMs, mayHandOn, leads, needsLogin }, ctx) {
      const options = {
        message,
        timeout: timeout as "2 days",
        priority,
        ...(mayHandOn && { allow: ["delegate" as const, "askBack" as const, "pause" as const] }),
        ...(dueMs !== undefined && { due: dueMs }),
        ...(needsLogin && { assurance: "login" as const }),
        ...(group !== undefined && { to: { groups: [group] } }),
        ...(leads !== undefined && {
          remind: ["1 hour", "2 hours"] as const,
          escalate: { after: "1 day" as const, to: { groups: [leads] } },
        }),
      };
      return JSON.stringify(await (destructive ? ctx.confirm("it", { ...options, destructive }) : ctx.ask("it", { ...options, schema })));
    },
  });
interface Shape {
  readonly schema?: z.ZodObject;
  readonly destructive?: boolean;
}
const asking = catalogue([
  asks("pay"),
  asks("ship", "Send a parcel"),
  asks("wipe", undefined, { destructive: true }),
  asks("order", undefined, { schema: z.object({ count: z.int().min(1).max(20) }) }),
]);

const GROUPS: Readonly<Record<string, readonly string[]>> = { bob: ["finance"], carol: ["finance", "<i>stock</i>"] };
const visitors: Visitors = {
  authenticate: ({ headers }) => {
    const name = String(headers["x-principal"] ?? "ann");
    const login = headers["x-login"] === undefined ? {} : { assurance: "login" as const, login: {} };
    return callerNamed(name, { groups: GROUPS[name] ?? [], ...login });
  },
  ticket: undefined,
};

async function asked(calls: readonly (readonly [tool: string, args: object])[], more: Partial<Parameters<typeof deploy>[0]> = {}) {
  const deployment = await deploy({ catalogue: asking, fronts: 2, visitors, ...more });
  const [here, there] = deployment.fronts as [Front, Front];
  const taskIds: string[] = [];
  for (const [tool, args] of calls) {
    const created = await rpc(here, "tools/call", { name: tool, arguments: args }, { principal: "ann" });
    const taskId = String(created.result!["taskId"]);
    await until(async () => (await deployment.services.store.load(taskId))?.status === "input_required");
    taskIds.push(taskId);
  }
  const open = async (query: string, who: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${new URL(there.url).origin}/inbox${query}`, { headers: { "x-principal": who, ...headers } });
    const text = (await response.text()).replace(/<style>[^]*<\/style>/, "");
    return { status: response.status, text, headers: response.headers };
  };
  const decline = async (taskId: string, who: string) => {
    const at = `${new URL(here.url).origin}/asks/${taskId}/it`;
    const text = await (await fetch(at, { headers: { "x-principal": who } })).text();
    await fetch(at, {
      method: "POST",
      headers: { "x-principal": who },
      body: new URLSearchParams([...hiddenIn(text), ["action", "decline"]]),
    });
  };
  /** Follows what is asked of somebody, and counts what the stream tells. */
  const follow = async (who: string, { query = "", front = there, headers = {} }: Following = {}) => {
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const response = await fetch(`${new URL(front.url).origin}/inbox/changes${query}`, {
      headers: { "x-principal": who, accept: "text/event-stream", ...headers },
      signal: leaving.signal,
    });
    const followed = { status: response.status, told: 0, text: "", isOver: false, leave: () => leaving.abort() };
    void (async () => {
      for await (const chunk of response.body ?? []) {
        followed.text += Buffer.from(chunk as Uint8Array).toString();
        followed.told = followed.text.split("event: message\n").length - 1;
      }
    })()
      .catch(() => undefined)
      .finally(() => (followed.isOver = true));
    return followed;
  };
  return { ...deployment, here, there, taskIds, open, decline, follow };
}

interface Following {
  readonly query?: string;
  readonly front?: Front;
  readonly headers?: Record<string, string>;
}

function hiddenIn(text: string): [string, string][] {
  return [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]);
}

const listed = (text: string) => [...text.matchAll(/<span class="what" dir="auto">([^<]*)/g)].map(([, what]) => what);

const FOUR = [
  ["pay", { message: "Pay 1?", group: "finance", timeout: "3 days" }],
  ["ship", { message: "Ship <b>it</b>?", group: "<i>stock</i>" }],
  ["pay", { message: "Pay 2?", group: "finance", timeout: "1 hour" }],
  ["ship", { message: "Mine?" }],
] as const;

test("a person finds what is asked of them regardless of whose task asks, by deadline or age, and nobody finds anything else", async () => {
  const { open } = await asked(FOUR);
  expect(listed((await open("", "bob")).text)).toEqual(["Pay 2?", "Pay 1?"]);
  expect(listed((await open("?order=oldest", "carol")).text)).toEqual(["Pay 1?", "Ship &lt;b&gt;it&lt;/b&gt;?", "Pay 2?"]);
  expect(listed((await open("?tool=ship", "carol")).text)).toEqual(["Ship &lt;b&gt;it&lt;/b&gt;?"]);
  const own = (await open("", "ann")).text;
  expect([listed(own), /class="who"><bdi>([^<]*)/.exec(own)?.[1]]).toEqual([["Mine?"], "Send a parcel"]);
  const nothing = await open("", "mallory");
  expect([nothing.status, listed(nothing.text), nothing.text]).toEqual([200, [], expect.stringContaining("Nothing waits for you")]);
  const german = await open("", "bob", { "accept-language": "de" });
  expect(german.text).toContain("2 Fragen warten auf Sie");
});

test("two callers of one name are told apart in the list, beside it, where questions are answered together, and among the answers", async () => {
  const people: Readonly<Record<string, Caller>> = {
    ann: callerNamed("ann", { displayName: "Ann Lee", names: ["sub:7", "email:ann@acme.io"] }),
    eve: callerNamed("eve", { displayName: "Ann Lee", names: ["sub:8"] }),
    bob: callerNamed("bob", { groups: ["finance"] }),
  };
  const authenticate = ({ headers }: { readonly headers: Record<string, unknown> }) =>
    people[String(headers["x-principal"])] ?? callerNamed("mallory");
  const { open, taskIds, here, services, decline } = await asked([["pay", { message: "Pay 1?", group: "finance" }]], {
    authenticate,
    visitors: { authenticate, ticket: undefined },
  });
  const args = { message: "Pay 2?", group: "finance" };
  const created = await rpc(here, "tools/call", { name: "pay", arguments: args }, { principal: "eve" });
  taskIds.push(String(created.result!["taskId"]));
  await until(async () => (await services.store.load(taskIds[1]!))?.status === "input_required");
  const [ann, eve] = [
    'in a call of <bdi translate="no">Ann Lee (ann@acme.io)</bdi>',
    'in a call of <bdi translate="no">Ann Lee (sub:8)</bdi>',
  ];

  const { text } = await open("", "bob");
  const items = [...text.matchAll(/<li data-ask[^]*?<\/li>/g)].map(([item]) => item);
  expect(items).toEqual([expect.stringContaining(ann), expect.stringContaining(eve)]);
  expect((await open(`?ask=${taskIds[1]}/it`, "bob")).text).toContain(
    'in a call of <strong><bdi translate="no">Ann Lee (sub:8)</bdi></strong>',
  );
  const together = (await open(batchOf(taskIds), "bob")).text;
  expect(together.slice(together.indexOf('<ol class="together">'))).toMatch(
    /Pay 1\?[^]*Ann Lee \(ann@acme[.]io\)[^]*Pay 2\?[^]*Ann Lee \(sub:8\)/,
  );
  expect((await open("", "ann")).text).not.toContain("in a call of");

  for (const taskId of taskIds) await decline(taskId, "bob");
  const answers = (await open("/answered", "bob")).text;
  expect(answers).toMatch(/Ann Lee \(sub:8\)[^]*Ann Lee \(ann@acme[.]io\)/);
});

test.each([
  ["due", ["Late", "Soon", "Urgent", "Long"]],
  ["priority", ["Urgent", "Late", "Soon", "Long"]],
  ["deadline", ["Soon", "Urgent", "Long", "Late"]],
] as const)("the list is in the order %s, and its links keep that", async (order, expected) => {
  const { open } = await asked([
    ["pay", { message: "Long", group: "finance", timeout: "3 days" }],
    ["pay", { message: "Soon", group: "finance", timeout: "1 day" }],
    ["pay", { message: "Urgent", group: "finance", timeout: "2 days", priority: "urgent" }],
    ["pay", { message: "Late", group: "finance", timeout: "4 days", dueMs: 3_600_000 }],
  ]);
  const { text } = await open(`?order=${order}`, "bob");
  expect(listed(text)).toEqual(expected);
  expect(text).toContain(`<option value="${order}" selected>`);
  expect(text).toMatch(new RegExp(`href="inbox\\?order=${order}&amp;ask=`));
});

test("unless one chooses another order, the list is in that of the times that it shows: when an answer is wanted, or else when the question closes", async () => {
  const { open } = await asked([
    ["pay", { message: "Long", group: "finance", timeout: "3 days" }],
    ["pay", { message: "Wanted", group: "finance", timeout: "9 days", dueMs: 86_400_000 }],
    ["pay", { message: "Soon", group: "finance", timeout: "2 days" }],
  ]);
  const { text } = await open("", "bob");
  expect(listed(text)).toEqual(["Wanted", "Soon", "Long"]);
  const times = [...text.matchAll(/<li data-ask[^]*?data-until="(\d+)"/g)].map(([, ms]) => Number(ms));
  expect(times).toEqual(times.toSorted((one, other) => one - other));
  expect(text).toContain('<option value="due" selected>');
});

test("filters narrow the list and are kept by its links; what is no filter filters nothing", async () => {
  const { open } = await asked([
    ["pay", { message: "Urgent?", group: "finance", priority: "urgent" }],
    ["pay", { message: "Soon?", group: "finance", timeout: "30 minutes" }],
    ["ship", { message: "Today?", group: "finance", timeout: "5 hours", priority: "high" }],
  ]);
  const of = async (query: string, who = "bob") => listed((await open(query, who)).text);
  expect(await of("?priority=urgent")).toEqual(["Urgent?"]);
  expect(await of("?priority=normal")).toEqual(["Soon?"]);
  expect(await of("?closes=hour")).toEqual(["Soon?"]);
  expect(await of("?closes=day")).toEqual(["Soon?", "Today?"]);
  expect(await of("?closes=day&tool=ship&priority=high&from=others")).toEqual(["Today?"]);
  expect([await of("?from=me"), await of("?from=others")]).toEqual([[], ["Soon?", "Today?", "Urgent?"]]);
  expect(await of("?priority=constructor&from=x&closes=year&closes=day")).toEqual(["Soon?", "Today?", "Urgent?"]);
  const { text } = await open("?priority=high&closes=day", "bob");
  expect(text).toContain('data-view="High · Within a day"');
  expect(text).toMatch(/href="inbox\?priority=high&amp;closes=day&amp;order=due&amp;ask=/);
  const counted = async (query: string) => /id="count" role="status">([^<]*)/.exec((await open(query, "bob")).text)?.[1];
  expect([await counted(""), await counted("?priority=low"), await counted("?priority=high"), await counted("?closes=day")]).toEqual([
    "3 questions wait for you",
    "No question matches",
    "1 question matches",
    "2 questions match",
  ]);
});

test("an item of the list is headed by the first line, and marks its priority, that an answer is overdue, and what cannot be undone", async () => {
  const { open } = await asked([
    ["pay", { message: "Moving files: may this call run?\n\nTool: Move\n  files", group: "finance", priority: "urgent", dueMs: 1 }],
    ["pay", { message: "Later?", group: "finance", timeout: "3 days" }],
    ["wipe", { message: "Wipe?", group: "finance", timeout: "4 days" }],
  ]);
  const { text } = await open("", "bob");
  expect(listed(text)).toEqual(["Moving files: may this call run?", "Later?", expect.stringContaining("Wipe?")]);
  const [pressing = "", later = "", wipe = ""] = [...text.matchAll(/<li data-ask[^]*?<\/li>/g)].map(([item]) => item);
  expect(pressing).toMatch(/class="pressing"[^]*<span class="rest" dir="auto">Tool: Move files<[^]*Urgent[^]*Overdue[^]*closes </);
  expect(later).toMatch(/<span class="tag later">due <span/);
  expect(later).not.toMatch(/pressing|rest|Overdue|undone/);
  expect(wipe).toContain('<span class="tag soon">Cannot be undone</span>');
  expect(pressing).not.toContain("undone");
});

test("the chosen question is beside the list, and its form goes to its page", async () => {
  const { open, taskIds, there } = await asked(FOUR);
  const { text } = await open(`?ask=${taskIds[0]}/it`, "bob");
  expect(text).toMatch(new RegExp(`href="inbox\\?order=due&amp;ask=${taskIds[0]}%2Fit" aria-current="true"`));
  const action = /<form [^>]*method="post" action="([^"]+)"/.exec(text)?.[1] ?? "";
  const sent = await fetch(new URL(action, there.url), {
    method: "POST",
    headers: { "x-principal": "bob" },
    body: new URLSearchParams([...hiddenIn(text), ["action", "yes"]]),
  });
  expect([sent.status, await sent.text()]).toEqual([200, expect.stringContaining("Your record")]);
  expect(listed((await open("", "bob")).text)).toEqual(["Pay 2?"]);
});

test("a question of others, in the address, looks like one that never existed", async () => {
  const { open, taskIds } = await asked(FOUR);
  const [foreign, never] = [await open(`?ask=${taskIds[0]}/it`, "mallory"), await open(`?ask=0-${crypto.randomUUID()}/it`, "mallory")];
  // Apart from the id, which the person has sent.
  const plain = ({ text }: { readonly text: string }) => text.replace(/data-ask="[^"]*"/, "").replace(/data-now="\d+"/, "");
  expect([foreign.status, plain(foreign)]).toEqual([never.status, plain(never)]);
  expect(foreign.text).toContain("Not found");
});

test("a list has pages, and what is no cursor of it is refused", async () => {
  const { open } = await asked(FOUR);
  const many = Array.from({ length: 52 }, (_, index) => ["pay", { message: `Pay ${index}?`, group: "finance" }] as const);
  const more = await asked(many);
  const first = await more.open("?order=oldest", "bob");
  expect(listed(first.text)).toHaveLength(50);
  const next = /<a rel="next" href="inbox([^"]+)"/.exec(first.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  expect(listed((await more.open(next, "bob")).text)).toEqual(["Pay 50?", "Pay 51?"]);
  // What is on the other page has left: this one lists the same, and counts one less.
  await more.decline(more.taskIds[51] ?? "", "bob");
  const counted = await more.open("?order=oldest", "bob", { "if-none-match": first.headers.get("etag") ?? "" });
  expect([counted.status, listed(counted.text)]).toEqual([200, listed(first.text)]);
  for (const query of ["?cursor=forged", "?cursor=oldest.1.0-x.it", `?cursor=${"x".repeat(5_000)}`])
    expect((await open(query, "bob")).status).toBe(400);
});

test("a filter of a megabyte is refused, and one of some kilobytes matches nothing, here and at the API", async () => {
  const { open, there } = await asked([["pay", { message: "Pay?", group: "finance" }]]);
  const long = async (count: number) => {
    const { status } = await fetch(`${new URL(there.url).origin}/api/v1/asks?tool=${"x".repeat(count)}`, {
      headers: { "x-principal": "bob" },
    });
    return [(await open(`?tool=${"x".repeat(count)}`, "bob")).status, status];
  };
  expect([await long(1_000_000), await long(5_000)]).toEqual([
    [431, 431],
    [200, 400],
  ]);
  expect(listed((await open(`?tool=${"x".repeat(5_000)}`, "bob")).text)).toEqual([]);
});

test("the page cannot be framed or cached, runs no script but this server's, and looking changes nothing", async () => {
  const { open, services, taskIds } = await asked(FOUR);
  const before = await Promise.all(taskIds.map((taskId) => services.store.load(taskId)));
  const { headers, text } = await open(`?ask=${taskIds[0]}/it`, "bob");
  expect(headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'$/,
  );
  expect([headers.get("x-frame-options"), headers.get("cache-control")]).toEqual(["DENY", "no-store"]);
  expect(text.match(/<script[^>]*>/g) ?? []).toEqual(PAGES_SCRIPT === undefined ? [] : [`<script src="pages/${PAGES_SCRIPT}" defer>`]);
  expect(await Promise.all(taskIds.map((taskId) => services.store.load(taskId)))).toEqual(before);
});

test("a page that asks again receives nothing while nothing has changed, and the change then", async () => {
  const { open, decline, taskIds } = await asked(FOUR);
  const { headers } = await open(`?ask=${taskIds[0]}/it`, "bob");
  const ask = async (who = "bob") => await open(`?ask=${taskIds[0]}/it`, who, { "if-none-match": headers.get("etag") ?? "" });
  expect([(await ask()).status, (await ask("carol")).status]).toEqual([304, 200]);
  const german = { "accept-language": "de", "if-none-match": headers.get("etag") ?? "" };
  expect((await open(`?ask=${taskIds[0]}/it`, "bob", german)).status).toBe(200);
  await decline(taskIds[2] ?? "", "carol");
  const changed = await ask();
  expect([changed.status, listed(changed.text)]).toEqual([200, ["Pay 1?"]]);
});

test("a question is recorded as shown, whatever its reader says of an earlier look", async () => {
  const facts: AuditFact[] = [];
  const { open, taskIds } = await asked(FOUR, { audit: { note: async (fact) => void facts.push(fact) } });
  const shown = () => facts.filter(({ action, door }) => action === "shown" && door === "page").map(({ taskId }) => taskId);
  for (let look = 0; look < 2; look += 1) await open(`?ask=${taskIds[0]}/it`, "bob", { "if-none-match": '"x"' });
  expect(shown()).toEqual([taskIds[0]]);
});

test("a question that somebody else has answered says so in its place", async () => {
  const { open, decline, taskIds } = await asked(FOUR);
  await decline(taskIds[0] ?? "", "carol");
  expect((await open(`?ask=${taskIds[0]}/it`, "bob")).text).toContain("carol declined it.");
});

test("who has answered keeps a list of it, and the question's page says that it counted; nobody else has either", async () => {
  const { open, decline, taskIds, here, services } = await asked(FOUR);
  await decline(taskIds[0] ?? "", "bob");
  // On a page, a question of one's own call as well.
  await decline(taskIds[3] ?? "", "ann");
  for (const taskId of [taskIds[0], taskIds[3]]) await until(async () => (await services.store.load(taskId ?? ""))?.status === "completed");
  const listOf = async (who: string, query = "") => {
    const { status, text } = await open(`/answered${query}`, who);
    return [status, ...text.matchAll(/<li><a href="([^"]+)">\s*<span class="what" dir="auto">([^<]*)/g)].map((each) =>
      typeof each === "number" ? each : each.slice(1, 3).join(" "),
    );
  };
  expect(await listOf("bob")).toEqual([200, `/asks/${taskIds[0]}/it You declined.`]);
  expect(await listOf("ann")).toEqual([200, `/asks/${taskIds[3]}/it It was answered.`]);
  expect(await listOf("carol")).toEqual([200]);
  expect((await open("/answered", "carol", { "accept-language": "de" })).text).toContain("Sie haben nichts beantwortet");
  expect((await open("/answered?cursor=forged", "bob")).status).toBe(400);
  expect((await open("", "bob")).text).toContain('href="inbox/answered"');
  const page = async (who: string) => {
    const response = await fetch(`${new URL(here.url).origin}/asks/${taskIds[0]}/it`, { headers: { "x-principal": who } });
    return (await response.text()).replace(/<style>[^]*<\/style>/, "");
  };
  expect(await page("bob")).toMatch(/Your answer counted[^]*You declined/);
  expect(await page("carol")).toMatch(/This question is closed[^]*bob declined it/);
  expect(await page("mallory")).toContain("Not found");
});

test("a page hears at once that something has changed for its person, through any front end, and nobody else's page does", async () => {
  // A heartbeat would be text as well.
  const { follow, decline, taskIds, open, services } = await asked(FOUR, { times: { keepAliveMs: 3_600_000 } });
  expect((await open("", "bob")).text).toContain('data-changes="inbox/changes"');
  const [bob, carol, mallory] = [await follow("bob"), await follow("carol"), await follow("mallory")];
  const pages = [bob, carol, mallory];
  // Once at first, for what changed since the page was written.
  await until(() => pages.every(({ told }) => told === 1));
  // Later than events that would be one with the first.
  await sleep(300);
  await decline(taskIds[0] ?? "", "carol");
  await until(() => bob.told === 2 && carol.told === 2);
  // Its task goes on and ends, which is no change of what is asked.
  await until(async () => (await services.store.load(taskIds[0] ?? ""))?.status === "completed");
  await sleep(300);
  await decline(taskIds[1] ?? "", "carol");
  await until(() => carol.told === 3);
  expect([bob.told, mallory.told]).toEqual([2, 1]);
  // It says that something has changed, and nothing else.
  expect(carol.text).toBe("event: message\ndata: {}\n\n".repeat(3));
});

test("a person's pages on one front end are limited, at the limit and one beyond; one that leaves makes room for another", async () => {
  const { follow } = await asked([]);
  const pages = await Promise.all(Array.from({ length: INBOX_STREAMS_MAX }, () => follow("bob")));
  expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 200));
  expect([(await follow("bob")).status, (await follow("carol")).status]).toEqual([429, 200]);
  pages[0]?.leave();
  await until(async () => (await follow("bob")).status === 200);
});

test("the places for streams are shared: those that are refused one leave none behind", async () => {
  const { follow } = await asked([], { limits: { listensMax: 1 } });
  const first = await follow("bob");
  for (let count = 0; count <= INBOX_STREAMS_MAX; count += 1) expect((await follow("carol")).status).toBe(503);
  first.leave();
  await until(async () => (await follow("carol")).status === 200);
});

test("no stream for a page of another site, or for people who cannot be told apart; one ends with its login and its front end", async () => {
  const ending: Visitors = {
    ...visitors,
    authenticate: ({ headers: { "x-principal": who } }) =>
      callerNamed(String(who), who === "bob" ? { expiresAtMs: Date.now() + 1_000 } : {}),
  };
  const { follow, fronts } = await asked([], { visitors: ending, times: { keepAliveMs: 50 } });
  expect((await follow("bob", { headers: { "sec-fetch-site": "same-site" } })).status).toBe(204);
  const expiring = await follow("bob");
  await until(() => expiring.isOver);
  expect(expiring.text).toContain("retry: ");
  const last = await follow("carol");
  await Promise.all(fronts.map(({ app }) => app.close()));
  await until(() => last.isOver);
  const local = localVisitors(signatures(stateKeys(["a secret that every front end of this test knows"])));
  const laptop = await asked([], { visitors: local, authenticate: anonymous });
  const query = `?k=${local.ticket?.("", "") ?? ""}`;
  expect((await laptop.follow("ann", { query })).status).toBe(204);
  expect((await laptop.open(query, "ann")).text).not.toContain("data-changes");
});

test("a page that reads nothing is written nothing more, is cut off, and leaves its place to others", async () => {
  const { here, there, follow, decline, taskIds } = await asked(FOUR, {
    limits: { listensMax: 1 },
    times: { keepAliveMs: 50, stallTimeoutMs: 1_000 },
  });
  const opened = Promise.withResolvers<ServerResponse>();
  there.app.server.server.on("request", (incoming, response) => incoming.url === "/inbox/changes" && opened.resolve(response));
  const socket = connect(Number(new URL(there.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  socket.write("GET /inbox/changes HTTP/1.1\r\nhost: 127.0.0.1\r\nx-principal: bob\r\naccept: text/event-stream\r\n\r\n");
  socket.pause();
  const response = await opened.promise;
  await until(() => response.headersSent);
  // More than the buffers of both ends hold.
  for (let count = 0; count < 40; count += 1) response.write(`: ${"x".repeat(1_000_000)}\n\n`);
  const { writableLength } = response;
  await decline(taskIds[0] ?? "", "carol");
  await decline(taskIds[2] ?? "", "carol");
  expect(response.writableLength).toBeLessThanOrEqual(writableLength);
  await until(() => response.destroyed);
  await until(async () => (await follow("carol")).status === 200);
  expect((await follow("carol", { front: here })).status).toBe(200);
});

const batchOf = (ids: readonly string[]) => `?${new URLSearchParams(ids.map((id): [string, string] => ["batch", `${id}/it`])).toString()}`;

/** Sends the form of a batch as a browser would. */
async function sendBatch(
  front: Front,
  text: string,
  who: string,
  fields: readonly [string, string][],
  headers: Record<string, string> = {},
) {
  const form = /<form class="flow question"[^]*?<\/form>/.exec(text)?.[0] ?? "";
  const response = await fetch(`${new URL(front.url).origin}/inbox/batch`, {
    method: "POST",
    headers: { "x-principal": who, ...headers },
    body: new URLSearchParams([...hiddenIn(form), ...fields]),
  });
  const body = (await response.text()).replace(/<style>[^]*<\/style>/, "");
  const receipts = [...body.matchAll(/<li><a [^>]*>([^<]*)<\/a> <span class="tag \w+">([^<]*)/g)].map(
    ([, what, became]) => `${what} ${became}`,
  );
  return { status: response.status, body, receipts };
}

const SIX = [
  ["pay", { message: "Pay 1?", group: "finance", timeout: "1 day" }],
  ["pay", { message: "Pay 2?", group: "finance", timeout: "2 days" }],
  ["pay", { message: "Pay 3?", group: "finance", timeout: "3 days" }],
  ["ship", { message: "Ship?", group: "finance", timeout: "4 days" }],
  ["wipe", { message: "Wipe?", group: "finance", timeout: "5 days" }],
  ["pay", { message: "Pay for ann?" }],
] as const;

describe("several questions", () => {
  const named = (text: string) => [...text.matchAll(/<summary><span dir="auto">([^<]*)/g)].map(([, what]) => what);
  const apart = (text: string) =>
    [...text.matchAll(/<li><span dir="auto">([^<]*)<\/span> <span class="quiet">([^<]*)/g)].map(([, what, why]) => `${what}: ${why}`);
  const outcomeOf = async ({ services }: Pick<Awaited<ReturnType<typeof asked>>, "services">, taskId = "") => {
    await until(async () => (await services.store.load(taskId))?.status === "completed");
    return JSON.stringify((await services.store.load(taskId))?.outcome);
  };

  test("are answered with one form if they are equal and can be undone, each with its receipt; the others are named and stay open", async () => {
    const all = await asked(SIX);
    const { open, taskIds, there, services } = all;
    const { status, text } = await open(batchOf(taskIds), "bob");
    expect([status, named(text)]).toEqual([200, ["Pay 1?", "Pay 2?", "Pay 3?"]]);
    expect(apart(text)).toEqual([
      "Ship?: has another form",
      "⚠️ Wipe?: cannot be undone, so it is answered by itself",
      ": does not exist, or is not for you",
    ]);
    expect(text).toContain("<h2>Answer 3 questions together</h2>");
    expect(text).toContain("All of them get the answer");
    const alone = (await open(batchOf(taskIds.slice(0, 1)), "bob")).text;
    expect(alone).toContain("<h2>Answer 1 question</h2>");
    expect(alone).not.toContain("All of them");
    const { receipts, body } = await sendBatch(there, text, "bob", [["action", "yes"]]);
    expect(receipts).toEqual(["Pay 1? counted", "Pay 2? counted", "Pay 3? counted"]);
    expect(body).toContain("3 of 3 answers counted.");
    for (const taskId of taskIds.slice(0, 3)) expect(await outcomeOf(all, taskId)).toContain("true");
    for (const taskId of taskIds.slice(3)) expect((await services.store.load(taskId))?.status).toBe("input_required");
    // Sent again, because the reply was lost, nothing changes, and it says what counted.
    const again = await sendBatch(there, text, "bob", [["action", "no"]]);
    expect(again.receipts).toEqual(Array.from({ length: 3 }, () => "A question You answered: yes"));
    expect(again.body).toContain("3 of 3 answers counted.");
  });

  test("are shown whole, also if the caller's text in a message looks as if they were asked again", async () => {
    const message = "Pay Bob\n\nThe last answer does not fit: no\nall of it?";
    const { open, taskIds } = await asked([
      ["pay", { group: "finance", message }],
      ["pay", { group: "finance", message: "Pay?" }],
    ]);
    for (const query of [batchOf(taskIds), `?ask=${taskIds[0]}/it`]) {
      const { text } = await open(query, "bob");
      expect(/<p class="said"[^>]*>([^<]*)/.exec(text)?.[1], query).toBe(message);
      expect(text).not.toContain('role="alert"');
    }
  });

  test("count each by itself: what somebody else was faster with says who, and takes back no other", async () => {
    const all = await asked(SIX);
    const { open, decline, taskIds, there } = all;
    const { text } = await open(batchOf(taskIds.slice(0, 3)), "bob");
    await decline(taskIds[1] ?? "", "carol");
    const { receipts, body } = await sendBatch(there, text, "bob", [
      ["action", "decline"],
      ["reason", "not this year"],
    ]);
    expect(receipts).toEqual(["Pay 1? counted", "Pay 3? counted", expect.stringContaining("carol declined it.")]);
    expect(body).toContain("2 of 3 answers counted.");
    expect(await outcomeOf(all, taskIds[0])).toContain("not this year");
  });

  test("are not answered for anybody else, with a form of another person, changed, of another site, too large or too many", async () => {
    const { open, taskIds, there, services } = await asked(SIX);
    const { text } = await open(batchOf(taskIds), "bob");
    const yes: [string, string][] = [["action", "yes"]];
    expect((await sendBatch(there, text, "carol", yes)).status).toBe(409);
    expect((await sendBatch(there, text, "mallory", yes)).status).toBe(409);
    expect((await sendBatch(there, text, "bob", yes, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await sendBatch(there, text, "bob", yes, { origin: "https://evil.example" })).status).toBe(403);
    // A risky question that is smuggled in with a token of its own page.
    const alone = await (await fetch(`${new URL(there.url).origin}/asks/${taskIds[4]}/it`, { headers: { "x-principal": "bob" } })).text();
    const risky: [string, string][] = [["ask", `${taskIds[4]}/it`], ...hiddenIn(alone).filter(([name]) => name !== "zone")];
    const smuggled = await sendBatch(there, text, "bob", [...risky, ...yes]);
    expect(smuggled.receipts).toEqual([
      "Pay 1? counted",
      "Pay 2? counted",
      "Pay 3? counted",
      "⚠️ Wipe? cannot be undone, so it is answered by itself",
    ]);
    expect((await services.store.load(taskIds[4] ?? ""))?.status).toBe("input_required");
    for (const fields of [[["ask", "x"]], [["ask", `${taskIds[0]}/it`]], Array.from({ length: 60 }, (_, at) => ["ask", `a/${at}`])])
      expect((await sendBatch(there, text, "bob", [...(fields as [string, string][]), ...yes])).status).toBe(400);
    expect((await sendBatch(there, "", "bob", yes)).status).toBe(400);
    expect((await sendBatch(there, text, "bob", [["x", "x".repeat(400_000)]])).status).toBe(413);
    expect((await sendBatch(there, text, "bob", [["action", "burn"]])).status).toBe(200);
    const many = batchOf(Array.from({ length: BATCH_MAX + 20 }, (_, at) => `0-${at}`));
    expect(apart((await open(many, "bob")).text)).toHaveLength(BATCH_MAX);
    expect((await open("?batch=x&batch=%00/%00&batch[]=1", "bob")).status).toBe(200);
  });

  test("are none of them answered unless each was shown to this person, as it is", async () => {
    const { open, taskIds, there, services } = await asked(SIX);
    const { text } = await open(batchOf(taskIds.slice(0, 3)), "bob");
    const tokenIn = (page: string) => hiddenIn(page).find(([name]) => name === "token")?.[1] ?? "";
    const [ofCarol, ofShip] = [await open(batchOf(taskIds.slice(0, 3)), "carol"), await open(batchOf(taskIds.slice(3, 4)), "bob")];
    const token = tokenIn(text);
    for (const [name, value] of [
      ["token", ""],
      ["token", "x".repeat(22)],
      ["token", `${token}=`],
      ["token", token.slice(1)],
      ["token", tokenIn(ofCarol.text)],
      ["token", tokenIn(ofShip.text)],
      ["shown", "another question"],
      ["shown", ""],
    ] as const) {
      for (const at of [0, 1, 2]) {
        let index = 0;
        const changed = text.replaceAll(
          new RegExp(`(name="${name}" value=")([^"]*)`, "g"),
          (_, before: string, given: string) => `${before}${index++ === at ? value : given}`,
        );
        expect(changed).not.toBe(text);
        const { status, receipts } = await sendBatch(there, changed, "bob", [["action", "yes"]]);
        expect([status, receipts], `${name} ${at}: ${value}`).toEqual([409, []]);
      }
    }
    for (const taskId of taskIds) expect((await services.store.load(taskId))?.status).toBe("input_required");
    expect((await sendBatch(there, text, "bob", [["action", "yes"]])).receipts).toHaveLength(3);
  });

  test("are answered without those that need another login, which say so and stay open, also if it has ended since they were shown", async () => {
    const pay = (message: string, needsLogin = false) => ["pay", { message, group: "finance", needsLogin }] as const;
    const all = await asked([pay("Pay 1?"), pay("Pay 2?", true), pay("Pay 3?")]);
    const { open, taskIds, there, services } = all;
    const before = await open(batchOf(taskIds), "bob");
    expect([named(before.text), apart(before.text)]).toEqual([["Pay 1?", "Pay 3?"], ["Pay 2?: needs another login: open it"]]);
    const { text } = await open(batchOf(taskIds), "bob", { "x-login": "1" });
    expect([named(text), apart(text)]).toEqual([["Pay 1?", "Pay 2?", "Pay 3?"], []]);
    const left = await open(batchOf([taskIds[1] ?? ""]), "bob", { "x-login": "1" });
    for (const action of ["yes", "decline"]) {
      const { receipts, body } = await sendBatch(there, left.text, "bob", [["action", action]]);
      expect([receipts, body]).toEqual([["Pay 2? needs another login: open it"], expect.stringContaining("0 of 1 answers counted.")]);
    }
    const { receipts, body } = await sendBatch(there, text, "bob", [["action", "yes"]]);
    expect(receipts).toEqual(["Pay 1? counted", "Pay 3? counted", "Pay 2? needs another login: open it"]);
    expect(body).toContain("2 of 3 answers counted.");
    expect((await services.store.load(taskIds[1] ?? ""))?.status).toBe("input_required");
    expect((await sendBatch(there, left.text, "bob", [["action", "yes"]], { "x-login": "1" })).receipts).toEqual(["Pay 2? counted"]);
    expect(await outcomeOf(all, taskIds[1])).toContain("true");
  });

  test("that do not fit the answer stay open, and the form comes back filled in", async () => {
    const { open, taskIds, there, services } = await asked([
      ["order", { message: "How many 1?", group: "finance" }],
      ["order", { message: "How many 2?", group: "finance" }],
    ]);
    const { text } = await open(batchOf(taskIds), "bob");
    const send = (count: string, more: readonly [string, string][] = []) =>
      sendBatch(there, text, "bob", [["action", "accept"], ["f0", count], ...more]);
    for (const count of ["30", "many", ""]) {
      const refused = await send(count);
      expect([refused.status, refused.body]).toEqual([422, expect.stringContaining('aria-invalid="true"')]);
      expect(refused.body).toContain(`name="f0" value="${count}"`);
    }
    expect((await send("3", [["only", "check"]])).status).toBe(204);
    for (const taskId of taskIds) expect((await services.store.load(taskId))?.status).toBe("input_required");
    expect((await send("3")).receipts).toEqual(["How many 1? counted", "How many 2? counted"]);
  });

  test("are answered as fast as the person's rate allows, and one that is beyond it says so", async () => {
    const rates: Rates = {
      async take(_caller, { answers = 0 }) {
        if (answers > 0 && (left -= 1) < 0) throw new ParleyError("QUOTA_EXCEEDED", "slow down", { data: { retryAfterMs: 60_000 } });
      },
    };
    let left = 2;
    const { open, taskIds, there } = await asked(SIX, { rates });
    const { text } = await open(batchOf(taskIds.slice(0, 3)), "bob");
    const { receipts } = await sendBatch(there, text, "bob", [["action", "yes"]]);
    expect(receipts.toSorted()).toEqual(["Pay 1? counted", "Pay 2? counted", "Pay 3? not sent: too many at once"]);
  });
});

describe("around a question", () => {
  const around = (text: string) =>
    /(<div class="heard[^]*?<\/div>)[^]*(<section class="around[^]*?<\/section>)/.exec(text)?.slice(1).join("") ?? "";
  /** Sends one of its forms, as a browser without script would. */
  async function join(front: Front, page: string, who: string, fields: Readonly<Record<string, string>>, at: string) {
    const form = [...around(page).matchAll(/<form class="join"[^]*?<\/form>/g)]
      .map(([each]) => each)
      .find((each) => each.includes(`value="${fields["action"]}"`));
    return await fetch(new URL(at, front.url), {
      method: "POST",
      headers: { "x-principal": who },
      body: new URLSearchParams([...hiddenIn(form ?? around(page)), ...Object.entries(fields)]),
      redirect: "manual",
    });
  }

  test("who is on it and comments are shown to everyone who is asked, in the list and beside it, and keep nobody from answering", async () => {
    const { open, decline, taskIds, here, there, services } = await asked(FOUR);
    const [path, query] = [`/asks/${taskIds[0]}/it`, `?ask=${taskIds[0]}/it`];
    const first = await open(query, "bob");
    const claimed = await join(here, first.text, "bob", { action: "claim" }, path);
    expect([claimed.status, claimed.headers.get("location")]).toEqual([303, `/inbox?ask=${encodeURIComponent(`${taskIds[0]}/it`)}`]);
    const changed = await open(query, "carol", { "if-none-match": first.headers.get("etag") ?? "" });
    expect(changed.status).toBe(200);
    expect(around(changed.text)).toMatch(/<bdi translate="no">bob<\/bdi> is on it until <time/);
    expect(changed.text).toContain('<span class="tag claimed">bob is on it</span>');
    expect((await open(query, "bob", { "accept-language": "de" })).text).toContain("Sie kümmern sich darum");
    // Somebody else cannot take it, and may answer.
    expect((await join(there, changed.text, "carol", { action: "claim" }, path)).status).toBe(303);
    const said = await join(there, changed.text, "carol", { action: "comment", text: "  Which <b>budget</b>?\r\nMarch?  " }, path);
    expect(said.status).toBe(303);
    const { text } = await open(query, "bob");
    expect(around(text)).toContain("Which &lt;b&gt;budget&lt;/b&gt;?\nMarch?</p>");
    expect(around(text)).toMatch(/What happened[^]*The tool asked[^]*You were on it[^]*, \d+ seconds? later<[^]*carol commented/);
    expect(text).toContain("1 comment<");
    // From its own page, back to it.
    const own = await (await fetch(new URL(path, here.url), { headers: { "x-principal": "bob" } })).text();
    const released = await join(here, own, "bob", { action: "release" }, path);
    expect([released.status, released.headers.get("location")]).toEqual([303, path]);
    expect(around((await open(query, "carol")).text)).not.toContain("is on it until");
    await decline(taskIds[0] ?? "", "carol");
    await until(async () => (await services.store.load(taskIds[0] ?? ""))?.status === "completed");
    const record = (await open(query, "bob")).text;
    expect(around(record)).toMatch(/Which [^]*What happened[^]*carol declined/);
    expect(around(record)).not.toContain("<form");
  });

  test("what comes while nobody answers is shown beside it, and what came also in the list, to everyone who is asked", async () => {
    const { open, taskIds, here, services } = await asked([
      ["pay", { message: "Pay 1?", group: "finance", timeout: "3 days", leads: "<i>stock</i>" }],
    ]);
    const [taskId = ""] = taskIds;
    const query = `?ask=${taskId}/it`;
    const first = await open(query, "bob");
    const stock = "<bdi>the group &lt;i&gt;stock&lt;/i&gt;</bdi>";
    expect(first.text).toMatch(
      /If nobody answers<\/dt><dd>Reminder on <time[^>]*>[^<]*<\/time><br>On <time[^>]*>[^<]*<\/time> also asked: <bdi>/,
    );
    expect(first.text).toContain(`also asked: ${stock}</dd>`);
    expect(first.text).not.toMatch(/Reminded<|Also asked<|>reminded</);
    const german = { "accept-language": "de" };
    expect((await open(query, "bob", german)).text).toMatch(/Erinnerung am <time[^]*<br>Am <time[^]*auch gefragt: <bdi>die Gruppe/);
    const page = await (await fetch(new URL(`/asks/${taskId}/it`, here.url), { headers: { "x-principal": "bob" } })).text();
    expect(page).toContain(`also asked: ${stock}</dd>`);
    const [ask] = (await services.store.load(taskId))?.asks ?? [];
    const { digest = "", askedAtMs = 0 } = ask ?? {};
    const happen = async (thread: object, what: "reminded" | "escalated") => {
      const seen = (await services.store.load(taskId))?.asks[0]?.thread?.revision;
      const written = await services.store.writeThread({
        taskId,
        key: "it",
        digest,
        ...(seen !== undefined && { seen }),
        thread: { comments: 0, reminded: { count: 1, atMs: askedAtMs }, ...thread },
        history: [what === "reminded" ? { what, atMs: askedAtMs } : { what, atMs: askedAtMs, to: { groups: ["<i>stock</i>"] } }],
        nowMs: askedAtMs,
      });
      expect(written).toBe("accepted");
    };

    await happen({}, "reminded");
    const changed = await open(query, "carol", { "if-none-match": first.headers.get("etag") ?? "" });
    expect([changed.status, changed.text]).toEqual([200, expect.stringMatching(/Reminded<\/dt><dd><time[^]*<dd>Reminder on <time/)]);
    expect(changed.text).toContain('<span class="tag later">reminded</span>');
    await happen({ escalatedTo: [{ groups: ["<i>stock</i>"] }] }, "escalated");
    const { text } = await open(query, "bob");
    expect(text).toContain(`<span class="tag later">also asked: ${stock}</span>`);
    expect(text).toMatch(/Also asked<\/dt><dd><bdi>the group[^]*Reminded<\/dt><dd><time[^]*<dd>Reminder on <time/);
    expect(text).not.toMatch(/On <time[^>]*>[^<]*<\/time> also asked/);
    expect((await open("", "bob", german)).text).toContain("auch gefragt: <bdi>die Gruppe");
    const timeline = await fetch(new URL(`/play/api/tasks/${taskId}/timeline`, here.url), { headers: { "x-principal": "ann" } });
    expect(await timeline.json()).toMatchObject({
      asks: [
        {
          remindedAtMs: askedAtMs,
          escalatedTo: [{ groups: ["<i>stock</i>"] }],
          upcoming: [{ what: "reminded", atMs: askedAtMs + 7_200_000 }],
        },
      ],
    });
  });

  test("is not for those who are not asked, of one's own question, blank, too long, late, or beyond what a question has", async () => {
    const { open, decline, taskIds, here, there } = await asked(FOUR);
    const path = `/asks/${taskIds[0]}/it`;
    const { text } = await open(`?ask=${taskIds[0]}/it`, "bob");
    // The token is another person's.
    expect((await join(here, text, "mallory", { action: "claim" }, path)).status).toBe(404);
    expect((await join(here, text, "carol", { action: "comment", text: "x" }, path)).status).toBe(409);
    for (const [words, status, said] of [
      ["", 400, "Nothing was written"],
      ["  \r\n ", 400, "Nothing was written"],
      ["x".repeat(COMMENT_CHARS_MAX + 1), 413, "Too large"],
    ] as const) {
      const refused = await join(here, text, "bob", { action: "comment", text: words }, path);
      expect([refused.status, await refused.text()]).toEqual([status, expect.stringContaining(said)]);
    }
    // Of a question that asks nobody else nobody would hear: it can only be put aside.
    expect(around((await open(`?ask=${taskIds[3]}/it`, "ann")).text)).not.toMatch(/value="(claim|comment|delegate)"/);
    for (let count = 0; count < COMMENTS_MAX; count += 1)
      expect((await join(there, text, "bob", { action: "comment", text: `${count}` }, path)).status).toBe(303);
    const full = await join(there, text, "bob", { action: "comment", text: "more" }, path);
    expect([full.status, await full.text()]).toEqual([409, expect.stringContaining("Too many comments")]);
    await decline(taskIds[0] ?? "", "carol");
    expect((await join(there, text, "bob", { action: "claim" }, path)).status).toBe(409);
  });
});

describe("a question that a person puts aside", () => {
  const HOUR_MS = 3_600_000;

  async function aside(message: object = {}) {
    const all = await asked([["pay", { message: "Pay 1?", group: "finance", ...message }]]);
    const id = `${all.taskIds[0]}/it`;
    /** As a browser without script would. */
    const send = async (who: string, fields: Readonly<Record<string, string>>, headers: Record<string, string> = {}) => {
      const text = (await all.open(`?ask=${id}`, who, headers)).text;
      const response = await fetch(new URL(`/asks/${id}`, all.there.url), {
        method: "POST",
        headers: { "x-principal": who, ...headers },
        body: new URLSearchParams([
          ...hiddenIn(text)
            .filter(([name]) => name === "shown" || name === "token")
            .slice(0, 2),
          ...Object.entries(fields),
        ]),
        redirect: "manual",
      });
      return { status: response.status, text: await response.text(), to: response.headers.get("location") };
    };
    return { ...all, id, send };
  }

  test("leaves their list alone, without script, is found by a filter, says until when, and is brought back", async () => {
    const { open, send, id } = await aside();
    expect((await open(`?ask=${id}`, "bob")).text).toMatch(/<details class="snooze"><summary data-key="s">Put it aside/);
    const before = Date.now();
    expect(await send("bob", { action: "snooze:hours", back: "inbox" })).toMatchObject({
      status: 303,
      to: `/inbox?ask=${encodeURIComponent(id)}`,
    });
    expect([listed((await open("", "bob")).text), listed((await open("", "carol")).text)]).toEqual([[], ["Pay 1?"]]);
    const only = (await open(`?snoozed=only&ask=${id}`, "bob")).text;
    expect(listed(only)).toEqual(["Pay 1?"]);
    expect(only).toMatch(
      /data-view="Put aside"[^]*put aside until <time[^]*You have put it aside until <time[^]*value="unsnooze" data-key="s">Bring it back/,
    );
    const at = Date.parse(/You have put it aside until <time datetime="([^"]+)"/.exec(only)?.[1] ?? "");
    expect(at - before).toBeGreaterThanOrEqual(4 * HOUR_MS);
    expect(at - Date.now()).toBeLessThanOrEqual(4 * HOUR_MS);
    expect((await open(`?snoozed=only`, "bob", { "accept-language": "de" })).text).toContain("zurückgestellt bis ");
    // Others see nothing of it.
    expect((await open(`?ask=${id}`, "carol")).text).not.toMatch(/You have put it aside|value="unsnooze"/);
    expect((await send("bob", { action: "unsnooze" })).status).toBe(303);
    expect(listed((await open("", "bob")).text)).toEqual(["Pay 1?"]);
  });

  test.each([
    ["a time of their own, in their own time zone", { until: "LATER", zone: "Europe/Berlin" }, 303, ""],
    ["a time that is over", { until: "2020-01-01T09:00", zone: "UTC" }, 422, "still to come"],
    ["no time", { until: "soon", zone: "UTC" }, 422, "still to come"],
    ["a time that was not given", { until: "" }, 422, "still to come"],
    ["a time after it closes", { until: "2099-01-01T09:00", zone: "UTC" }, 422, "still to come"],
    ["a time after its deadline", { until: "DEADLINE", zone: "UTC" }, 422, "It closes on "],
    ["a choice that does not exist", { action: "snooze:ever" }, 400, ""],
  ] as const)("until %s", async (_what, fields, status, says) => {
    const { send, open } = await aside();
    const local = (ms: number) => new Date(ms).toISOString().slice(0, 16);
    const given = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        String(value)
          // In Berlin, a time that is written down is an hour or two earlier in UTC.
          .replace("LATER", local(Date.now() + 4 * HOUR_MS))
          .replace("DEADLINE", local(Date.now() + 72 * HOUR_MS)),
      ]),
    );
    const sent = await send("bob", { action: "snooze:until", ...given });
    expect([sent.status, sent.text]).toEqual([status, expect.stringContaining(says)]);
    if (status === 422) expect(sent.text).toMatch(/<details class="snooze" open>[^]*aria-invalid="true"/);
    expect(listed((await open("", "bob")).text)).toEqual(status === 303 ? [] : ["Pay 1?"]);
  });

  test("for an hour, although another time was refused before", async () => {
    const { send, open } = await aside();
    const refused = await send("bob", { action: "snooze:until", until: "2020-01-01T09:00", zone: "UTC" });
    const form = [...refused.text.matchAll(/<form class="join[^]*?<\/form>/g)]
      .map(([each]) => each)
      .find((each) => each.includes("snooze:hour"));
    const typed = [...(form ?? "").matchAll(/name="until"[^>]* value="([^"]*)"/g)].map(([, value]) => ["until", value!]);
    expect((await send("bob", { ...Object.fromEntries(typed), action: "snooze:hour", zone: "UTC" })).status).toBe(303);
    expect(listed((await open("", "bob")).text)).toEqual([]);
    // Enter in the field presses the first button of its form.
    const own = /<form class="join flow"(?:(?!<form)[^])*id="snooze-until"[^]*?<\/form>/.exec(refused.text)?.[0] ?? "";
    expect([...own.matchAll(/<button name="action" value="([^"]*)"/g)].map(([, value]) => value)).toEqual(["snooze:until"]);
  });

  test("offers no time after its deadline, and only the field where nothing is left", async () => {
    const { open, id } = await aside({ timeout: "3 hours" });
    const { text } = await open(`?ask=${id}`, "bob");
    expect([...text.matchAll(/value="snooze:(\w+)"/g)].map(([, each]) => each)).toEqual(["hour", "until"]);
    const short = await aside({ timeout: "30 minutes" });
    expect((await short.open(`?ask=${short.id}`, "bob")).text).not.toContain("snooze:hour");
    expect((await short.send("bob", { action: "snooze:hour" })).text).toContain("It closes on ");
  });

  test("is not for the person who called and does not answer it, nor for anybody else", async () => {
    const { send, open, id } = await aside();
    expect((await open(`?ask=${id}`, "ann")).text).not.toMatch(/class="snooze"/);
    expect((await send("ann", { action: "snooze:hour" })).status).toBe(403);
    expect((await send("eve", { action: "snooze:hour" })).status).not.toBe(303);
    expect(listed((await open("", "bob")).text)).toEqual(["Pay 1?"]);
  });
});

describe("a question that may be handed on", () => {
  const HANDED = [["pay", { message: "Pay 1?", group: "finance", mayHandOn: true }]] as const;
  const TO = { action: "delegate", kind: "people", names: "dora", reason: "On <b>leave</b>" };

  async function handing(calls: Parameters<typeof asked>[0] = HANDED, more: Parameters<typeof asked>[1] = {}) {
    const all = await asked(calls, more);
    const id = `${all.taskIds[0]}/it`;
    const page = async (who: string, headers: Record<string, string> = {}) => {
      const response = await fetch(new URL(`/asks/${id}`, all.here.url), { headers: { "x-principal": who, ...headers } });
      return { status: response.status, text: (await response.text()).replace(/<style>[^]*<\/style>/, "") };
    };
    /** As a browser without script would, from the page at which the person is. */
    const send = async (who: string, fields: Readonly<Record<string, string>>, from?: string) => {
      const { text } = from === undefined ? await page(who) : { text: from };
      const response = await fetch(new URL(`/asks/${id}`, all.there.url), {
        method: "POST",
        headers: { "x-principal": who },
        body: new URLSearchParams([...hiddenIn(text).slice(0, 2), ...Object.entries(fields)]),
        redirect: "manual",
      });
      return {
        status: response.status,
        text: (await response.text()).replace(/<style>[^]*<\/style>/, ""),
        to: response.headers.get("location"),
      };
    };
    return { ...all, id, page, send };
  }

  test("goes to those who are named, who read by whom and why; who handed it on reads to whom, and takes it back", async () => {
    const { id, page, send, open, decline, taskIds, services } = await handing();
    expect((await page("bob")).text).toMatch(/<details class="hand-on"><summary data-key="e">Hand it on/);
    expect(await send("bob", TO)).toMatchObject({ status: 303, to: `/asks/${id}` });
    expect(await send("bob", { ...TO, back: "inbox" })).toMatchObject({ status: 303, to: `/inbox?ask=${encodeURIComponent(id)}` });

    const got = await page("dora");
    expect(got.text).toMatch(/Handed on by<\/dt><dd><bdi translate="no">bob<\/bdi>: <span dir="auto">On &lt;b&gt;leave/);
    expect((await open("", "dora")).text).toMatch(/Pay 1\?[^]*<span class="tag later">from bob<\/span>/);
    const gave = await page("bob");
    expect([gave.status, gave.text]).toEqual([
      200,
      expect.stringMatching(/<h1>Handed on<[^]*You handed it on to <bdi>dora<\/bdi>[^]*Take it back/),
    ]);
    expect(gave.text).not.toMatch(/value="(accept|yes|decline|claim|delegate)"/);
    expect((await page("bob", { "accept-language": "de" })).text).toContain("Sie haben sie weitergegeben an <bdi>dora</bdi>");
    expect(listed((await open("", "bob")).text)).toEqual([]);
    expect((await open(`?ask=${id}`, "bob")).text).toMatch(/data-digest="others [^]*<h2>Handed on<[^]*name="back" value="inbox"/);
    // Neither an answer nor a claim counts from there.
    for (const action of ["accept", "yes", "decline", "claim"]) expect((await send("bob", { action })).status).toBe(403);
    // Others who are asked read it too, and may answer their own part.
    expect((await page("carol")).text).toMatch(/What happened[^]*bob handed it on to dora: On &lt;b&gt;leave/);

    expect((await send("bob", { action: "takeBack" })).status).toBe(303);
    expect([(await page("dora")).text, listed((await open("", "bob")).text)]).toEqual([
      expect.stringMatching(/<h1>Handed on<[^]*<bdi translate="no">bob<\/bdi> handed it on to <bdi>bob<\/bdi>, who can answer it now/),
      ["Pay 1?"],
    ]);
    await send("bob", TO);
    await decline(taskIds[0] ?? "", "dora");
    await until(async () => (await services.store.load(taskIds[0] ?? ""))?.status === "completed");
    // The person who called reads by whom, and when.
    expect((await page("ann")).text).toMatch(/This question is closed[^]*dora declined it\.[^]*When<\/dt><dd><time/);
    expect((await page("bob")).text).toMatch(/dora declined it\.[^]*In the place of<\/dt><dd><bdi translate="no">You/);
  });

  test("is asked back about: the open inbox of the person who made the call hears it at once, and that of nobody else", async () => {
    // As an identity provider names people; the call keeps the name of its owner.
    const named: typeof visitors.authenticate = async (request) => {
      const caller = await visitors.authenticate(request);
      return { ...caller, names: [`sub:${caller.principal}`] };
    };
    const { send, follow } = await handing(HANDED, { visitors: { ...visitors, authenticate: named }, authenticate: named });
    const [ann, bob, mallory] = [await follow("ann"), await follow("bob"), await follow("mallory")];
    await until(() => [ann, bob, mallory].every(({ told }) => told === 1));
    expect((await send("bob", { action: "askBack", said: "Which budget?" })).status).toBe(303);
    await until(() => ann.told === 2 && bob.told === 2);
    expect((await send("ann", { action: "reply", said: "Travel." })).status).toBe(303);
    await until(() => ann.told === 3 && bob.told === 3);
    expect(mallory.told).toBe(1);
  });

  test("is asked back about, without script: the person who made the call finds it in their inbox and replies, and is asked nothing else", async () => {
    const { page, send, open } = await handing();
    expect((await page("bob")).text).toMatch(/<summary data-key="q">Ask back/);
    expect((await page("ann")).text).not.toContain('data-key="q"');
    expect((await send("bob", { action: "askBack", said: "Which <b>budget</b>?" })).status).toBe(303);
    expect((await open("", "carol")).text).toContain("waits for a reply");
    expect((await page("bob")).text).toContain("You have asked the person who made the call something, and wait for the reply.");
    expect((await page("bob", { "accept-language": "de" })).text).toContain("Sie haben bei der Person nachgefragt");
    expect((await page("carol")).text).toContain('<bdi translate="no">bob</bdi> has asked the person who made the call something');
    const list = (await open("", "ann")).text;
    expect(listed(list)).toEqual(["Pay 1?"]);
    expect(list).toMatch(/bob asks you back/);
    expect(list).not.toContain('name="batch" value=');
    const wanted = (await page("ann")).text;
    expect(wanted).toMatch(
      /bob<\/bdi> has asked the person who made the call something[^]*Until then the deadline stands still[^]*Which &lt;b&gt;budget/,
    );
    expect(wanted).toMatch(/<details class="comment asking" open><summary data-key="q">Reply/);
    expect((await page("ann", { "accept-language": "de" })).text).toContain("Auskunft geben");
    for (const [fields, status] of [
      [{ action: "reply", said: " " }, 400],
      [{ action: "reply", said: "x".repeat(COMMENT_CHARS_MAX + 1) }, 413],
      [{ action: "askBack" }, 400],
    ] as const)
      expect((await send("ann", fields)).status).toBe(status);
    expect((await send("carol", { action: "reply", said: "Mine?" })).status).toBe(403);
    expect((await send("ann", { action: "askBack", said: "Me?" })).status).toBe(403);
    expect((await send("ann", { action: "reply", said: "Marketing." })).status).toBe(303);
    expect((await send("ann", { action: "reply", said: "Marketing." })).status).toBe(409);
    expect(listed((await open("", "ann")).text)).toEqual([]);
    expect((await page("bob")).text).toMatch(/asks back<\/span>[^]*Marketing\.[^]*You asked back[^]*ann replied/);
  });

  test("goes on from those who got it, whose page says to whom; only the person whose part it is takes it back", async () => {
    const { id, page, send } = await handing();
    await send("bob", TO);
    expect(await send("dora", { ...TO, names: "emil" })).toMatchObject({ status: 303, to: `/asks/${id}` });
    expect((await page("emil")).text).toMatch(/Handed on by<\/dt><dd><bdi translate="no">dora/);
    const gone = (await page("dora")).text;
    expect(gone).toMatch(/<h1>Handed on<[^]*You handed it on to <bdi>emil<\/bdi>, who can answer it now\. You no longer can\./);
    expect(gone).not.toMatch(/value="(accept|yes|decline|claim|delegate|takeBack)"/);
    for (const fields of [{ action: "yes" }, { action: "claim" }, { action: "takeBack" }, TO])
      expect((await send("dora", fields)).status).toBe(403);
    // Whose part it is learns who passed it on.
    expect((await page("bob")).text).toMatch(/<bdi translate="no">dora<\/bdi> handed it on to <bdi>emil<\/bdi>[^]*Take it back/);
    await send("bob", { action: "takeBack" });
    expect((await page("emil")).text).toMatch(/<bdi translate="no">bob<\/bdi> handed it on to <bdi>bob<\/bdi>/);
    expect((await page("fred")).status).toBe(404);
  });

  test("is shown to the person who called as waiting for others, who may comment and do nothing else", async () => {
    const { page, send } = await handing();
    const { status, text } = await page("ann");
    expect([status, text]).toEqual([
      200,
      expect.stringMatching(/<h1>It waits for others<[^]*Pay 1\?[^]*It waits for the group finance until <time/),
    ]);
    expect(text).not.toMatch(/value="(accept|yes|decline|claim|delegate|takeBack)"/);
    expect((await send("ann", { action: "comment", text: "Any news?" })).status).toBe(303);
    expect((await page("bob")).text).toContain("Any news?");
    for (const fields of [{ action: "yes" }, { action: "claim" }, TO, { action: "takeBack" }])
      expect((await send("ann", fields)).status).toBe(403);
  });

  test("comes back with what was typed if somebody or a reason is missing, or too long, and nothing is changed", async () => {
    const { page, send, open } = await handing();
    const names = Array.from({ length: 11 }, (_, at) => `p${at}`).join(", ");
    for (const [fields, problem] of [
      [{ names: " , ;" }, "Name at least one"],
      [{ names }, "At most 10 names"],
      [{ names: "x".repeat(300) }, "At most 10 names"],
      [{ reason: " \r\n" }, "Say why."],
      [{ reason: "x".repeat(1_001) }, "At most 1000 characters."],
    ] as const) {
      const sent = await send("bob", { ...TO, ...fields });
      expect([sent.status, sent.text]).toEqual([422, expect.stringContaining(problem)]);
      expect(sent.text).toMatch(/<details class="hand-on" open>[^]*aria-invalid="true"/);
    }
    const kept = await send("bob", { ...TO, kind: "groups", names: `"><script>`, reason: "" });
    expect(kept.text).toMatch(/<option value="groups" selected>[^]*value="&quot;&gt;&lt;script&gt;"/);
    for (const fields of [{ kind: "everyone" }, { kind: "constructor" }])
      expect((await send("bob", { ...TO, ...fields })).status).toBe(400);
    expect((await send("bob", { action: "delegate" })).status).toBe(400);
    // A form of somebody else, or from another site.
    expect((await send("carol", TO, (await page("bob")).text)).status).toBe(409);
    expect(listed((await open("", "bob")).text)).toEqual(["Pay 1?"]);
  });

  test("is handed on only where its tool allows that, and so often", async () => {
    const plain = await handing(FOUR);
    expect((await plain.page("bob")).text).not.toContain("Hand it on");
    expect(await plain.send("bob", TO)).toMatchObject({ status: 409, text: expect.stringContaining("Not handed on") });
    const { send } = await handing();
    for (let count = 0; count < 10; count += 1) {
      expect((await send("bob", TO)).status).toBe(303);
      expect((await send("bob", { action: "takeBack" })).status).toBe(303);
    }
    expect(await send("bob", TO)).toMatchObject({ status: 409, text: expect.stringContaining("Not handed on") });
  });

  test("to its caller alone is handed on to somebody who finds it", async () => {
    const { send, page, open } = await handing([["pay", { message: "Mine?", mayHandOn: true }]]);
    expect((await send("ann", TO)).status).toBe(303);
    expect([listed((await open("", "dora")).text), (await page("ann")).text]).toEqual([
      ["Mine?"],
      expect.stringContaining("You handed it on to"),
    ]);
  });
});

test("without identity it opens only at the address with its ticket", async () => {
  const local = localVisitors(signatures(stateKeys(["a secret that every front end of this test knows"])));
  const { open } = await asked([["ship", { message: "Mine?" }]], { visitors: local, authenticate: anonymous });
  expect((await open("", "ann")).status).toBe(404);
  expect((await open(`?k=${"x".repeat(22)}`, "ann")).status).toBe(404);
  const { status, text } = await open(`?k=${local.ticket?.("", "") ?? ""}`, "ann");
  expect([status, listed(text)]).toEqual([200, ["Mine?"]]);
  expect(text).toContain('name="k"');
});

test("a script whose page was written for another person is told to load it again, at every front end, and learns nothing; other programs are not asked", async () => {
  const { open, here, taskIds } = await asked([["pay", { message: "Pay?", group: "finance" }]]);
  const [, person = ""] = /data-person="([^"]+)"/.exec((await open("", "bob")).text) ?? [];
  const status = async (who: string, path: string, init: RequestInit = {}) => {
    const response = await fetch(new URL(path, here.url), { ...init, headers: { "x-principal": who, "x-parley-person": person } });
    return [response.status, (await response.text()) === ""];
  };
  const page = `/asks/${taskIds[0]}/it`;
  for (const path of ["/inbox", page]) {
    expect(await status("bob", path)).toEqual([200, false]);
    expect(await status("carol", path)).toEqual([205, true]);
  }
  expect(await status("carol", page, { method: "POST", body: new URLSearchParams() })).toEqual([205, true]);
  expect((await open("", "carol")).status).toBe(200);
});
