/** Logins of several people at two issuers of one host. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type CodeFlowSettings, createCodeFlow, flowFailure, METADATA_TTL_MS } from "./code-flow.ts";

const METADATA = "/.well-known/oauth-authorization-server";
const CALLBACK = "http://localhost:3000/login/callback";
const ASKED = { callback: CALLBACK, scopes: ["asks:answer"] };

afterEach(() => void vi.restoreAllMocks());

/** Answers each code and each refresh token with an access token that names the issuer and it. */
async function host() {
  const posted: { readonly to: string; readonly fields: Readonly<Record<string, string>> }[] = [];
  const asked: string[] = [];
  const state = { isDown: false, namesItself: true, refuses: false };
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    const json = (body: object, status = 200) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (path.startsWith(METADATA)) {
      asked.push(path);
      const issuer = `${url}${path.slice(METADATA.length)}`;
      if (state.isDown) return void response.writeHead(503).end();
      return void json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        authorization_response_iss_parameter_supported: state.namesItself,
      });
    }
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      const fields = Object.fromEntries(new URLSearchParams(text));
      posted.push({ to: path, fields });
      if (state.refuses) json({ error: "invalid_grant" }, 400);
      else json({ access_token: `${path}:${fields["code"] ?? fields["refresh_token"]}`, token_type: "Bearer" });
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => (server.closeAllConnections(), void server.close()));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const flowAt = (name: string, more: Partial<CodeFlowSettings> = {}) =>
    createCodeFlow({
      issuer: `${url}${name}`,
      endpoints: undefined,
      client: `client-of-${name.slice(1)}`,
      secret: undefined,
      timeoutMs: 30_000,
      allowHttp: false,
      what: "the login",
      ...more,
    });
  const back = (name: string, state: string, code: string) => new URLSearchParams({ code, state, iss: `${url}${name}` });
  return { url, asked, posted, state, flowAt, back };
}

const failureOf = (redeemed: Promise<unknown>) =>
  redeemed.then(
    () => "redeemed",
    (error: unknown) => flowFailure(error),
  );

describe("code flows at two issuers of one host", () => {
  test("lead each to its own issuer, as its own client", async () => {
    const { url, posted, flowAt, back } = await host();
    const flows = { "/a": flowAt("/a"), "/b": flowAt("/b") };
    for (const [name, flow] of [...Object.entries(flows), ...Object.entries(flows)]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const begun = await flow.start(ASKED);
      const { origin, pathname, searchParams } = new URL(begun.url);
      expect([origin, pathname, searchParams.get("client_id")]).toEqual([url, `${name}/authorize`, `client-of-${name.slice(1)}`]);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await flow.redeem(back(name, begun.state, "c"), begun, ASKED)).toMatchObject({ access_token: `${name}/token:c` });
      expect(posted.at(-1)).toMatchObject({ to: `${name}/token`, fields: { client_id: `client-of-${name.slice(1)}` } });
    }
  });

  test("redeem no code that the other issuer, or none, says it has given", async () => {
    const { posted, flowAt, back } = await host();
    const flow = flowAt("/a");
    const begun = await flow.start(ASKED);
    const own = back("/a", begun.state, "c");
    const nameless = new URLSearchParams(own);
    nameless.delete("iss");
    for (const parameters of [back("/b", begun.state, "c"), nameless]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await failureOf(flow.redeem(parameters, begun, ASKED))).toMatchObject({ type: "invalid" });
    }
    expect(posted).toEqual([]);
    // A forged callback takes nothing from the person's own.
    expect(await failureOf(flow.redeem(own, begun, ASKED))).toBe("redeemed");
  });
});

describe("code flows of two people at one issuer", () => {
  test("are begun apart, and neither redeems what came back to the other", async () => {
    const { posted, asked, flowAt, back } = await host();
    const flow = flowAt("/a");
    const [ann, bob] = [await flow.start(ASKED), await flow.start({ ...ASKED, resource: "https://crm.example" })];
    expect(new Set([ann.state, bob.state, ann.verifier, bob.verifier]).size).toBe(4);
    const challenges = [ann, bob].map(({ url }) => new URL(url).searchParams.get("code_challenge"));
    expect(new Set(challenges).size).toBe(2);
    expect([ann, bob].map(({ url }) => new URL(url).searchParams.get("resource"))).toEqual([null, "https://crm.example"]);
    expect(await failureOf(flow.redeem(back("/a", ann.state, "of-ann"), bob, ASKED))).toMatchObject({ type: "invalid" });
    expect(posted).toEqual([]);
    const tokens = await Promise.all([
      flow.redeem(back("/a", ann.state, "of-ann"), ann, ASKED),
      flow.redeem(back("/a", bob.state, "of-bob"), bob, { ...ASKED, resource: "https://crm.example" }),
    ]);
    expect(tokens.map((token) => token.access_token)).toEqual(["/a/token:of-ann", "/a/token:of-bob"]);
    const fieldsOf = (code: string) => posted.find(({ fields }) => fields["code"] === code)?.fields;
    expect(fieldsOf("of-ann")).toMatchObject({ code_verifier: ann.verifier, redirect_uri: CALLBACK });
    expect(fieldsOf("of-ann")).not.toHaveProperty("resource");
    expect(fieldsOf("of-bob")).toMatchObject({ code_verifier: bob.verifier, resource: "https://crm.example" });
    expect(asked).toHaveLength(1);
  });

  test("are refreshed apart, each for its own resource", async () => {
    const { posted, flowAt } = await host();
    const flow = flowAt("/a");
    const renewed = await Promise.all([flow.refresh("of-ann", "https://crm.example"), flow.refresh("of-bob"), flow.refresh("of-ann")]);
    expect(renewed.map((token) => token.access_token)).toEqual(["/a/token:of-ann", "/a/token:of-bob", "/a/token:of-ann"]);
    expect(posted.filter(({ fields }) => fields["resource"] !== undefined)).toHaveLength(1);
  });

  test("go on after one that was refused", async () => {
    const { state, flowAt, back } = await host();
    const flow = flowAt("/a");
    for (let times = 0; times < 3; times += 1) {
      state.refuses = true;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await failureOf(flow.refresh("of-ann"))).toEqual({ type: "refused", reason: "invalid_grant" });
      state.refuses = false;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const begun = await flow.start(ASKED);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await failureOf(flow.redeem(back("/a", begun.state, "c"), begun, ASKED))).toBe("redeemed");
    }
  });
});

describe("an issuer's metadata", () => {
  test("that could not be read is read again by the next person, and once for all who come at the same time", async () => {
    const { asked, state, flowAt } = await host();
    const flow = flowAt("/a");
    const start = () => failureOf(flow.start(ASKED));
    state.isDown = true;
    for (let times = 1; times <= 3; times += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const failures = await Promise.all([start(), start()]);
      expect(failures).toMatchObject([{ error: { code: "PROVIDER_UNAVAILABLE" } }, { error: { code: "PROVIDER_UNAVAILABLE" } }]);
      expect(asked).toHaveLength(times);
    }
    state.isDown = false;
    expect(await Promise.all([start(), start()])).toEqual(["redeemed", "redeemed"]);
    expect(asked).toHaveLength(4);
  });

  test("is read anew each time that it is old, not more often while it cannot be read, and by one issuer's people only", async () => {
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const { asked, state, flowAt } = await host();
    const [a, b] = [flowAt("/a"), flowAt("/b")];
    for (const isDown of [false, true, false, true, false]) {
      state.isDown = isDown;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      for (let times = 0; times < 3; times += 1) await a.start(ASKED);
      nowMs += METADATA_TTL_MS;
    }
    expect(asked).toEqual(Array.from({ length: 5 }, () => `${METADATA}/a`));
    await b.start(ASKED);
    expect(asked.slice(5)).toEqual([`${METADATA}/b`]);
  });
});

test("a provider without an issuer redeems no code of a callback that names one", async () => {
  const { url, posted, flowAt } = await host();
  const endpoints = { authorization: `${url}/x/authorize`, token: `${url}/x/token` };
  const flow = flowAt("/x", { issuer: undefined, endpoints });
  const begun = await flow.start(ASKED);
  const back = { code: "c", state: begun.state };
  const named = new URLSearchParams({ ...back, iss: url });
  expect(await failureOf(flow.redeem(named, begun, ASKED))).toMatchObject({ error: { code: "PROVIDER_INVALID" } });
  expect(posted).toEqual([]);
  expect(await failureOf(flow.redeem(new URLSearchParams(back), begun, ASKED))).toBe("redeemed");
});
