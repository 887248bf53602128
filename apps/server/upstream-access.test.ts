/** Rules of access to upstreams: what somebody may not use is at no door, and is refused like what does not exist. */
import type { Caller } from "@parley/core";
import { createOffer, parseUpstreams } from "@parley/gateway";
import { catalogue, defineTool } from "@parley/sdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rpc } from "./client.fixture.ts";
import { callerNamed, deploy } from "./deployment.fixture.ts";
import { openSession } from "./session-client.fixture.ts";

const TOOLS = ["get_a", "get_b", "set_a", "drop"];
const own = catalogue(defineTool({ name: "mine", run: () => "mine" }));
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

interface Rule {
  readonly include?: readonly string[];
  readonly scopes?: readonly string[];
  readonly people?: readonly string[];
  readonly groups?: readonly string[];
  readonly roles?: readonly string[];
}

const some = (...words: readonly string[]) => fc.uniqueArray(fc.constantFrom(...words), { minLength: 1 });
const rule: fc.Arbitrary<Rule> = fc.record(
  {
    include: some("get_*", "get_a", "set_a", "drop"),
    scopes: some("crm", "crm:write"),
    people: some("ann", "sub:bob", "ben@example.com"),
    groups: some("sales", "support"),
    roles: some("lead"),
  },
  { requiredKeys: [] },
);
const person = fc.record({
  authenticatedBy: fc.constantFrom("test", "test", "nobody"),
  names: fc.subarray(["sub:ann", "sub:bob", "email:ben@example.com", "username:ann"]),
  groups: fc.subarray(["sales", "support", "other"]),
  roles: fc.subarray(["lead"]),
  scopes: fc.subarray(["crm", "crm:write", "tools"]),
});

/** The same rules, written down once more, word for word as docs/gateway.md has them. */
function expected(access: readonly Rule[] | undefined, who: Pick<Caller, "authenticatedBy" | "names" | "groups" | "roles" | "scopes">) {
  const isPerson = (name: string) => who.names.includes(name) || who.names.some((own) => own === `sub:${name}` || own === `email:${name}`);
  const isOne = ({ people, groups, roles }: Rule) =>
    (!people && !groups && !roles) ||
    (who.authenticatedBy !== "nobody" &&
      ((people ?? []).some(isPerson) ||
        (groups ?? []).some((group) => who.groups.includes(group)) ||
        (roles ?? []).some((role) => who.roles.includes(role))));
  const holds = ({ scopes = [] }: Rule) =>
    scopes.every((scope) => who.scopes.includes(scope) || (scope === "crm:write" && who.scopes.includes("crm")));
  const covers = ({ include }: Rule, tool: string) =>
    !include || include.includes(tool) || (include.includes("get_*") && tool.startsWith("get_"));
  return TOOLS.filter((tool) => !access || access.some((each) => covers(each, tool) && isOne(each) && holds(each))).map(
    (tool) => `crm_${tool}`,
  );
}

test("whoever may not use a tool sees it in no list, and cannot tell it from one that does not exist, at every door", async () => {
  const upstreams = (access?: readonly Rule[]) =>
    parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "crm", url: "https://crm.example.com", ...(access && { access }) }] }));
  const listed = { tools: TOOLS.map((name) => ({ name, inputSchema: { type: "object" } })), leftOut: [], atMs: 0, instructions: "Ask us." };
  const offer = await createOffer({
    own,
    upstreams: upstreams(),
    deployment: "d",
    listings: { read: async () => new Map([["crm", { revision: "1", text: JSON.stringify(listed) }]]), write: async () => undefined },
    onAnnouncement: async () => () => undefined,
    log: quiet,
  });
  let caller = callerNamed("caller");
  const { fronts } = await deploy({ catalogue: offer, fronts: 1, worker: false, authenticate: () => caller });
  const [front] = fronts as [(typeof fronts)[0]];
  const api = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(new URL(`/api/v1/tools${path}`, front.url), { ...init, headers: { "content-type": "application/json" } });
    return { status: response.status, body: await response.text() };
  };

  await fc.assert(
    fc.asyncProperty(fc.option(fc.array(rule, { minLength: 1, maxLength: 3 }), { nil: undefined }), person, async (access, who) => {
      caller = callerNamed("caller", who);
      await offer.replace(upstreams(access));
      const allowed = expected(access, who);
      const refused = TOOLS.map((tool) => `crm_${tool}`).filter((name) => !allowed.includes(name));
      const session = await openSession(front, {});
      const names = (result: unknown) => (result as { tools: { name: string }[] }).tools.map(({ name }) => name);

      const all = [...allowed, "mine"].toSorted();
      expect(names((await rpc(front, "tools/list", {})).result).toSorted()).toEqual(all);
      expect(names((await session.request(front, "tools/list", {})).messages.at(-1)?.result).toSorted()).toEqual(all);
      expect(names(JSON.parse((await api("")).body)).toSorted()).toEqual(all);
      const { result: discovered } = await rpc(front, "server/discover", {});
      expect(String(discovered?.["instructions"] ?? "").includes("Ask us.")).toBe(allowed.length > 0);

      const outcomes = async (name: string) => {
        const call = { name, arguments: {} };
        const { error, status } = await rpc(front, "tools/call", call);
        const replies = [
          { error, status },
          (await rpc(front, "tools/call", call, { tasks: false })).error,
          (await session.request(front, "tools/call", call)).messages.at(-1)?.error,
          (await session.request(front, "tools/call", { ...call, task: {} })).messages.at(-1)?.error,
          await api(`/${name}`),
          await api(`/${name}/calls`, { method: "POST", body: "{}" }),
        ];
        return JSON.stringify(replies).replaceAll(name, "NAME");
      };
      const unknown = await outcomes("crm_none");
      for (const name of refused) expect(await outcomes(name)).toBe(unknown);
      expect(unknown).toContain("no tool");
    }),
    { numRuns: 25 },
  );
  offer.close();
});
