/** A form without script that is not taken for now: its person's login has ended, they have sent too much, or something is away. */
import { ParleyError } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy } from "./deployment.fixture.ts";
import { FIELDS_MAX } from "./routes/asks/kept-form.ts";
import { FORM_BYTES_MAX } from "./routes/asks/route.ts";

const tools = catalogue([
  defineTool({
    name: "plan",
    run: async (_args, ctx) =>
      JSON.stringify(await ctx.ask("trip", { message: "Where?", schema: z.object({ city: z.string(), note: z.string() }) })),
  }),
  defineTool({ name: "connect", run: async (_args, ctx) => void (await ctx.secret("key", { message: "The key?" })) }),
]);

/** Why answers are refused at present. */
let refused: "QUOTA_EXCEEDED" | "UNAVAILABLE" | "OVERLOADED" | undefined;
afterEach(() => void (refused = undefined));

/** A page of Ann's, whose login ends and begins by a header. */
async function asked(name: "plan" | "connect") {
  const { fronts, services } = await deploy({
    catalogue: tools,
    visitors: {
      authenticate({ headers }) {
        if (headers["x-lapsed"]) throw new ParleyError("CREDENTIALS_MISSING", "no login");
        return callerNamed(String(headers["x-principal"] ?? "ann"));
      },
      ticket: undefined,
      logIn: async (_request, reply) => await reply.redirect("/login", 303),
    },
    rates: {
      take: async (_caller, { answers = 0 }) => {
        if (refused && answers > 0) throw new ParleyError(refused, "not now");
      },
    },
  });
  const [front] = fronts;
  const { result } = await rpc(front!, "tools/call", { name, arguments: {} }, { principal: "ann" });
  const taskId = String(result!["taskId"]);
  await until(async () => (await services.store.load(taskId))?.asks.length === 1);
  const url = `${new URL(front!.url).origin}/asks/${taskId}/${name === "plan" ? "trip" : "key"}`;
  const fields = (text: string) =>
    [...text.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(([, field = "", value = ""]): [string, string] => [
      field,
      value.replaceAll("&lt;", "<").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&gt;", ">").replaceAll("&amp;", "&"),
    ]);
  const own = fields(await (await fetch(url)).text())
    .filter(([field]) => field === "shown" || field === "token")
    .slice(0, 2);
  const post = async (body: readonly (readonly [string, string])[], headers: Record<string, string> = {}, at = url) => {
    const response = await fetch(at, {
      method: "POST",
      redirect: "manual",
      headers,
      body: new URLSearchParams(body.map(([field, value]): [string, string] => [field, value])),
    });
    const text = await response.text();
    return { status: response.status, text, kept: fields(text) };
  };
  return { services, taskId, url, own, post };
}

const LAPSED = { "x-lapsed": "yes" };
const NOTE = `"two" lines\nof <it> & 'more' ⏎`;

test("comes back whole, and is sent after a login, once, by the same person", async () => {
  const { services, taskId, own, post } = await asked("plan");
  const typed: [string, string][] = [...own, ["f0", "Graz"], ["f1", NOTE], ["action", "accept"]];
  while (typed.length < FIELDS_MAX) typed.push(["f0", "Graz"]);
  const { status, text, kept } = await post(typed, LAPSED);
  expect(status).toBe(401);
  expect(text).toContain("What you typed is still here");
  // Attributes keep line breaks, and browsers send them as they were.
  expect(kept).toEqual(typed);
  // The login has not come back yet.
  expect((await post(kept, LAPSED)).kept).toEqual(typed);
  expect((await post(kept, { "x-principal": "bob" })).status).not.toBe(200);
  expect((await services.store.load(taskId))?.asks).toHaveLength(1);
  expect((await post(kept)).status).toBe(200);
  await until(async () => (await services.store.load(taskId))?.status === "completed");
  expect(JSON.stringify((await services.store.load(taskId))?.outcome)).toContain("Graz");
});

test.each(["QUOTA_EXCEEDED", "UNAVAILABLE", "OVERLOADED"] as const)(
  "comes back whole if the reason is %s, and is sent again without a login",
  async (why) => {
    const { services, taskId, own, post } = await asked("plan");
    const typed: [string, string][] = [...own, ["f0", "Graz"], ["f1", NOTE], ["action", "accept"]];
    refused = why;
    const { status, text, kept } = await post(typed);
    expect([status, kept, text.includes("Log in")]).toEqual([why === "QUOTA_EXCEEDED" ? 429 : 503, typed, false]);
    refused = undefined;
    expect((await post(kept)).status).toBe(200);
    await until(async () => (await services.store.load(taskId))?.status === "completed");
    // The script keeps what was typed, and tries again by itself; a secret is shown on no page.
    refused = why;
    expect((await post(typed, { "x-requested-with": "parley" })).kept).toEqual([]);
    const secret = await asked("connect");
    const { text: again, kept: none } = await secret.post([...secret.own, ["secret", "hunter2"], ["action", "accept"]]);
    expect([none, again.includes("hunter2")]).toEqual([[], false]);
  },
);

test.each<["asks" | "inbox"]>([["asks"], ["inbox"]])("leads to the login from a page of %s", async (where) => {
  const { own, post, url } = await asked("plan");
  const at = where === "asks" ? url : new URL("/inbox/batch", url).href;
  const { status, text } = await post([...own, ["action", "accept"]], LAPSED, at);
  expect([status, text.includes("What you typed is still here")]).toEqual([401, true]);
  const [, href = "none"] = /<a class="button main" href="([^"]*)"/.exec(text) ?? [];
  const { headers } = await fetch(new URL(href, at), { headers: LAPSED, redirect: "manual" });
  expect(headers.get("location")).toBe("/login");
});

test.each<[what: string, name: "plan" | "connect", more: [string, string][], headers: Record<string, string>]>([
  ["with a secret", "connect", [["secret", "hunter2"]], {}],
  ["of another server", "plan", [["f0", "Graz"]], { origin: "https://evil.example" }],
  ["that no page has shown", "plan", [["token", ""]], { "content-type": "text/plain" }],
  ["of more fields than any has", "plan", Array.from({ length: FIELDS_MAX - 2 }, (): [string, string] => ["f0", "Graz"]), {}],
  ["that is larger than any", "plan", [["f0", "x".repeat(FORM_BYTES_MAX + 1)]], {}],
  ["of the page's script, which keeps what was typed", "plan", [["f0", "Graz"]], { "x-requested-with": "parley" }],
])("%s is not shown again", async (_what, name, more, headers) => {
  const { own, post } = await asked(name);
  const { status, text, kept } = await post([...own, ...more, ["action", "accept"]], { ...LAPSED, ...headers });
  expect([status, kept]).toEqual([401, []]);
  expect(text).toContain("nothing was sent");
  expect(text).not.toMatch(/hunter2|Graz/);
});
