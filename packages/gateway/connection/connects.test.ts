import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import { AT_ONCE, createConnects } from "./connects.ts";
import { parseUpstreams, type Upstream } from "../config/upstreams.ts";

const upstreamNamed = (name: string, entry: object = { url: "https://up.example.com" }): Upstream =>
  parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name, ...entry }] }))[0]!;
const UP = upstreamNamed("up");
const late = () => new SdkError(SdkErrorCode.RequestTimeout, "Request timed out");

/** Connects that end when the test says so, in the order in which they began. */
function server() {
  const open: PromiseWithResolvers<string>[] = [];
  let most = 0;
  return {
    open,
    most: () => most,
    connect() {
      const one = Promise.withResolvers<string>();
      open.push(one);
      most = Math.max(most, open.length);
      return one.promise;
    },
    end(settle: (one: PromiseWithResolvers<string>) => void = (one) => one.resolve("open")) {
      const one = open.shift();
      if (one) settle(one);
    },
  };
}

test("so many sessions are opened at once, and one more for each that was opened; every call gets one, in order", async () => {
  const connects = createConnects();
  const up = server();
  const got: number[] = [];
  const all = Array.from({ length: 200 }, async (_, index) => {
    await connects.connect(UP, undefined, up.connect);
    got.push(index);
  });
  await until(() => up.open.length === AT_ONCE.url.first);
  for (const more of [1, 2, 3]) {
    up.end();
    await until(() => up.open.length === AT_ONCE.url.first + more);
  }
  while (got.length < 200) {
    up.end();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(all);
  expect(got).toEqual(Array.from({ length: 200 }, (_, index) => index));
});

test("a command starts fewer processes at once, and another upstream has a line of its own", async () => {
  const connects = createConnects();
  const [command, other] = [server(), server()];
  const all = Array.from({ length: 40 }, () => connects.connect(upstreamNamed("pipe", { command: "x" }), undefined, command.connect));
  const one = connects.connect(UP, undefined, other.connect);
  await until(() => command.open.length === AT_ONCE.command.first && other.open.length === 1);
  other.end();
  await one;
  for (let ended = 0; ended < 40; ended += 1) {
    await until(() => command.open.length > 0);
    command.end();
  }
  await Promise.all(all);
});

test("however many sessions an upstream has opened, there is a limit to those that are opened at once", async () => {
  const connects = createConnects();
  const pipe = upstreamNamed("pipe", { command: "x" });
  const { most } = AT_ONCE.command;
  for (let opened = 0; opened < 2 * most; opened += 1) await connects.connect(pipe, undefined, async () => undefined);
  const up = server();
  const all = Array.from({ length: most + 5 }, () => connects.connect(pipe, undefined, up.connect));
  await until(() => up.open.length >= most);
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(up.open.length).toBe(most);
  for (let ended = 0; ended < most + 5; ended += 1) {
    await until(() => up.open.length > 0);
    up.end();
  }
  await Promise.all(all);
});

test("an upstream whose lists cannot be read keeps its line while sessions are opened", async () => {
  const connects = createConnects();
  const up = server();
  const all = Array.from({ length: AT_ONCE.url.first + 1 }, () => connects.connect(UP, undefined, up.connect));
  await until(() => up.open.length === AT_ONCE.url.first);
  connects.forget("up");
  all.push(connects.connect(UP, undefined, up.connect));
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(up.open.length).toBe(AT_ONCE.url.first);
  for (let ended = 0; ended < all.length; ended += 1) {
    await until(() => up.open.length > 0);
    up.end();
  }
  await Promise.all(all);
});

test("a session that is late while others were opened is opened again, with half as many beside it", async () => {
  const connects = createConnects();
  const up = server();
  const all = Promise.allSettled(Array.from({ length: 2 * AT_ONCE.url.first }, () => connects.connect(UP, undefined, up.connect)));
  await until(() => up.open.length === AT_ONCE.url.first);
  up.end();
  await until(() => up.open.length === AT_ONCE.url.first + 1);
  for (let ended = 0; ended < 2; ended += 1) up.end((one) => one.reject(late()));
  // As many as were open ended, and a quarter may be open now: nothing is opened until the others have ended.
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(up.open.length).toBe(AT_ONCE.url.first - 1);
  for (let ended = 1; ended < 2 * AT_ONCE.url.first; ended += 1) {
    await until(() => up.open.length > 0);
    up.end();
  }
  expect((await all).every(({ status }) => status === "fulfilled")).toBe(true);
});

test("a session that is late while none was opened, and one that fails otherwise, is not opened again", async () => {
  const connects = createConnects();
  let tries = 0;
  const failing = (error: Error) => async () => {
    tries += 1;
    throw error;
  };
  await expect(connects.connect(UP, undefined, failing(late()))).rejects.toThrow("Request timed out");
  await expect(connects.connect(UP, undefined, failing(new Error("refused")))).rejects.toThrow("refused");
  expect(tries).toBe(2);
});

test("a call that is cancelled leaves the line, and one that waits too long is refused; neither takes a place", async () => {
  const connects = createConnects({ waitMs: 50 });
  const up = server();
  const first = Array.from({ length: AT_ONCE.url.first }, () => connects.connect(UP, undefined, up.connect));
  const stop = new AbortController();
  const cancelled = connects.connect(UP, stop.signal, up.connect);
  stop.abort(new Error("cancelled"));
  await expect(cancelled).rejects.toThrow("cancelled");
  await expect(connects.connect(UP, undefined, up.connect)).rejects.toThrow("too many callers came at once");
  while (up.open.length > 0) up.end();
  await Promise.all(first);
  const next = connects.connect(UP, undefined, up.connect);
  await until(() => up.open.length === 1);
  up.end();
  expect(await next).toBe("open");
});
