import { describe, expect, test } from "vitest";
import { apply, type TaskState } from "./state-machine.ts";
import type { Ask } from "../task.ts";

const ask = (key: string): Ask => ({
  key,
  digest: "d",
  calledAt: "0",
  request: { type: "form", message: "?", schema: {} },
  askedAtMs: 0,
  deadlineMs: 1,
  onTimeout: "cancel",
});

function after(...events: Parameters<typeof apply>[1][]): TaskState {
  return events.reduce<TaskState>(
    (state, event) => {
      const applied = apply(state, event);
      if (!applied.ok) throw new Error(applied.reason);
      return applied.state;
    },
    { status: "working", asks: [] },
  );
}

describe("the task state machine", () => {
  test("a task is input_required exactly while an ask is open (I3)", () => {
    expect(after({ type: "asked", ask: ask("a") }).status).toBe("input_required");
    expect(after({ type: "asked", ask: ask("a") }, { type: "asked", ask: ask("b") }, { type: "answered", key: "a" }).status).toBe(
      "input_required",
    );
    expect(after({ type: "asked", ask: ask("a") }, { type: "answered", key: "a" }).status).toBe("working");
  });

  test("asking twice is asking once", () => {
    expect(after({ type: "asked", ask: ask("a") }, { type: "asked", ask: ask("a") }).asks).toHaveLength(1);
  });

  test("an ask is answered once (I2)", () => {
    const answered = after({ type: "asked", ask: ask("a") }, { type: "answered", key: "a" });
    expect(apply(answered, { type: "answered", key: "a" })).toEqual({ ok: false, reason: "not_open" });
  });

  test("a withdrawn ask is as closed as an answered one (I3)", () => {
    const withdrawn = after({ type: "asked", ask: ask("a") }, { type: "withdrawn", key: "a" });
    expect(withdrawn).toEqual({ status: "working", asks: [] });
    expect(apply(withdrawn, { type: "answered", key: "a" })).toEqual({ ok: false, reason: "not_open" });
  });

  test("a restarted task has no open ask (I3)", () => {
    expect(after({ type: "asked", ask: ask("a") }, { type: "asked", ask: ask("b") }, { type: "restarted" })).toEqual({
      status: "working",
      asks: [],
    });
  });

  test.each(["completed", "failed", "cancelled"] as const)("a %s task never changes again (I1)", (status) => {
    const ended = after({ type: "asked", ask: ask("a") }, { type: "ended", status });
    expect(ended).toEqual({ status, asks: [] });
    expect(apply(ended, { type: "asked", ask: ask("b") })).toEqual({ ok: false, reason: "finished" });
    expect(apply(ended, { type: "answered", key: "a" })).toEqual({ ok: false, reason: "finished" });
    expect(apply(ended, { type: "restarted" })).toEqual({ ok: false, reason: "finished" });
    expect(apply(ended, { type: "ended", status: "cancelled" })).toEqual({ ok: false, reason: "finished" });
  });
});
