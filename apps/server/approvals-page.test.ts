/** The page of approvals for later calls: whose it shows, what ends one, and to whom it says how people decide. */
import type { AuditFact, Caller, RatedCounts } from "@parley/core";
import { createMemoryApprovalRecord, createMemoryStandingApprovals } from "@parley/core/memory";
import { catalogue, defineTool } from "@parley/sdk";
import { expect, test } from "vitest";
import { callerNamed, type Deploy, deploy, type Front } from "./deployment.fixture.ts";
import { protectedResource } from "./front-end/protected-resource.ts";
import type { Visitors } from "./front-end/visitors.ts";

const HOUR_MS = 3_600_000;
const PEOPLE: Readonly<Record<string, Caller>> = {
  ann: callerNamed("ann", { tenant: "acme" }),
  bob: callerNamed("bob", { tenant: "acme" }),
  eve: callerNamed("eve", { tenant: "acme" }),
  "ann elsewhere": callerNamed("ann", { tenant: "umbrella" }),
  operator: callerNamed("op", { tenant: "acme", scopes: ["asks:answer", "admin:read"] }),
};

async function subject(more: Partial<Deploy> = {}) {
  const facts: AuditFact[] = [];
  const standing = createMemoryStandingApprovals();
  const approvals = createMemoryApprovalRecord();
  const { fronts } = await deploy({
    catalogue: catalogue([defineTool({ name: "idle", run: () => "idle" })]),
    fronts: 2,
    standing,
    approvals,
    audit: { note: async (fact) => void facts.push(fact) },
    visitors: { authenticate: ({ headers }) => PEOPLE[String(headers["x-principal"])] ?? callerNamed("nobody"), ticket: undefined },
    ...more,
  });
  const [here, there] = fronts as [Front, Front];
  const grant = async (id: string, { title = "Deleting", uses = 3, grantedAtMs = Date.now(), by = "bob" } = {}) => {
    const about = { rule: "deletes", title, tool: "files_delete", principal: "ann", by, grantedAtMs, untilMs: Date.now() + HOUR_MS, uses };
    await standing.grant({ tenant: "acme", id, taskId: `0-${id}-${grantedAtMs}`, about });
  };
  async function look(front: Front, who: string, { fields, headers = {} }: { fields?: Record<string, string>; headers?: object } = {}) {
    const response = await fetch(new URL("/approvals", front.url), {
      headers: { "x-principal": who, ...headers },
      ...(fields && { method: "POST", body: new URLSearchParams(fields) }),
    });
    const text = await response.text();
    const forms = [...text.matchAll(/<form method="post">(.*?)<\/form>/gs)].map(
      ([, form = ""]) =>
        Object.fromEntries([...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value])) as Record<
          string,
          string
        >,
    );
    const titles = [...text.matchAll(/<h2 dir="auto">([^<]*)<\/h2>\n<p>/g)].map(([, title]) => title);
    return {
      status: response.status,
      text,
      forms,
      titles,
      said: /role="(?:status|alert)">([^<]*)/.exec(text)?.[1],
      headers: response.headers,
    };
  }
  const left = async () => (await standing.list({ tenant: "acme", nowMs: Date.now() })).map(({ id }) => id);
  return { here, there, look, grant, left, facts, approvals };
}

const bare = (text: string) => text.replaceAll(/<[^>]*>/g, "");
const GONE = "This approval was ended before, was given again since then, or is over. Nothing was changed.";

test("it lists what the visitor gave and what lets the visitor's calls pass, in their words, and nothing of others", async () => {
  const { here, there, look, grant } = await subject();
  await grant("one");
  await grant("two", { title: "<b>Moving</b>", by: "ann" });
  const seen = await look(here, "ann");
  expect([seen.status, seen.titles]).toEqual([200, ["Deleting", "&lt;b&gt;Moving&lt;/b&gt;"]]);
  expect(bare(seen.text)).toContain("Your calls of files_delete pass. bob approved them.");
  expect(bare(seen.text)).toContain("Your calls of files_delete pass. You approved them yourself.");
  expect(bare(seen.text)).toMatch(/Given \d+ \w+ \d{4}, \d\d:\d\d UTC\. Left: 3 of 3\. Ends \d+ \w+/);
  expect((await look(there, "ann")).forms).toEqual(seen.forms);
  const given = await look(here, "bob", { headers: { "accept-language": "de" } });
  expect(bare(given.text)).toContain("Aufrufe von files_delete durch ann laufen. Freigegeben von Ihnen.");
  for (const who of ["eve", "ann elsewhere", "operator"]) expect((await look(here, who)).titles, who).toEqual([]);
  expect((await look(here, "eve")).text).toContain("No approval that you gave, and none for your calls, holds for later calls.");
  expect(seen.headers.get("cache-control")).toBe("no-store");
  expect(seen.headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
});

test("it ends one, once, at any front end, and the audit has it", async () => {
  const { here, there, look, grant, left, facts } = await subject();
  await grant("one");
  await grant("two");
  const [fields = {}] = (await look(here, "ann")).forms;
  const done = await look(there, "ann", { fields });
  expect([done.status, done.said, done.forms.length]).toEqual([200, "The approval was ended: Deleting. The next such call asks again.", 1]);
  expect(await left()).toEqual(["two"]);
  const again = await look(here, "ann", { fields });
  expect([again.status, again.said]).toEqual([409, GONE]);
  expect(facts).toMatchObject([{ action: "approval", did: "revoked", standing: "one", rule: "deletes", principal: "ann", door: "page" }]);
});

test("no form ends one that it did not show to this person", async () => {
  const { here, look, grant, left, facts } = await subject();
  await grant("one", { grantedAtMs: 1 });
  const [fields = {}] = (await look(here, "ann")).forms;
  for (const [who, changed] of [
    ["bob", fields],
    ["eve", fields],
    ["ann elsewhere", fields],
    ["ann", { ...fields, approval: "two" }],
    ["ann", { ...fields, granted: "2" }],
    ["ann", { ...fields, token: "x" }],
  ] as const)
    expect((await look(here, who, { fields: changed })).said).toBe(GONE);
  expect((await look(here, "ann", { fields: { ...fields, action: "" } })).status).toBe(400);
  expect((await look(here, "ann", { fields: { ...fields, approval: "x".repeat(4_096) } })).status).toBe(413);
  expect((await look(here, "ann", { fields, headers: { "content-type": "application/json" } })).status).toBe(400);
  expect((await look(here, "ann", { fields, headers: { origin: "https://evil.example" } })).status).toBe(403);
  expect((await look(here, "ann", { fields, headers: { "sec-fetch-site": "cross-site" } })).status).toBe(403);
  // Given again since then, it is another one.
  await grant("one", { grantedAtMs: 2 });
  expect((await look(here, "ann", { fields })).said).toBe(GONE);
  expect([await left(), facts]).toEqual([["one"], []]);
});

test("it needs the scope that answers need, and counts towards the caller's quota", async () => {
  const resource = protectedResource({ url: "https://parley.example/mcp", authorizationServers: [], scopePrefix: "" });
  const visitors: Visitors = { authenticate: () => callerNamed("ann", { tenant: "acme", scopes: ["tasks:read"] }), ticket: undefined };
  const refused = await subject({ resource, visitors });
  await refused.grant("one");
  expect((await refused.look(refused.here, "ann")).status).toBe(403);
  expect((await refused.look(refused.here, "ann", { fields: {} })).status).toBe(403);

  const taken: RatedCounts[] = [];
  const { here, look, grant } = await subject({ rates: { take: async (_caller, counts) => void taken.push(counts) } });
  await grant("one");
  const [fields = {}] = (await look(here, "ann")).forms;
  expect((await look(here, "ann", { fields })).status).toBe(200);
  expect(taken).toEqual([{ reads: 1 }, { answers: 1 }]);
});

test("it says how people decide, to operators alone", async () => {
  const { here, look, approvals } = await subject();
  const asked = { tenant: "acme", rule: "deletes", taskId: "0-1", askedAtMs: Date.now() };
  expect(bare((await look(here, "operator")).text)).toContain("In the last 7 days, no call waited for approval.");
  await approvals.asked(asked);
  await approvals.settled({ ...asked, end: "approved", atMs: asked.askedAtMs + 1_000, by: ["<bob>"] });
  const { text } = await look(here, "operator");
  const cells = (tag: string) =>
    [...text.matchAll(new RegExp(`<${tag}(?: [^>]*)?><div>(.*?)</div></${tag}>`, "g"))].map(([, cell]) => cell);
  const names = ["Rule", "Asked", "Yes", "No", "Nobody in time", "Half within", "Yes within 5 seconds"];
  expect(cells("th")).toEqual([...names, "Most decisions", "Tests refused", "Waiting"]);
  expect(cells("td")).toEqual(["deletes", "1", "1", "0", "0", "1 second", "1", "&lt;bob&gt; (1 yes, 0 no)", "", "0"]);
  for (const who of ["ann", "bob"]) expect((await look(here, who)).text).not.toMatch(/deletes|5 seconds/);
});

test("the page at / and the inbox lead there where approvals can hold for later calls and people log in, and nowhere else is there such a page", async () => {
  const headers = { accept: "text/html", "x-principal": "ann" };
  const page = async ({ url }: Front, path: string, language = "en") =>
    (await fetch(new URL(path, url), { headers: { ...headers, "accept-language": language } })).text();
  const home = (front: Front) => page(front, "/");
  const { here } = await subject();
  const link = '<a href="approvals">Approvals for later calls</a>';
  expect(await home(here)).toContain(link);
  expect(await page(here, "/inbox")).toContain(link);
  expect(await page(here, "/inbox", "de")).toContain('<a href="approvals">Freigaben für spätere Aufrufe</a>');
  const { fronts } = await deploy({
    catalogue: catalogue([defineTool({ name: "idle", run: () => "" })]),
    fronts: 1,
    standing: createMemoryStandingApprovals(),
  });
  expect(await home(fronts[0]!)).not.toContain('href="approvals"');
  expect(await page((await subject({ standing: undefined as never })).here, "/inbox")).not.toContain('href="approvals"');
  expect((await fetch(new URL("/approvals", fronts[0]!.url))).status).toBe(404);
});
