/** Attempts at a step's work, on a clock that the test turns. */
import { describe, expect, test } from "vitest";
import { ERROR_TEXT_MAX } from "../task/describe-error.ts";
import type { StepAttempt, StepOptions } from "../effects.ts";
import { ParleyError, ToolError } from "../errors.ts";
import type { EntryOutcome } from "../journal.ts";
import { createHandClock } from "../hand-clock.fixture.ts";
import type { Json } from "../task.ts";
import { type FailedTry, HEED_SIGNAL_MS, tryStep } from "./steps.ts";

function trying(work: (attempt: StepAttempt) => unknown, options: StepOptions = {}) {
  const { clock, ...time } = createHandClock();
  const startMs = clock.now();
  const run = new AbortController();
  const triedAtMs: number[] = [];
  const failures: FailedTry[] = [];
  const held = { mayAct: true };
  let outcome: { readonly is: EntryOutcome | undefined } | undefined;
  const tried = tryStep({
    key: "work",
    idempotencyKey: "0-task.work",
    work(attempt) {
      triedAtMs.push(clock.now() - startMs);
      return work(attempt);
    },
    options,
    clock,
    signal: run.signal,
    checked: (value) => value as Json | undefined,
    mayAct: () => held.mayAct,
    failed: (failure) => void failures.push(failure),
  }).then((is) => (outcome = { is }));
  return { ...time, tried, run, triedAtMs, failures, held, outcome: () => outcome };
}
const fail = (message: string) => () => Promise.reject(new Error(message));
const failed = (message: string, name = "Error") => ({ is: { type: "error", name, message } });

describe("attempts", () => {
  test("are one by default", async () => {
    const { tried, triedAtMs } = trying(fail("no"));
    expect(await tried).toStrictEqual(failed("no"));
    expect(triedAtMs).toStrictEqual([0]);
  });

  test("are one if their number is invalid", async () => {
    const { tried, triedAtMs } = trying(fail("no"), { attempts: Number.NaN });
    expect(await tried).toStrictEqual(failed("no"));
    expect(triedAtMs).toStrictEqual([0]);
  });

  test("wait a second, then twice as long each time, and not after the last", async () => {
    const { pass, triedAtMs, outcome, sleeping } = trying(fail("no"), { attempts: 4 });
    await pass(2_999);
    expect(triedAtMs).toStrictEqual([0, 1_000]);
    await pass(4_001);
    expect(triedAtMs).toStrictEqual([0, 1_000, 3_000, 7_000]);
    await pass(0);
    expect(outcome()).toStrictEqual(failed("no"));
    expect(sleeping()).toStrictEqual([]);
  });

  test("wait as long as the step says", async () => {
    const { pass, triedAtMs } = trying(fail("no"), { attempts: 3, backoffMs: 10 });
    await pass(100);
    expect(triedAtMs).toStrictEqual([0, 10, 30]);
  });

  test("end with the first success, whose value is kept, and know their number", async () => {
    const seen: unknown[] = [];
    const { pass, outcome, run } = trying(
      (attempt) => {
        seen.push(attempt);
        if (attempt.attempt < 2) throw new Error("not yet");
        return { ok: true };
      },
      { attempts: 3 },
    );
    await pass(10_000);
    expect(outcome()).toStrictEqual({ is: { type: "value", value: { ok: true } } });
    const each = { idempotencyKey: "0-task.work", signal: run.signal };
    expect(seen).toStrictEqual([
      { attempt: 1, ...each },
      { attempt: 2, ...each },
    ]);
  });

  test("without a return value are recorded without one", async () => {
    expect(await trying(() => undefined).tried).toStrictEqual({ is: { type: "value" } });
    expect(await trying(() => null).tried).toStrictEqual({ is: { type: "value", value: null } });
  });

  test("that throw something other than an Error are failures with its string form", async () => {
    expect(await trying(() => Promise.reject("a text" as unknown as Error)).tried).toStrictEqual(failed("a text"));
    expect(await trying(() => Promise.reject(new TypeError("a type"))).tried).toStrictEqual(failed("a type", "TypeError"));
  });

  test("are failures with any thrown value, and with no name but their own", async () => {
    const throwing = new Error("x");
    for (const member of ["name", "message", "stack"])
      Object.defineProperty(throwing, member, {
        get: () => {
          throw new Error("gotcha");
        },
      });
    expect(await trying(() => Promise.reject(throwing)).tried).toStrictEqual({
      is: { type: "error", name: "object", message: expect.any(String) },
    });
    // The name decides whether callers see the message, so no other error may have it.
    for (const name of ["ToolError", "ParleyError"]) {
      expect(await trying(() => Promise.reject(Object.assign(new Error("secret"), { name }))).tried).toStrictEqual(failed("secret"));
    }
    class NoTable extends ToolError {}
    expect(await trying(() => Promise.reject(new NoTable("none left"))).tried).toStrictEqual(failed("none left", "ToolError"));
    expect(await trying(() => Promise.reject(new ParleyError("TOO_LARGE", "large"))).tried).toStrictEqual(failed("large", "ParleyError"));
  });

  test("are recorded with a message as long as the log's", async () => {
    const fits = "x".repeat(ERROR_TEXT_MAX);
    expect(await trying(fail(fits)).tried).toStrictEqual(failed(fits));
    expect(await trying(fail(`${fits}x`)).tried).toStrictEqual(failed(`${fits}…`));
  });

  test("are reported when they fail, with the error itself and whether it was the last", async () => {
    const { pass, failures } = trying(fail("no"), { attempts: 2 });
    await pass(1_000);
    const error = expect.objectContaining({ message: "no", stack: expect.stringContaining("steps.test.ts") });
    expect(failures).toStrictEqual([
      { error, attempt: 1, isLast: false },
      { error, attempt: 2, isLast: true },
    ]);
  });

  test("are not repeated for errors that never change, unless a ToolError is retryable", async () => {
    const tries = async (error: Error) => {
      const { pass, triedAtMs } = trying(() => Promise.reject(error), { attempts: 3, backoffMs: 1 });
      await pass(100);
      return triedAtMs.length;
    };
    expect(await tries(new ParleyError("TOO_LARGE", "large"))).toBe(1);
    expect(await tries(new ParleyError("STEP_TIMEOUT", "slow"))).toBe(3);
    expect(await tries(new ToolError("closed"))).toBe(1);
    expect(await tries(new ToolError("busy", { retryable: true }))).toBe(3);
    expect(await tries(new Error("network"))).toBe(3);
  });

  test("do not begin when the run no longer holds its task, and one that failed as the run ended does not count", async () => {
    const lost = trying(fail("no"), { attempts: 3 });
    await lost.pass(0);
    lost.held.mayAct = false;
    await lost.pass(1_000);
    expect([lost.triedAtMs, lost.outcome()]).toStrictEqual([[0], { is: undefined }]);

    const ended = trying(({ signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error()))));
    await ended.pass(0);
    ended.run.abort();
    expect(await ended.tried).toStrictEqual({ is: undefined });
  });
});

describe("a time limit", () => {
  const late = failed("step work took longer than 50 ms", "ParleyError");

  test("does not affect work that ends in time, and leaves no timer behind", async () => {
    for (const [work, expected] of [
      [() => 1, { is: { type: "value", value: 1 } }],
      [fail("no"), failed("no")],
    ] as const) {
      const { tried, sleeping } = trying(work, { timeoutMs: 50 });
      expect(await tried).toStrictEqual(expected);
      expect(sleeping()).toStrictEqual([]);
    }
  });

  test("is passed to the work by its signal only, with the error as the reason", async () => {
    const reasons: unknown[] = [];
    const { pass, outcome, run } = trying(
      ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(reasons.push(signal.reason)))),
      { timeoutMs: 50 },
    );
    await pass(49);
    expect([reasons, outcome()]).toStrictEqual([[], undefined]);
    await pass(1);
    expect(outcome()).toStrictEqual(late);
    expect(reasons).toStrictEqual([new ParleyError("STEP_TIMEOUT", "step work took longer than 50 ms")]);
    expect(run.signal.aborted).toBe(false);
  });

  test("makes a failure of work that ends too late, whether it succeeds or throws", async () => {
    for (const end of ["resolve", "reject"] as const) {
      const gate = Promise.withResolvers<string>();
      const { pass, outcome, sleeping } = trying(() => gate.promise, { timeoutMs: 50 });
      await pass(60);
      // The next attempt may not begin at the same time.
      expect(outcome()).toBeUndefined();
      gate[end]("too late");
      await pass(0);
      expect(outcome()).toStrictEqual(late);
      expect(sleeping().length).toBeLessThanOrEqual(1);
    }
  });

  test("abandons work that ignores its signal after as long again, five seconds at most", async () => {
    const short = trying(() => new Promise(() => undefined), { timeoutMs: 50 });
    await short.pass(99);
    expect(short.outcome()).toBeUndefined();
    await short.pass(1);
    expect(short.outcome()).toStrictEqual(late);

    const long = trying(() => new Promise(() => undefined), { timeoutMs: 60_000 });
    await long.pass(60_000 + HEED_SIGNAL_MS - 1);
    expect(long.outcome()).toBeUndefined();
    await long.pass(1);
    expect(long.outcome()).toStrictEqual(failed("step work took longer than 60000 ms", "ParleyError"));
    expect(HEED_SIGNAL_MS).toBe(5_000);
  });

  test("ends with the run: what the work then throws is ignored", async () => {
    const { pass, run, tried, sleeping } = trying(
      ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
      { timeoutMs: 50 },
    );
    await pass(0);
    run.abort();
    expect(await tried).toStrictEqual({ is: undefined });
    expect(sleeping()).toStrictEqual([]);
  });

  test("holds for each attempt", async () => {
    const { pass, triedAtMs, outcome } = trying(({ attempt }) => (attempt === 1 ? new Promise(() => undefined) : "second"), {
      timeoutMs: 50,
      attempts: 2,
      backoffMs: 10,
    });
    await pass(200);
    expect(triedAtMs).toStrictEqual([0, 110]);
    expect(outcome()).toStrictEqual({ is: { type: "value", value: "second" } });
  });
});
