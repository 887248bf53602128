import { describe, expect, test } from "vitest";
import {
  type Actor,
  type Audit,
  type AuditFact,
  bindingOfCall,
  boundTo,
  noteAudit,
  noteQuota,
  noteShown,
  QUOTA_NOTED_EVERY_MS,
  QUOTAS_NOTED_MAX,
  SHOWN_MAX,
  toolOf,
  withAudit,
} from "./audit.ts";
import { callerNamed } from "./caller.fixture.ts";
import { ParleyError } from "../errors.ts";
import type { Ask, AskRequest, CallFacts, EventRequest, Open, Task } from "../task.ts";

const task = { id: "0-1", call: { kind: "tool", name: "subject" } } as Task;
const ask = (key: string, revision = 1): Ask =>
  ({ key, digest: "d", request: { type: "roots" }, since: { revision, position: 0 }, askedAtMs: 7 }) as Ask;

function audited() {
  const noted: AuditFact[] = [];
  const audit: Audit = { note: async (fact) => void noted.push(fact) };
  return { noted, services: { audit, digest: (text: string) => text } };
}

describe("shown questions are noted", () => {
  const alice = { caller: callerNamed("alice"), door: "a door" };

  test("once for each reader, door and time asked", () => {
    const { noted, services } = audited();
    for (const actor of [alice, alice, { ...alice, caller: callerNamed("bob") }, { ...alice, door: "another" }])
      noteShown(services, actor, task, [ask("a")]);
    noteShown(services, alice, task, [ask("a", 2), ask("b")]);
    expect(noted).toHaveLength(5);
    expect(noted[0]).toStrictEqual({
      principal: "alice",
      door: "a door",
      action: "shown",
      taskId: "0-1",
      tool: "tool subject",
      ask: "a",
      question: "d",
      version: 1,
      asked: 7,
    });
  });

  test("even if the store has not said since when they are open", () => {
    const { noted, services } = audited();
    const { since, ...young } = ask("a");
    for (const shown of [young, young, { ...young, since }]) noteShown(services, alice, task, [shown as Ask]);
    expect(noted.map(({ version }) => version)).toStrictEqual([undefined, 1]);
  });

  test("as many as are remembered, at the limit and one beyond", () => {
    const { noted, services } = audited();
    const show = (from: number, to: number) => {
      for (let i = from; i < to; i += 1) noteShown(services, alice, task, [ask(`a${i}`)]);
    };
    show(0, SHOWN_MAX);
    show(0, 1);
    expect(noted).toHaveLength(SHOWN_MAX);
    show(SHOWN_MAX, SHOWN_MAX + 1);
    show(0, 1);
    expect(noted).toHaveLength(SHOWN_MAX + 2);
  });
});

describe("a quota that a caller reached is noted", () => {
  const caller = callerNamed("alice", { tenant: "acme" });
  const over = (message: string) => new ParleyError("QUOTA_EXCEEDED", message);
  function timed() {
    const { noted, services } = audited();
    let nowMs = 5;
    return { noted, services: { ...services, clock: { now: () => nowMs } }, pass: (ms: number) => void (nowMs += ms) };
  }

  test("once a minute for each caller and quota", () => {
    const { noted, services, pass } = timed();
    const reach = () => {
      for (const quota of ["few calls", "few calls", "few reads"]) noteQuota(services, { caller, door: "a door" }, over(quota));
    };
    reach();
    noteQuota(services, { caller: callerNamed("bob", { tenant: "acme" }) }, over("few calls"));
    noteQuota(services, { caller: callerNamed("alice", { tenant: "other" }) }, over("few calls"));
    pass(QUOTA_NOTED_EVERY_MS - 1);
    reach();
    expect(noted).toStrictEqual([
      { principal: "alice", tenant: "acme", door: "a door", action: "quota", verdict: "few calls" },
      { principal: "alice", tenant: "acme", door: "a door", action: "quota", verdict: "few reads" },
      { principal: "bob", tenant: "acme", action: "quota", verdict: "few calls" },
      { principal: "alice", tenant: "other", action: "quota", verdict: "few calls" },
    ]);
    pass(1);
    reach();
    expect(noted).toHaveLength(6);
  });

  test("as many as are remembered, at the limit and one beyond", () => {
    const { noted, services } = timed();
    for (let i = 0; i < QUOTAS_NOTED_MAX; i += 1) noteQuota(services, { caller }, over(`quota ${i}`));
    noteQuota(services, { caller }, over("quota 0"));
    expect(noted).toHaveLength(QUOTAS_NOTED_MAX);
    noteQuota(services, { caller }, over("one more"));
    noteQuota(services, { caller }, over("quota 0"));
    expect(noted).toHaveLength(QUOTAS_NOTED_MAX + 2);
  });

  test("and no other error is", () => {
    const { noted, services } = timed();
    for (const error of [new ParleyError("OVERLOADED", "full"), new Error("QUOTA_EXCEEDED")]) noteQuota(services, { caller }, error);
    expect(noted).toStrictEqual([]);
  });
});

test("without an audit no fact is created", () => {
  const fact = () => {
    throw new Error("made");
  };
  expect(withAudit({ digest: (text) => text }, { caller: callerNamed("alice") }, fact)).toEqual({});
  noteShown({ digest: fact }, { caller: callerNamed("alice") }, task, [ask("a")]);
  noteAudit({ digest: fact }, { caller: callerNamed("alice") }, fact);
});

describe("a fact names the actor", () => {
  const fact = (): AuditFact => ({ action: "cancel", taskId: "0-1" });

  test.each<[Actor, object]>([
    [{ caller: callerNamed("alice") }, { principal: "alice" }],
    [
      { caller: callerNamed("alice"), door: "a door" },
      { principal: "alice", door: "a door" },
    ],
    [{ caller: callerNamed("alice", { tenant: "acme" }) }, { principal: "alice", tenant: "acme" }],
  ])("with exactly what is known: %o", (actor, named) => {
    const { noted, services } = audited();
    expect(withAudit(services, actor, fact)).toStrictEqual({ audit: { ...named, action: "cancel", taskId: "0-1" } });
    expect(noted).toStrictEqual([]);
    noteAudit(services, actor, fact);
    expect(noted).toStrictEqual([{ ...named, action: "cancel", taskId: "0-1" }]);
  });
});

test("a tool is named by its kind, and by its version if it has one", () => {
  expect(toolOf({ kind: "tool", name: "book" })).toStrictEqual({ tool: "tool book" });
  expect(toolOf({ kind: "prompt", name: "book", version: "2" })).toStrictEqual({ tool: "prompt book", toolVersion: "2" });
});

describe("a digest binds", () => {
  const services = { digest: (text: string, taskId?: string) => `${taskId}: ${text}` };
  const call: CallFacts = task.call;

  test("a call to what was called and its arguments, in any order", () => {
    const binding = '0-1: {"arguments":{"a":1,"b":{"c":2,"d":3}},"kind":"tool","name":"subject"}';
    expect(bindingOfCall(services, "0-1", call, { b: { d: 3, c: 2 }, a: 1 })).toBe(binding);
    expect(bindingOfCall(services, "0-1", call, { a: 1, b: { c: 2, d: 3 } })).toBe(binding);
  });

  const open = (request: AskRequest | EventRequest, more: object = {}) =>
    ({ key: "a", digest: "d", askedAtMs: 7, request, ...more }) as Open;
  const schema = { type: "object", properties: {} };

  test.each<[string, CallFacts, Open, Partial<AuditFact>]>([
    ["the question", call, open({ type: "roots" }), {}],
    ["a form to its schema", call, open({ type: "form", message: "?", schema }), { schema: '0-1: {"properties":{},"type":"object"}' }],
    ["an event to its schema", call, open({ type: "event", schema }), { schema: '0-1: {"properties":{},"type":"object"}' }],
    ["a page to no schema", call, open({ type: "url", message: "?", url: "https://example.com/" }), {}],
    ["which version of it", call, open({ type: "roots" }, { since: { revision: 7, position: 2 } }), { version: 7 }],
    ["the call", { ...call, binding: "b" }, open({ type: "roots" }), { call: "b" }],
  ])("an answer to the question: %s", (_, of, ask, bound) => {
    expect(boundTo(services, "0-1", of, ask)).toStrictEqual({ ask: "a", question: "d", asked: 7, ...bound });
  });
});
