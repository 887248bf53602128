/** Pages of questions with a form: what they say, what they accept, and that they give nothing away. */
import { type Caller, ParleyError } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import type { FastifyRequest } from "fastify";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import { answerList } from "./routes/asks/question-view.ts";
import { ENGLISH } from "./texts/texts.ts";
import type { Visitors } from "./front-end/visitors.ts";

const EVERYTHING = z
  .object({
    name: z.string().min(2).meta({ title: "Your name", description: "As on your badge" }),
    about: z.string().max(500).optional(),
    size: z.number().int().min(1).max(20).meta({ title: "Party size" }),
    price: z.number().optional(),
    sure: z.boolean().meta({ title: "Are you sure" }),
    news: z.boolean().default(true),
    maybe: z.boolean().optional(),
    color: z.enum(["red", "green"]),
    toppings: z.array(z.enum(["ham", "olives", "corn"])).max(2),
    day: z.iso.date(),
    at: z.iso.datetime().optional(),
    five: z.enum(["1", "2", "3", "4", "5"]).optional(),
    six: z.enum(["1", "2", "3", "4", "5", "6"]).optional(),
  })
  .refine(({ name }) => name !== "Nobody", { path: ["name"], message: "must be somebody" });

const asking = catalogue([
  defineTool({
    name: "everything",
    async run(_args, ctx) {
      const { action, ...rest } = await ctx.ask("all", {
        message: "Line one\n<b>two</b>",
        schema: EVERYTHING,
        to: { people: ["bob"], groups: ["finance"] },
        not: "caller",
        timeout: "2 days",
      });
      return JSON.stringify({ action, ...rest });
    },
  }),
  defineTool({
    name: "confirm",
    input: z.object({ dangerous: z.boolean().default(false), words: z.string().default("Delete it") }),
    run: async ({ dangerous, words }, ctx) =>
      String(
        await ctx.confirm("sure", {
          message: "Delete?",
          dangerous,
          submitLabel: words,
          cancelLabel: "Keep it",
          to: { people: ["bob"] },
        }),
      ),
  }),
  defineTool({
    name: "risky",
    async run(_args, ctx) {
      const schema = z.object({ all: z.boolean().default(true), scope: z.enum(["one", "many"]).default("many") });
      return JSON.stringify(await ctx.form("risk", { message: "Delete?", schema, destructive: true, to: { people: ["bob"] } }));
    },
  }),
  defineTool({
    name: "two",
    run: async (_args, ctx) =>
      JSON.stringify(
        (await ctx.ask("pay", { message: "Pay?", schema: z.object({ ok: z.boolean() }), to: { groups: ["finance"] }, quorum: 2 })).action,
      ),
  }),
  defineTool({
    name: "pages",
    async run(_args, ctx) {
      const pages = {
        person: { message: "Who?", schema: z.object({ name: z.string() }) },
        trip: { message: "Where to?", schema: z.object({ city: z.string() }) },
      };
      return JSON.stringify(await ctx.wizard("trip", { pages, to: { people: ["bob"] } }));
    },
  }),
  defineTool({
    name: "twice",
    async run(_args, ctx) {
      for (const name of ["one", "two"])
        await ctx.ask(name, { message: `${name}?`, schema: z.object({ ok: z.boolean() }), to: { groups: ["finance"] } });
      return "done";
    },
  }),
  defineTool({
    name: "agrees",
    async run(_args, ctx) {
      const pages = {
        person: { message: "Who?", schema: z.object({ name: z.string() }) },
        terms: { message: "Do you agree?", schema: z.object({ agree: z.boolean() }) },
      };
      return JSON.stringify(await ctx.wizard("join", { pages, to: { people: ["bob"] } }));
    },
  }),
  defineTool({
    name: "late",
    input: z.object({ how: z.enum(["cancel", "decline", "fail", "default"]) }),
    async run({ how }, ctx) {
      const onTimeout = how === "default" ? { default: { ok: true, note: "as usual" } } : how;
      const schema = z.object({ ok: z.boolean(), note: z.string() });
      return JSON.stringify(await ctx.ask("it", { message: "Well?", schema, to: { people: ["bob"] }, onTimeout }));
    },
  }),
  defineTool({
    name: "key",
    run: async (_args, ctx) =>
      String((await ctx.secret("key", { message: "The key?\n\nStep 2 of 2.", to: { people: ["bob"] } })) !== undefined),
  }),
  defineTool({
    name: "look",
    run: async (_args, ctx) =>
      JSON.stringify(await ctx.ask("there", { message: "Look.", url: "http://127.0.0.1:9/<there>", to: { people: ["bob"] } })),
  }),
]);

const PEOPLE: Readonly<Record<string, readonly string[]>> = { bob: ["finance"], carol: ["finance"], ann: [], mallory: [] };
const visitors: Visitors = {
  authenticate: ({ headers }) => {
    const name = String(headers["x-principal"] ?? "ann");
    return callerNamed(name, { groups: PEOPLE[name] ?? [] });
  },
  ticket: undefined,
};

async function asked(tool: string, args: object = {}, more: Partial<Deploy> = {}) {
  const deployment = await deploy({ catalogue: asking, fronts: 2, visitors, ...more });
  const [here, there] = deployment.fronts as [Front, Front];
  const created = await rpc(here, "tools/call", { name: tool, arguments: args }, { principal: "ann" });
  const taskId = String(created.result!["taskId"]);
  const get = async () => (await rpc(there, "tasks/get", { taskId }, { principal: "ann" })).result!;
  await until(async () => (await deployment.services.store.load(taskId))?.status !== "working");
  const [ask] = (await deployment.services.store.load(taskId))!.asks;
  const at = (front: Front, key = ask!.key) => `${new URL(front.url).origin}/asks/${taskId}/${key}`;
  const result = async () => {
    await until(async () => (await get())["status"] === "completed");
    return String((await get())["result"]!["content"]![0]!["text"]);
  };
  return { ...deployment, here, there, taskId, get, at, result };
}

/** The style names what the page may have. */
const unstyled = (text: string) => text.replace(/<style>[^]*<\/style>/, "");

async function open(url: string, who: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers: { "x-principal": who, ...headers } });
  const text = unstyled(await response.text());
  const fields = Object.fromEntries(
    [...text.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  return { status: response.status, text, fields: fields as Record<string, string>, headers: response.headers };
}

type Pairs = readonly (readonly [string, string])[];

async function send(url: string, who: string, pairs: Pairs, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value]));
  const response = await fetch(url, { method: "POST", body, headers: { "x-principal": who, ...headers } });
  return { status: response.status, text: unstyled(await response.text()) };
}

const titleOf = ({ text }: { readonly text: string }) => /<h1>([^<]*)/.exec(text)?.[1];
const hidden = (fields: Record<string, string>): Pairs => Object.entries(fields);

const GOOD: Pairs = [
  ["action", "accept"],
  ["f0", "Bo & <Co>"],
  ["f1", "one\r\ntwo"],
  ["f2", "4"],
  ["f3", ""],
  ["f4", "false"],
  ["f6", ""],
  ["f7", "1"],
  ["f8", "ham"],
  ["f8", "corn"],
  ["f9", "2026-12-24"],
  ["f10", "2026-12-24T19:30:00"],
];

test("a question says who asks, through which tool, for whom, until when and what happens then, in the reader's language", async () => {
  const { at, here } = await asked("everything");
  const { status, text } = await open(at(here), "bob");
  expect(status).toBe(200);
  expect(text).toContain("Line one\n&lt;b&gt;two&lt;/b&gt;");
  for (const part of [
    "everything",
    'in a call of <strong><bdi translate="no">ann</bdi></strong>',
    "bob; the group finance; not the person who made the call",
    "in 47 hours",
    "then it closes without an answer",
  ])
    expect(text).toContain(part);
  const german = await open(at(here), "bob", { "accept-language": "de-AT, en;q=0.5", cookie: "parley-zone=Europe/Vienna" });
  expect(german.text).toContain('<html lang="de" dir="ltr">');
  for (const part of [
    'in einem Aufruf von <strong><bdi translate="no">ann</bdi></strong>',
    "die Gruppe finance",
    "danach wird sie ohne Antwort geschlossen",
    "In der Zeitzone Europe/Vienna",
    "eine ganze Zahl, 1 bis 20",
  ])
    expect(german.text).toContain(part);
});

test.each([
  ["cancel", "then it closes without an answer", "danach wird sie ohne Antwort geschlossen"],
  ["decline", "then it counts as declined", "danach gilt sie als abgelehnt"],
  ["fail", "then the call fails", "danach schlägt der Aufruf fehl"],
  ["default", "then the tool takes this answer: true, as usual", "danach nimmt das Werkzeug diese Antwort: true, as usual"],
])("a question whose time ends with %s says so", async (how, english, german) => {
  const { at, here } = await asked("late", { how });
  const texts = await Promise.all(
    ["en", "de"].map(async (language) => (await open(at(here), "bob", { "accept-language": language })).text),
  );
  expect(texts).toEqual([expect.stringContaining(english), expect.stringContaining(german)]);
});

test("a page of a wizard has a way back where there is a page before it, and comes back filled in", async () => {
  const { at, here, there, services, taskId, result } = await asked("pages");
  const first = await open(at(here), "bob");
  expect(first.text).toContain('<p class="quiet">Step 1 of 2</p>');
  expect(first.text).toContain(">Next</bdi>");
  expect(first.text).toContain(">Decline</bdi>");
  expect((await open(at(here), "bob", { "accept-language": "de" })).text).toContain('<p class="quiet">Schritt 1 von 2</p>');
  const next = async (key: string) => await until(async () => (await services.store.load(taskId))?.asks.some((ask) => ask.key === key));
  const led = await send(at(here), "bob", [...hidden(first.fields), ["action", "accept"], ["f0", "Bo"]]);
  expect(led.text).toContain("Step 2 of 2");
  expect(led.text).toMatch(/Your answer has arrived[.] <a href="\/asks\/[^"]*\/trip\/person">See the record/);
  expect(led.text).not.toContain("returns to the step before");
  const second = await open(at(there, "trip/trip"), "bob");
  expect(second.text).not.toContain("Your answer has arrived");
  expect(second.text).toContain('value="decline" data-key="d" formnovalidate><bdi>Back</bdi>');
  expect(second.text).not.toContain('name="reason"');
  expect((await open(at(there, "trip/trip"), "bob", { "accept-language": "de" })).text).toContain("<bdi>Zurück</bdi>");
  const sent = await send(at(there, "trip/trip"), "bob", [...hidden(second.fields), ["action", "decline"], ["f0", ""]]);
  expect(sent.text).toContain('name="f0" type="text" value="Bo"');
  expect(sent.text).not.toContain("Your answer has arrived");
  const again = await open(at(here, "trip/person%232"), "bob");
  expect(again.text).toContain('name="f0" type="text" value="Bo"');
  await send(at(here, "trip/person%232"), "bob", [...hidden(again.fields), ["action", "accept"], ["f0", "Bob"]]);
  await next("trip/trip#2");
  const last = await open(at(here, "trip/trip%232"), "bob");
  await send(at(here, "trip/trip%232"), "bob", [...hidden(last.fields), ["action", "accept"], ["f0", "Graz"]]);
  expect(JSON.parse(await result())).toEqual({ person: { name: "Bob" }, trip: { city: "Graz" } });
});

test("the next question of the same task opens after an answer, for whom it is, where they are, and only there", async () => {
  const { at, here, there, services, taskId } = await asked("pages");
  const forged = await open(`${at(here)}?after=${encodeURIComponent(`${taskId}/trip/person AAAAAAAAAAAAAAAAAAAAAA`)}`, "bob");
  expect(forged.text).not.toContain("answer has arrived");
  const beside = await open(`${new URL(here.url).origin}/inbox?ask=${taskId}/trip/person`, "bob");
  expect(beside.fields).toMatchObject({ back: "inbox" });
  const led = await send(at(there), "bob", [...hidden(beside.fields), ["action", "accept"], ["f0", "Bo"]]);
  expect(led.text).toContain('<main class="inbox has-ask"');
  expect(led.text).toMatch(/data-ask="[^"]*\/trip\/trip"/);
  // Who comes back to the page of what they have answered finds the way on, and nobody else does.
  expect((await open(at(here), "bob")).text).toMatch(/<a class="button main" href="\/asks\/[^"]*\/trip\/trip\?after=[^"]*" data-next=/);
  expect((await open(at(here), "ann")).text).not.toContain("data-next");
  await services.store.cancel({ taskId, nowMs: Date.now(), message: "no more" });
  expect((await open(at(here), "bob")).text).not.toContain("data-next");
});

test("the way on from a question that somebody else has answered says of nobody else that their answer has arrived", async () => {
  const { at, here, services, taskId } = await asked("twice");
  const { fields } = await open(at(here, "one"), "bob");
  await send(at(here, "one"), "bob", [...hidden(fields), ["action", "decline"]]);
  await until(async () => (await services.store.load(taskId))?.asks.some(({ key }) => key === "two"));
  const wayOn = async (who: string) => /href="([^"]*)" data-next/.exec((await open(at(here, "one"), who)).text)?.[1] ?? "";
  const follow = async (who: string) => (await open(new URL((await wayOn(who)).replaceAll("&amp;", "&"), here.url).href, who)).text;
  expect(await follow("carol")).toMatch(/^(?![^]*answer has arrived)[^]*two[?]/);
  expect(await follow("bob")).toContain("Your answer has arrived");
});

test("an answer that counted is said to count, although nobody can see what comes next", async () => {
  const { at, here, services } = await asked("twice");
  const { fields } = await open(at(here, "one"), "bob");
  const watch = async () => Promise.reject(new ParleyError("UNAVAILABLE", "Redis does not reply"));
  Object.assign(services.wakeUps, { watch });
  const sent = await send(at(here, "one"), "bob", [...hidden(fields), ["action", "decline"]]);
  expect([sent.status, titleOf(sent)]).toEqual([200, "Declined"]);
});

test("whoever pressed twice finds the way on as well, although the tool asks on only after the second press arrived", async () => {
  const { at, here } = await asked("pages");
  const { fields } = await open(at(here), "bob");
  const press = () => send(at(here), "bob", [...hidden(fields), ["action", "accept"], ["f0", "Bo"]]);
  for (const { text } of await Promise.all([press(), press()])) expect(text).toMatch(/Step 2 of 2|Already done[^]* data-next=/);
});

test("a page of a wizard that wants one yes or no has a way back as well", async () => {
  const { at, here, services, taskId, result } = await asked("agrees");
  const next = async (key: string) => await until(async () => (await services.store.load(taskId))?.asks.some((ask) => ask.key === key));
  await send(at(here), "bob", [...hidden((await open(at(here), "bob")).fields), ["action", "accept"], ["f0", "Bo"]]);
  await next("join/terms");
  const terms = await open(at(here, "join/terms"), "bob");
  expect(terms.text).toContain('value="decline" data-key="d" formnovalidate><bdi>Back</bdi>');
  expect((await send(at(here, "join/terms"), "bob", [...hidden(terms.fields), ["action", "accept"]])).status).toBe(422);
  await send(at(here, "join/terms"), "bob", [...hidden(terms.fields), ["action", "accept"], ["f0", "false"]]);
  expect(JSON.parse(await result())).toEqual({ person: { name: "Bo" }, terms: { agree: false } });
});

describe("whose call asks", () => {
  const namedPeople: Visitors = {
    authenticate: ({ headers }) => people[String(headers["x-principal"] ?? "ann")] ?? callerNamed("mallory"),
    ticket: undefined,
  };
  const people: Readonly<Record<string, Caller>> = {
    bob: callerNamed("bob", { groups: ["finance"] }),
    ann: callerNamed("ann", { displayName: "Ann Lee", names: ["sub:7", "email:ann<\u202e@acme.io"] }),
    // The same person through another client.
    phone: callerNamed("phone", { person: "ann", names: ["bob"] }),
  };
  const authenticate = ({ headers }: FastifyRequest) => people[String(headers["x-principal"])] ?? callerNamed("mallory");
  const named = { visitors: namedPeople, authenticate };

  test("is said by name to somebody else, with what only that person has, and in the record", async () => {
    const { at, here } = await asked("confirm", {}, named);
    const page = await open(at(here), "bob");
    expect(page.text).toContain('in a call of <strong><bdi translate="no">Ann Lee (ann&lt; @acme.io)</bdi></strong>');
    const german = await open(at(here), "bob", { "accept-language": "de" });
    expect(german.text).toContain('in einem Aufruf von <strong><bdi translate="no">Ann Lee (ann&lt; @acme.io)</bdi></strong>');
    expect((await open(at(here), "phone")).text).toContain("in a call of yours");
    const sent = await send(at(here), "bob", [...hidden(page.fields), ["action", "no"]]);
    const kept = '<dt>In a call of</dt><dd><bdi translate="no">Ann Lee (ann&lt; @acme.io)</bdi></dd>';
    expect(sent.text).toContain(kept);
    expect((await open(at(here), "bob")).text).toContain(kept);
  });

  test("is said on pages that collect a secret, with all words of the author", async () => {
    const { at, here } = await asked("key", {}, named);
    const { text } = await open(at(here), "bob");
    expect(text).toContain(
      'The tool <strong><bdi>key</bdi></strong> asks you, in a call of <strong><bdi translate="no">Ann Lee (ann&lt; @acme.io)</bdi></strong>:',
    );
    expect(text).toContain("The key?\n\nStep 2 of 2.");
  });

  test("is somebody else's for a task of a version that kept no names", async () => {
    const { at, here, services, taskId } = await asked("confirm", {}, named);
    const { load } = services.store;
    const forgetful = async (id: string) => {
      const task = await load(id);
      const { caller: _, ...call } = task?.call ?? {};
      return task && ({ ...task, call } as typeof task);
    };
    Object.assign(services.store, { load: forgetful });
    expect((await services.store.load(taskId))?.call).not.toHaveProperty("caller");
    expect((await open(at(here), "bob")).text).toContain("in a call of somebody else");
  });
});

test("a time that the person's clock skips is said, and not taken for one of the server's zone", async () => {
  const { at, here } = await asked("everything");
  const { fields } = await open(at(here), "bob", { cookie: "parley-zone=Europe%2FBerlin" });
  const skipped = GOOD.map(([name, value]) => [name, name === "f10" ? "2026-03-29T02:30" : value] as const);
  const sent = await send(at(here), "bob", [...hidden(fields), ...skipped], { cookie: "parley-zone=Europe%2FBerlin" });
  expect(sent.text).toContain("does not exist: the clock is moved forward then");
});

test("every kind of field is filled in without script, and reaches the tool as its type", async () => {
  const { at, here, there, result } = await asked("everything");
  const { fields } = await open(at(here), "bob", { cookie: "parley-zone=Europe%2FBerlin" });
  // Moments are read in the zone of the form, although the browser has another now.
  const sent = await send(at(there), "bob", [...hidden(fields), ...GOOD], { cookie: "parley-zone=Asia%2FTokyo" });
  expect([sent.status, titleOf(sent)]).toEqual([200, "Thank you"]);
  // The record.
  for (const part of ["Your name", "Bo &amp; &lt;Co&gt;", "Party size", "ham, corn", "everything"]) expect(sent.text).toContain(part);
  expect(JSON.parse(await result())).toStrictEqual({
    action: "accept",
    content: {
      name: "Bo & <Co>",
      about: "one\ntwo",
      size: 4,
      sure: false,
      news: false,
      color: "green",
      toppings: ["ham", "corn"],
      day: "2026-12-24",
      at: "2026-12-24T18:30:00Z",
    },
  });
});

test("up to five choices are shown at once, with the one to leave it empty", async () => {
  const { at, here } = await asked("everything");
  const { text } = await open(at(here), "bob");
  const shown = (name: string) => [...text.matchAll(/<input type="radio" name="(\w+)"/g)].filter(([, each]) => each === name).length;
  expect(["f4", "f6", "f7", "f11", "f12"].map(shown)).toEqual([2, 3, 2, 6, 0]);
  expect(text).toContain('<input type="radio" name="f11" value="" checked> <span dir="auto">leave empty</span>');
  expect(text).toMatch(/<select id="f12" name="f12"[^>]*><option value="" selected>leave empty<[^]*value="5">6</);
});

test("violations stand at their fields with everything typed kept, whoever finds them", async () => {
  const { at, here, result } = await asked("everything");
  const { fields } = await open(at(here), "bob");
  const wrong = GOOD.map(([name, value]) => [name, name === "f2" ? "forty" : name === "f4" ? "" : value] as const);
  const byForm = await send(at(here), "bob", [...hidden(fields), ...wrong]);
  expect(byForm.status).toBe(422);
  expect(byForm.text).toContain("2 answers need a change");
  expect(byForm.text).toMatch(/id="f2" name="f2" value="forty"[^>]*aria-describedby="f2-notes f2-problem"[^>]*aria-invalid="true"/);
  expect(byForm.text).toMatch(/<fieldset class="field" role="radiogroup" aria-describedby="f4-problem" aria-invalid="true"/);
  for (const kept of [
    'value="Bo &amp; &lt;Co&gt;"',
    "\none\ntwo</textarea>",
    'name="f7" value="1" required checked',
    'value="corn" checked',
    'value="2026-12-24T19:30:00"',
  ])
    expect(byForm.text).toContain(kept);
  // What only the schema of the tool refuses is said with what is missing, and not after it.
  const both = await send(at(here), "bob", [
    ...hidden(fields),
    ...GOOD.map(([name, value]) => [name, name === "f2" ? "40" : name === "f0" ? "B" : name === "f4" ? "" : value] as const),
  ]);
  expect(["f0", "f2", "f4"].map((name) => new RegExp(`id="${name}-problem"[^>]*>([^<]*)`).exec(both.text)?.[1])).toEqual([
    "must have at least 2 characters",
    "must be between 1 and 20",
    "is required",
  ]);
  expect(both.text).toContain("3 answers need a change");
  const large = await send(at(here), "bob", [
    ...hidden(fields),
    ...GOOD.map(([name, value]) => [name, name === "f2" ? "40" : value] as const),
  ]);
  expect([large.status, large.text]).toEqual([422, expect.stringMatching(/id="f2-problem"[^>]*>[^<]*20/)]);
  const sent = await send(at(here), "bob", [...hidden(fields), ...GOOD]);
  expect(titleOf(sent)).toBe("Thank you");
  expect(JSON.parse(await result())).toMatchObject({ content: { size: 4 } });
});

test.each([
  ["f2", ["0x4", "4.5", "1e400", "four"]],
  ["f3", ["Infinity", "NaN", "1,500"]],
  ["f4", ["maybe", "on", "TRUE", "1", "no"]],
  ["f5", ["false", "on", "0", ""]],
  ["f6", ["null", "yes"]],
  ["f7", ["2", "-1", "1.0", "0x1", "red"]],
  ["f8", ["cheese", "0"]],
  ["f9", ["2026-02-30", "24.12.2026", "tomorrow"]],
  ["f10", ["1", "2026-02-30T10:00", "12/24/2026 10:00", "2026-12-24", "soon"]],
  ["f11", ["5", "one"]],
  ["f12", ["6", " 1"]],
])("what the control %s does not offer is refused at its field, and taken for nothing else: %j", async (name, values) => {
  const { at, here, taskId, services } = await asked("everything");
  const { fields } = await open(at(here), "bob");
  for (const value of values) {
    const others = GOOD.filter(([each]) => each !== name);
    const sent = await send(at(here), "bob", [...hidden(fields), ...others, [name, value]]);
    expect([value, sent.status]).toEqual([value, 422]);
    expect([value, sent.text]).toEqual([value, expect.stringMatching(new RegExp(`id="${name}-problem"[^>]*>[^<]{10}`))]);
    expect(sent.text.match(/class="problem"/g)).toHaveLength(1);
    if (name !== "f2") expect(sent.text).toContain('id="f2" name="f2" value="4"');
    expect(sent.text).toContain('value="Bo &amp; &lt;Co&gt;"');
  }
  expect((await services.store.load(taskId))?.status).toBe("input_required");
});

test("a button whose words are too long has no half of a character", async () => {
  const { at, here } = await asked("confirm", { words: `${"x".repeat(39)}🎉 and more` });
  expect((await open(at(here), "bob")).text).toContain(`<bdi>${"x".repeat(39)}…</bdi>`);
});

test("a yes or no with two buttons is answered by these alone, and says so to a form that was written by hand", async () => {
  const { at, here, taskId, services } = await asked("confirm");
  const { fields } = await open(at(here), "bob");
  for (const value of ["maybe", "yes", "on"]) {
    const sent = await send(at(here), "bob", [...hidden(fields), ["action", "accept"], ["f0", value]]);
    expect([sent.status, sent.text]).toEqual([422, expect.stringContaining("is none of the choices")]);
    expect(sent.text).toContain("Delete it");
  }
  expect((await services.store.load(taskId))?.status).toBe("input_required");
});

test("who declines may say why, and the tool and their record have it", async () => {
  const { at, here, result } = await asked("everything");
  const { fields, text } = await open(at(here), "bob");
  expect(text).toContain('name="reason"');
  const sent = await send(at(here), "bob", [...hidden(fields), ["action", "decline"], ["reason", " Too late,\r\n<sorry> "]]);
  expect([titleOf(sent), sent.text]).toEqual(["Declined", expect.stringContaining("Too late,\n&lt;sorry&gt;")]);
  expect(JSON.parse(await result())).toEqual({ action: "decline", reason: "Too late,\n<sorry>" });
  expect((await open(at(here), "bob")).text).toContain("Too late,\n&lt;sorry&gt;");
});

test("a form is judged before it is sent, if the page asks for it, and nothing is answered", async () => {
  const { at, here, services, taskId } = await asked("everything");
  const { fields } = await open(at(here), "bob");
  const before = await services.store.load(taskId);
  const only: Pairs = [["only", "check"]];
  const right = await send(at(here), "bob", [...hidden(fields), ...GOOD, ...only]);
  const wrong = await send(at(here), "bob", [
    ...hidden(fields),
    ...GOOD.map(([name, value]) => [name, name === "f2" ? "40" : value] as const),
    ...only,
  ]);
  expect([right.status, wrong.status, wrong.text]).toEqual([204, 422, expect.stringContaining('id="f2-problem"')]);
  expect(await services.store.load(taskId)).toEqual(before);
});

test("declining is one press, and the tool is told", async () => {
  const { at, here, result } = await asked("everything");
  const { fields } = await open(at(here), "bob");
  expect(titleOf(await send(at(here), "bob", [...hidden(fields), ["action", "decline"]]))).toBe("Declined");
  expect(JSON.parse(await result())).toEqual({ action: "decline" });
});

test.each([
  ["yes", "true"],
  ["no", "false"],
])("a confirmation is two buttons with the author's words, and no third no: %s", async (action, said) => {
  const { at, here, result } = await asked("confirm");
  const { text, fields } = await open(at(here), "bob");
  expect(
    [...text.matchAll(/<button[^>]*name="action" value="(\w+)"[^>]*><bdi>([^<]*)/g)].map(([, value, words]) => [value, words]),
  ).toEqual([
    ["yes", "Delete it"],
    ["no", "Keep it"],
  ]);
  expect(text).not.toMatch(/type="(checkbox|radio)"/);
  expect(titleOf(await send(at(here), "bob", [...hidden(fields), ["action", action]]))).toBe("Thank you");
  expect(await result()).toBe(said);
});

test("nothing is chosen in advance for what cannot be undone, and the button is marked", async () => {
  const { at, here } = await asked("risky");
  const { text, fields } = await open(at(here), "bob");
  expect(text).toContain("This cannot be undone");
  expect(text).toContain('class="danger" name="action" value="accept"');
  const [form = ""] = /<form class="flow question"[^]*?<\/form>/.exec(text) ?? [];
  expect(form).toContain("This cannot be undone");
  expect(form).not.toMatch(/value="[^"]+" (checked|selected)/);
  const empty = await send(at(here), "bob", [...hidden(fields), ["action", "accept"]]);
  expect([empty.status, empty.text]).toEqual([422, expect.stringContaining("is required")]);
  const dangerous = await asked("confirm", { dangerous: true });
  expect((await open(dangerous.at(dangerous.here), "bob")).text).toContain('class="danger" name="action" value="yes"');
});

test("of two people one answer counts, and the other is told", async () => {
  const { at, here, there, result } = await asked("everything");
  const [bob, carol] = await Promise.all([open(at(here), "bob"), open(at(there), "carol")]);
  expect([bob.status, carol.status]).toEqual([200, 200]);
  expect(titleOf(await send(at(here), "bob", [...hidden(bob.fields), ...GOOD]))).toBe("Thank you");
  const late = await send(at(there), "carol", [...hidden(carol.fields), ...GOOD]);
  expect([late.status, titleOf(late), late.text]).toEqual([409, "Already answered", expect.stringContaining("bob answered it.")]);
  const [again, others, foreign] = [await open(at(here), "bob"), await open(at(here), "ann"), await open(at(here), "mallory")];
  expect([titleOf(again), again.text]).toEqual(["Answered", expect.stringContaining("Bo &amp; &lt;Co&gt;")]);
  expect([titleOf(others), others.text]).toEqual(["No longer open", expect.stringContaining("bob answered it.")]);
  expect(others.text).not.toContain("Bo &amp;");
  expect(foreign.status).toBe(404);
  expect(JSON.parse(await result())).toMatchObject({ content: { name: "Bo & <Co>" } });
});

test("with a quorum each accepts or declines, sees how many have, and may change their mind", async () => {
  const { at, here, result } = await asked("two");
  const first = await open(at(here), "bob");
  expect(first.text).toContain("2 people must accept");
  // A "no" to the only field would be counted as an acceptance: there is a button to decline.
  expect(first.text).toContain('value="decline"');
  const one = await send(at(here), "bob", [...hidden(first.fields), ["action", "accept"], ["f0", "true"]]);
  expect(one.text).toContain("1 more must accept");
  const again = await open(at(here), "bob");
  expect([again.status, again.text]).toEqual([200, expect.stringContaining("You have accepted.")]);
  const second = await open(at(here), "carol");
  expect(second.text).toContain("1 of 2 people have accepted");
  expect(titleOf(await send(at(here), "carol", [...hidden(second.fields), ["action", "accept"], ["f0", "true"]]))).toBe("Thank you");
  expect(await result()).toBe('"accept"');
});

test("a link elsewhere shows where it leads, and is answered here", async () => {
  const { at, here, result } = await asked("look");
  const { text, fields } = await open(at(here), "bob");
  expect(text).toContain("127.0.0.1:9");
  expect(text).toContain("not encrypted");
  expect(text).toContain('rel="noopener noreferrer"');
  expect(titleOf(await send(at(here), "bob", [...hidden(fields), ["action", "accept"]]))).toBe("Thank you");
  expect(JSON.parse(await result())).toMatchObject({ action: "accept" });
});

test("somebody who is not asked sees the same page as for a task that never existed, at every step", async () => {
  const { at, here, taskId } = await asked("everything");
  const never = at(here).replace(taskId, `0-${crypto.randomUUID()}`);
  const { fields } = await open(at(here), "bob");
  for (const who of ["mallory", "stranger"]) {
    const foreign = await open(at(here), who);
    const unknown = await open(never, who);
    expect([foreign.status, foreign.text]).toEqual([unknown.status, unknown.text]);
    expect(foreign.status).toBe(404);
    const sent = await send(at(here), who, [...hidden(fields), ...GOOD]);
    const sentNowhere = await send(never, who, [...hidden(fields), ...GOOD]);
    expect([sent.status, sent.text]).toEqual([sentNowhere.status, sentNowhere.text]);
  }
  // The person who called is told that it is for others.
  expect(titleOf(await open(at(here), "ann"))).toBe("It waits for others");
});

test("a page that is asked for again is sent once more only if it shows something else, in every state of the question", async () => {
  const { at, here, there } = await asked("two");
  const again = async (who: string, tag: string, headers: Record<string, string> = {}) =>
    await open(at(there), who, { "if-none-match": tag, ...headers });
  const tagOf = ({ headers }: { readonly headers: Headers }) => headers.get("etag") ?? "";
  const [bob, ann] = [await open(at(here), "bob"), await open(at(here), "ann")];
  expect([tagOf(bob), tagOf(ann), tagOf(bob) === tagOf(ann)]).toEqual([expect.stringMatching(/^".+"$/), expect.anything(), false]);
  expect([(await again("bob", tagOf(bob))).status, (await again("ann", tagOf(ann))).status]).toEqual([304, 304]);
  expect((await again("bob", tagOf(bob), { "accept-language": "de" })).status).toBe(200);
  expect((await again("mallory", tagOf(bob))).status).toBe(404);

  await send(at(here), "carol", [...hidden((await open(at(here), "carol")).fields), ["action", "accept"], ["f0", "true"]]);
  const one = await again("bob", tagOf(bob));
  expect([one.status, (await again("ann", tagOf(ann))).status]).toEqual([200, 200]);
  await send(at(here), "bob", [...hidden(one.fields), ["action", "accept"], ["f0", "true"]]);
  const over = await again("bob", tagOf(one));
  expect([over.status, tagOf(over)]).toEqual([200, ""]);
});

test("looking changes nothing, and only this page's own form counts, for this person and this question", async () => {
  const { at, here, get, services, taskId } = await asked("everything");
  const before = await services.store.load(taskId);
  for (const method of ["GET", "HEAD", "GET"])
    expect((await fetch(at(here), { method, headers: { "x-principal": "bob" } })).status).toBe(200);
  const { fields, headers } = await open(at(here), "bob");
  expect(headers.get("content-security-policy")).toMatch(/default-src 'none'.*form-action 'self'.*frame-ancestors 'none'/);
  expect(headers.get("x-frame-options")).toBe("DENY");
  const refused = [
    await send(at(here), "bob", [...hidden(fields), ...GOOD], { origin: "https://evil.example" }),
    await send(at(here), "bob", [...hidden(fields), ...GOOD], { "sec-fetch-site": "cross-site" }),
    await send(at(here), "carol", [...hidden(fields), ...GOOD]),
    await send(at(here), "bob", [["shown", fields["shown"] ?? ""], ["token", "x".repeat(22)], ...GOOD]),
    await send(at(here), "bob", [...hidden(fields), ["action", "yes"]]),
    await send(at(here), "bob", [...hidden(fields), ["action", "cancel"]]),
  ];
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 409, 409, 400, 400]);
  expect(await services.store.load(taskId)).toEqual(before);
  expect((await get())["status"]).not.toBe("completed");
});

test("the record of uploaded files lists them by name and size, and another answer of that shape stays as it is", () => {
  const file = (name: string, size: number) => ({ id: "1", name, type: "image/png", size, sha256: "ab" });
  const shown = answerList(ENGLISH, { files: [file("a<b>.png", 2_300), file("c.png", 1_000_000)] }, undefined)?.text ?? "";
  expect(shown).toContain('<bdi translate="no">a&lt;b&gt;.png</bdi>');
  for (const part of ["2.3 kB", "1,000 kB"]) expect(shown).toContain(part);
  expect(shown).not.toContain("sha256");
  expect(answerList(ENGLISH, { files: [file("a", 1)], more: 1 }, undefined)?.text).toContain("sha256");
});
