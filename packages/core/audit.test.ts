import { describe, expect, test } from "vitest";
import { type Audit, type AuditFact, noteShown, SHOWN_MAX, withAudit } from "./audit.ts";
import { callerNamed } from "./caller.fixture.ts";
import type { Ask, Task } from "./task.ts";

const task = { id: "0-1", call: { kind: "tool", name: "subject" } } as Task;
const ask = (key: string, revision = 1): Ask => ({ key, digest: "d", request: { type: "roots" }, since: { revision, position: 0 } }) as Ask;

function audited() {
  const noted: AuditFact[] = [];
  const audit: Audit = { note: async (fact) => void noted.push(fact) };
  return { noted, services: { audit, digest: (text: string) => text } };
}

describe("questions that are shown are noted", () => {
  const alice = { caller: callerNamed("alice"), door: "a door" };

  test("once for each reader, door and putting", () => {
    const { noted, services } = audited();
    for (const actor of [alice, alice, { ...alice, caller: callerNamed("bob") }, { ...alice, door: "another" }])
      noteShown(services, actor, task, [ask("a")]);
    noteShown(services, alice, task, [ask("a", 2), ask("b")]);
    expect(noted).toHaveLength(5);
    expect(noted[0]).toEqual({
      principal: "alice",
      door: "a door",
      action: "shown",
      taskId: "0-1",
      tool: "tool subject",
      ask: "a",
      question: "d",
      version: 1,
    });
  });

  test("as many as it remembers, at the limit and one beyond", () => {
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

test("without an audit no fact is made", () => {
  const fact = () => {
    throw new Error("made");
  };
  expect(withAudit({ digest: (text) => text }, { caller: callerNamed("alice") }, fact)).toEqual({});
  noteShown({ digest: fact }, { caller: callerNamed("alice") }, task, [ask("a")]);
});
