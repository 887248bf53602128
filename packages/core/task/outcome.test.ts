import { describe, expect, test } from "vitest";
import { ParleyError, RpcFailure, StepFailed, ToolError } from "../errors.ts";
import { defectIdOf, outcomeOf, type OutcomeOptions, unmasked } from "./outcome.ts";

const tool = { kind: "tool", name: "pay" } as const;
const prompt = { kind: "prompt", name: "brief" } as const;
const options: OutcomeOptions = { defectId: "d-1", showErrors: false, sizeMax: 2_000 };
const shown = { ...options, showErrors: true };
const SECRET = "connect ECONNREFUSED postgres://admin:hunter2@10.0.0.5:5432";
const masked = (what: string) => `${what} failed. What went wrong is in the server's log, under defect d-1.`;
const result = (text: string) => ({ type: "result", result: { content: [{ type: "text", text }], isError: true } });

/** Thrown by a tool's own copy of this package: of the same kinds, but not instances of our classes. */
function foreign(kind: string, members: object): object {
  return Object.assign(Object.create({ [Symbol.for("parley.error")]: kind }) as object, members);
}

const throwing = new Error("x");
for (const member of ["name", "message", "stack", "cause"])
  Object.defineProperty(throwing, member, {
    get: () => {
      throw new Error(SECRET);
    },
  });

describe("a tool's error", () => {
  test.each([
    new Error(SECRET),
    new TypeError(SECRET),
    new AggregateError([new Error(SECRET), new ToolError(SECRET)], SECRET),
    new StepFailed("charge", SECRET, { defectId: "d-1" }),
    new Error("wrapped", { cause: new ToolError("not for callers once it is wrapped") }),
    Object.assign(new Error(SECRET), { name: "ToolError" }),
    Object.assign(new Error(SECRET), { name: "ParleyError", code: "INVALID_ASK", hint: SECRET }),
    SECRET,
    { message: SECRET },
    undefined,
    null,
    throwing,
  ])("is masked, with the id of its line in the log", (error) => {
    expect(outcomeOf(error, tool, options)).toEqual(result(masked("tool pay")));
    expect(outcomeOf(error, prompt, options)).toEqual({
      type: "error",
      error: { code: -32603, message: masked("prompt brief"), data: { defectId: "d-1" } },
    });
  });

  test("is shown in development, and never throws", () => {
    expect(outcomeOf(new Error(SECRET), tool, shown)).toEqual(result(SECRET));
    expect(outcomeOf(new StepFailed("charge", SECRET), tool, shown)).toEqual(result(SECRET));
    expect(outcomeOf("a text", tool, shown)).toEqual(result("a text"));
    expect(outcomeOf(new Error(SECRET), prompt, shown)).toMatchObject({ error: { message: SECRET, data: { defectId: "d-1" } } });
    expect(outcomeOf(throwing, tool, shown)).toMatchObject({ type: "result" });
  });

  test("is shown if it was meant for callers", () => {
    expect(outcomeOf(new ToolError("closed on Mondays", { retryable: true }), tool, options)).toEqual(result("closed on Mondays"));
    expect(outcomeOf(new ToolError("closed"), prompt, options)).toEqual({ type: "error", error: { code: -32603, message: "closed" } });
    expect(outcomeOf(new RpcFailure(-32_050, "closed", { until: 5 }), tool, options)).toEqual({
      type: "error",
      error: { code: -32_050, message: "closed", data: { until: 5 } },
    });
    const large = new ParleyError("TOO_LARGE", "the result of step list is too large", { data: { limit: 5 } });
    expect(outcomeOf(large, tool, options)).toEqual({
      type: "error",
      error: { code: -32603, message: large.message, data: { code: "TOO_LARGE", hint: large.hint, limit: 5 } },
    });
    // A ParleyError that a step threw returns as a failure of the step.
    expect(outcomeOf(new StepFailed("list", "too large", { isForCaller: true }), tool, options)).toEqual(result("too large"));
  });

  test("is recognised by its kind, also from another copy of this package", () => {
    expect(outcomeOf(foreign("tool", { message: "closed" }), tool, options)).toEqual(result("closed"));
    expect(outcomeOf(foreign("rpc", { code: 7, message: "no" }), tool, options)).toMatchObject({ error: { code: 7, message: "no" } });
  });

  test("says that the log has more about a catalogue error with a cause, and nothing of the cause", () => {
    const error = new ParleyError("UNHANDLED_REJECTION", "a callback threw", { cause: new Error(SECRET) });
    const outcome = outcomeOf(error, tool, options);
    expect(outcome).toMatchObject({ error: { message: "a callback threw", data: { code: "UNHANDLED_REJECTION", defectId: "d-1" } } });
    expect(JSON.stringify(outcome)).not.toContain("hunter2");
  });

  test("that cannot be stored still becomes an outcome", () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    for (const data of [
      circle,
      1n,
      {
        toJSON: () => {
          throw new Error(SECRET);
        },
      },
    ])
      // prettier-ignore
      expect(outcomeOf(new RpcFailure(1, "no", data), tool, options)).toMatchObject({
        type: "error",
        error: { message: "the error of tool pay is not plain data", data: { code: "NOT_SERIALIZABLE", defectId: "d-1" } },
      });
    expect(outcomeOf(new RpcFailure(Number.NaN, "no"), tool, options)).toMatchObject({ error: { code: -32603, message: "no" } });
  });

  test("that is larger than a stored value says so, at the limit and one beyond", () => {
    const size = JSON.stringify(outcomeOf(new RpcFailure(1, ""), tool, options)).length;
    const fits = new RpcFailure(1, "x".repeat(2_000 - size));
    expect(outcomeOf(fits, tool, options)).toMatchObject({ error: { message: fits.message } });
    expect(outcomeOf(new RpcFailure(1, `${fits.message}x`), tool, options)).toMatchObject({
      type: "error",
      error: { message: expect.stringContaining("2001 characters of JSON; the limit is 2000"), data: { code: "TOO_LARGE" } },
    });
  });
});

test("has the id of its line in the log if it is a failed step, otherwise a new one", () => {
  expect(defectIdOf(new StepFailed("charge", "no", { defectId: "d-7" }), () => "new")).toBe("d-7");
  expect(defectIdOf(new StepFailed("made by the author", "no"), () => "new")).toBe("new");
  expect(defectIdOf(Object.assign(new Error("x"), { defectId: "d-7" }), () => "new")).toBe("new");
});

test("is shown in replies only in development", () => {
  const defect = new Error(SECRET);
  expect(unmasked(defect, options)).toBe(defect);
  expect(unmasked(defect, shown)).toMatchObject({ name: "RpcFailure", code: -32603, message: SECRET, data: { defectId: "d-1" } });
  const known = new ParleyError("TASK_NOT_FOUND", "no task");
  expect(unmasked(known, shown)).toBe(known);
});
