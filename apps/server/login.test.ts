/** People who are not logged in are sent to the provider and back. test/e2e/login.e2e.test.ts uses a real provider and a browser. */
import { ParleyError } from "@parley/core";
import type { Login } from "@parley/identity";
import { expect, test } from "vitest";
import { callerNamed, deploy } from "./deployment.fixture.ts";
import { LOGINS_MAX } from "./routes/login/cookies.ts";
import { loggedIn } from "./routes/login/route.ts";
import { offered } from "./tools.fixture.ts";

const PUBLIC = "http://localhost:3000/below";

/** A provider that accepts every login. */
function provider(finish: Login["finish"] = async () => callerNamed("ann")): Login {
  let count = 0;
  return {
    ttlMs: 60_000,
    base: PUBLIC,
    isSecure: false,
    async start() {
      const state = `${(count += 1)}`.padStart(12, "0").padEnd(43, "s");
      return { url: `https://id.example.com/auth?state=${state}`, state, verifier: "v".repeat(43) };
    },
    finish,
  };
}

/** A browser that keeps cookies, behind which a proxy serves Parley below a path. */
async function browser(login = provider()) {
  const nobody = () => Promise.reject(new ParleyError("CREDENTIALS_MISSING", "this server needs an access token"));
  const { fronts, logged } = await deploy({
    catalogue: offered,
    fronts: 1,
    login,
    publicUrl: PUBLIC,
    visitors: (seal) => loggedIn({ authenticate: nobody, login, seal, now: Date.now }),
  });
  const jar = new Map<string, string>();
  async function get(path: string, more: Record<string, string> = {}): Promise<Response> {
    const cookie = [...jar].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(new URL(path, fronts[0]!.url), { headers: { cookie, ...more }, redirect: "manual" });
    for (const given of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(given) ?? [];
      if (value === "") jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }
  return { jar, get, logged };
}

const PAGE = `/asks/0-${"a".repeat(22)}/branch/key?x=1`;
const stateOf = (response: Response) => new URL(response.headers.get("location") ?? "").searchParams.get("state") ?? "";

test("a browser that opens many pages before it is logged in has at most eight logins open, and finishes one of them", async () => {
  const { jar, get } = await browser();
  let state = "";
  for (let count = 0; count < 60; count += 1) {
    const away = await get(PAGE);
    expect(away.status).toBe(303);
    state = stateOf(away);
    expect(jar.size).toBe(Math.min(count + 1, LOGINS_MAX));
  }
  expect((await get(`/login/callback?code=c&state=${state}`)).status).toBe(303);
  expect([...jar.keys()].filter((name) => name === "parley-session")).toHaveLength(1);
});

test("a person who returns from the provider is sent to the page, also if it is below a path", async () => {
  const { get } = await browser();
  const back = await get(`/login/callback?code=c&state=${stateOf(await get(PAGE))}`);
  expect(back.headers.get("location")).toBe(`${PUBLIC}${PAGE}`);
});

test("a login is completed for the address that the proxy names", async () => {
  const from: (string | undefined)[] = [];
  const { get, jar } = await browser(
    provider(async (_parameters, _begun, client) => {
      from.push(client);
      return callerNamed("ann");
    }),
  );
  for (const headers of [{}, { "x-forwarded-for": "203.0.113.9, 198.51.100.1" }]) {
    jar.clear();
    await get(`/login/callback?code=c&state=${stateOf(await get(PAGE))}`, headers);
  }
  expect(from).toEqual([undefined, "198.51.100.1"]);
});

test("a login that fails through a defect shows an id, under which the log has the error", async () => {
  const { get, logged } = await browser(provider(() => Promise.reject(new TypeError("hunter2 is undefined"))));
  const state = stateOf(await get(PAGE));
  const failed = await get(`/login/callback?code=c&state=${state}`);
  const text = await failed.text();
  expect(failed.status).toBe(500);
  expect(text).not.toContain("hunter2");
  const lines = logged.filter(({ message }) => message === "request failed");
  expect(lines).toMatchObject([{ fields: { err: expect.any(TypeError), defectId: expect.any(String) } }]);
  expect(text).toContain(String(lines[0]?.fields["defectId"]));
});
