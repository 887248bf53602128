import { describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS, ParleyError, sweep } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { z } from "zod";
import { type Options, rpc } from "../client.fixture.ts";
import { deploy, type Deployment, type Front } from "../deployment.fixture.ts";
import { carriedKey, requestStates, type RequestState, wasAsked } from "./request-state.ts";
import { stateKeys } from "./state-keys.ts";
import { offered } from "../tools.fixture.ts";

const plain: Options = { tasks: false };
const alice = { action: "accept", content: { name: "Alice" } };
const bob = { action: "accept", content: { name: "Bob" } };
const greet = { name: "greet", arguments: {} };

async function asked(options: Options = plain): Promise<Deployment & { here: Front; there: Front; requestState: string }> {
  const deployment = await deploy({ catalogue: offered });
  const [here, there] = [deployment.fronts[0]!, deployment.fronts[1]!];
  const first = await rpc(here, "tools/call", greet, options);
  return { ...deployment, here, there, requestState: first.result!["requestState"]! };
}

const refused = { status: 200, error: { code: -32602, message: expect.stringContaining("requestState") } };

describe("requestState", () => {
  test("that was changed in any place is refused", async () => {
    const { here, requestState } = await asked();
    const middle = Math.floor(requestState.length / 2);
    const flipped = requestState[middle] === "A" ? "B" : "A";
    const changed = [
      `${requestState}-TAMPERED`,
      requestState.slice(0, -2),
      requestState.slice(0, middle) + flipped + requestState.slice(middle + 1),
      "",
      "x",
      "x".repeat(100_000),
    ];
    for (const state of changed) {
      expect(await rpc(here, "tools/call", { ...greet, requestState: state, inputResponses: { who: alice } }, plain)).toMatchObject(
        refused,
      );
    }
    const retried = await rpc(here, "tools/call", { ...greet, requestState, inputResponses: { who: alice } }, plain);
    expect(retried.result).toMatchObject({ content: [{ text: "Hello, Alice!" }] });
  });

  test("of another principal, tool, prompt or other arguments is refused", async () => {
    const { here, requestState } = await asked();
    const retry = { requestState, inputResponses: { who: alice } };
    expect(await rpc(here, "tools/call", { ...greet, ...retry }, { ...plain, principal: "mallory" })).toMatchObject(refused);
    expect(await rpc(here, "tools/call", { ...greet, name: "interview", ...retry }, plain)).toMatchObject(refused);
    expect(await rpc(here, "tools/call", { ...greet, arguments: { other: 1 }, ...retry }, plain)).toMatchObject(refused);
    expect(await rpc(here, "prompts/get", { name: "letter", arguments: { to: "Bob" }, ...retry }, plain)).toMatchObject(refused);
  });

  test("does not depend on the order of arguments", async () => {
    const { fronts } = await deploy({ catalogue: offered });
    const first = await rpc(fronts[0]!, "tools/call", { name: "greet", arguments: { a: 1, b: 2 } }, plain);
    const retry = { requestState: first.result!["requestState"], inputResponses: { who: alice } };
    const second = await rpc(fronts[1]!, "tools/call", { name: "greet", arguments: { b: 2, a: 1 }, ...retry }, plain);
    expect(second.result).toMatchObject({ content: [{ text: "Hello, Alice!" }] });
  });

  test("that has expired is refused", async () => {
    const { here, requestState, skip } = await asked();
    skip(31 * 24 * 60 * 60 * 1_000);
    expect(await rpc(here, "tools/call", { ...greet, requestState, inputResponses: { who: alice } }, plain)).toMatchObject(refused);
  });

  test("sent twice with the same answers, as after a network failure, gets the same result twice", async () => {
    const { here, there, requestState } = await asked();
    const retry = { ...greet, requestState, inputResponses: { who: alice } };
    const [one, two] = await Promise.all([rpc(here, "tools/call", retry, plain), rpc(there, "tools/call", retry, plain)]);
    const three = await rpc(here, "tools/call", retry, plain);
    for (const { result } of [one, two, three]) expect(result).toMatchObject({ content: [{ text: "Hello, Alice!" }] });
  });

  test("whose questions were answered differently before is refused", async () => {
    const { here, there, requestState } = await asked();
    await rpc(here, "tools/call", { ...greet, requestState, inputResponses: { who: alice } }, plain);
    expect(await rpc(there, "tools/call", { ...greet, requestState, inputResponses: { who: bob } }, plain)).toMatchObject(refused);
  });

  test("of an earlier round does not answer a later question", async () => {
    const { fronts } = await deploy({ catalogue: offered });
    const call = { name: "interview", arguments: {} };
    const first = await rpc(fronts[0]!, "tools/call", call, plain);
    const requestState = first.result!["requestState"];
    await rpc(fronts[1]!, "tools/call", { ...call, requestState, inputResponses: { name: alice } }, plain);
    const color = { action: "accept", content: { color: "blue" } };
    const late = await rpc(fronts[0]!, "tools/call", { ...call, requestState, inputResponses: { name: alice, color } }, plain);
    expect(late.result).toMatchObject({ resultType: "input_required" });
    expect(Object.keys(late.result!["inputRequests"]!)).toEqual(["color"]);
  });

  test("carries as many asks as may be open at once, however long their keys", async () => {
    const [branch, members] = [
      "b".repeat(64),
      Array.from({ length: DEFAULT_SETTINGS.openAsksMax }, (_, index) => `${"m".repeat(60)}${index}`),
    ];
    const polls = defineTool({
      name: "poll",
      async run(_args, ctx) {
        const asked = async (member: string) => await ctx.elicit(member, { message: "Agreed?", schema: z.object({ ok: z.boolean() }) });
        const all = await ctx.branch(branch, async () => await ctx.branch(branch, async () => await Promise.all(members.map(asked))));
        return `${all.filter(({ ok }) => ok).length} agree`;
      },
    });
    const { fronts } = await deploy({ catalogue: catalogue([polls]) });
    let reply = await rpc(fronts[0]!, "tools/call", { name: "poll", arguments: {} }, plain);
    for (const front of [fronts[1]!, fronts[0]!]) {
      const { requestState, inputRequests } = reply.result!;
      const some = Object.keys(inputRequests!).slice(0, DEFAULT_SETTINGS.repliesMax);
      const inputResponses = Object.fromEntries(some.map((key) => [key, { action: "accept", content: { ok: true } }]));
      reply = await rpc(front, "tools/call", { name: "poll", arguments: {}, requestState, inputResponses }, plain);
    }
    expect(reply.result).toMatchObject({ content: [{ text: "100 agree" }] });
  });

  test("sealed by an earlier version names long asks in full", () => {
    const name = "a".repeat(44);
    expect(wasAsked({ asked: [name] }, name)).toBe(true);
    expect(wasAsked({ asked: [carriedKey(name)] }, name)).toBe(true);
    expect(wasAsked({ asked: [carriedKey(`${name}b`)] }, name)).toBe(false);
    expect([carriedKey("a".repeat(43)), carriedKey(name).length]).toEqual(["a".repeat(43), 43]);
  });

  test("without answers is asked again", async () => {
    const { there, requestState } = await asked();
    const again = await rpc(there, "tools/call", { ...greet, requestState }, plain);
    expect(again.result).toMatchObject({ resultType: "input_required", inputRequests: { who: {} } });
    expect(again.result!["requestState"]).not.toBe(requestState);
  });

  test("with an answer that violates the form is asked again with the violations, and stays valid", async () => {
    const { here, requestState } = await asked();
    const wrong = { who: { action: "accept", content: { name: 7 } } };
    const bad = await rpc(here, "tools/call", { ...greet, requestState, inputResponses: wrong }, plain);
    expect(bad.result).toMatchObject({
      resultType: "input_required",
      inputRequests: { who: { params: { message: "Who are you?\n\nThe last answer could not be taken: Name must be a text." } } },
    });
    const good = await rpc(here, "tools/call", { ...greet, requestState, inputResponses: { who: alice } }, plain);
    expect(good.result).toMatchObject({ content: [{ text: "Hello, Alice!" }] });
  });

  test("with a malformed answer is refused, and stays valid", async () => {
    const { here, requestState } = await asked();
    for (const who of [12345, null, { action: "perhaps" }]) {
      const bad = await rpc(here, "tools/call", { ...greet, requestState, inputResponses: { who } }, plain);
      expect(bad).toMatchObject({
        status: 200,
        error: { code: -32602, data: { violations: [{ path: expect.stringMatching(/^\/who/) }] } },
      });
    }
    const good = await rpc(here, "tools/call", { ...greet, requestState, inputResponses: { who: alice } }, plain);
    expect(good.result).toMatchObject({ content: [{ text: "Hello, Alice!" }] });
  });

  test("whose question has timed out in the meantime continues without the answer", async () => {
    const { there, services, requestState, skip } = await asked();
    skip(services.settings.askTimeoutMs + 30_000);
    await sweep(services, { partition: 0 });
    const late = await rpc(there, "tools/call", { ...greet, requestState, inputResponses: { who: alice } }, plain);
    expect(late.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("who") }] });
  });
});

describe("a sealed state", () => {
  const state: RequestState = {
    taskId: "0-secret-task",
    principal: "alice",
    kind: "tool",
    name: "greet",
    argumentsDigest: "d",
    asked: ["who"],
    deadlineMs: 900,
    expiresAtMs: 1_000,
  };
  const [old, fresh] = ["an old secret that was used until now", "a fresh secret that is used from now"];

  test("reveals nothing of its content, and never looks the same twice", async () => {
    const states = requestStates(stateKeys([fresh!]));
    const [one, two] = [await states.seal(state), await states.seal(state)];
    expect(one).not.toBe(two);
    const readable = one
      .split(".")
      .map((part) => Buffer.from(part, "base64url").toString("latin1"))
      .join("");
    for (const word of ["secret-task", "alice", "who"]) expect(readable).not.toContain(word);
  });

  test("opens only for the request that it is bound to, until it expires", async () => {
    const states = requestStates(stateKeys([fresh!]));
    const sealed = await states.seal(state);
    expect(await states.open(sealed, state, 999)).toEqual(state);
    await expect(states.open(sealed, state, 1_000)).rejects.toThrow("expired");
    // The same error as for a state that was never sealed.
    await expect(states.open(sealed, { ...state, principal: "mallory" }, 1_000)).rejects.toThrow("cannot be opened");
    const others = [{ kind: "prompt" }, { name: "other" }, { argumentsDigest: "e" }] as const;
    for (const other of others) await expect(states.open(sealed, { ...state, ...other }, 0)).rejects.toThrow("another request");
  });

  test("opens under a replaced secret, as long as it is still listed", async () => {
    const sealed = await requestStates(stateKeys([old!])).seal(state);
    expect(await requestStates(stateKeys([fresh!, old!])).open(sealed, state, 0)).toEqual(state);
    await expect(requestStates(stateKeys([fresh!])).open(sealed, state, 0)).rejects.toThrow(ParleyError);
  });
});
