import { describe, expect, test } from "vitest";
import { ask, call, event, patched, received, roots, sample, sleep, step } from "./ask.ts";
import type { TaskEvent } from "../asks/event.ts";

describe("yield*", () => {
  const message = "?";
  const run = () => 1;
  const paid: TaskEvent<unknown> = { name: "paid", url: "https://parley.test", token: "t", received: async () => 1 };
  const schema = { type: "object" };
  const request = { messages: [], maxTokens: 9 };
  const { signal } = new AbortController();

  test.each([
    [ask.text({ id: "q", message, minLength: 1 }), { ask: "text", id: "q", message, minLength: 1 }],
    [ask.number({ message, min: 1 }), { ask: "number", message, min: 1 }],
    [ask.confirm({ message, dangerous: true }), { ask: "confirm", message, dangerous: true }],
    [ask.select({ message, options: ["a"] }), { ask: "select", message, options: ["a"] }],
    [ask.date({ message, min: "2026-12-24" }), { ask: "date", message, min: "2026-12-24" }],
    [ask.form({ message, schema }), { ask: "form", message, schema }],
    [ask.url({ message, url: "https://pay.example" }), { ask: "url", message, url: "https://pay.example" }],
    [ask.secret({ id: "key", message }), { ask: "secret", id: "key", message }],
    [ask.oauth({ message, provider: "git", scopes: ["repo"] }), { ask: "oauth", message, provider: "git", scopes: ["repo"] }],
    [ask.file({ message, accept: "image/*", count: 2 }), { ask: "file", message, accept: "image/*", count: 2 }],
    [sample("sum", request), { sample: "sum", request }],
    [sample("sum", request, { timeout: "1 day" }), { sample: "sum", request, timeout: "1 day" }],
    [roots(), { roots: "roots" }],
    [roots("folders", { timeout: "1 day" }), { roots: "folders", timeout: "1 day" }],
    [step("hold", run), { step: "hold", run }],
    [step("hold", run, { attempts: 3 }), { step: "hold", run, attempts: 3 }],
    [event("paid"), { event: "paid" }],
    [event("paid", { schema, timeout: "1 day" }), { event: "paid", schema, timeout: "1 day" }],
    [call("book", { city: "Graz" }), { call: "book", args: { city: "Graz" } }],
    [call("book", {}, { key: "hotel" }), { call: "book", args: {}, key: "hotel" }],
    [received(paid), paid],
    [sleep("nap", "1 hour"), { sleep: "nap", for: "1 hour" }],
    [sleep("nap", "1 hour", { signal }), { sleep: "nap", for: "1 hour", signal }],
    [patched("fraud-check"), { patched: "fraud-check" }],
  ])("yields once what yield takes, and returns what it receives: %#", (one: Generator<unknown, unknown, unknown>, yielded) => {
    expect(one.next()).toStrictEqual({ done: false, value: yielded });
    expect(one.next("what it gets")).toStrictEqual({ done: true, value: "what it gets" });
  });
});
