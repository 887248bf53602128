import { describe, expect, test } from "vitest";
import { describeError, describeOrigin, ERROR_TEXT_MAX, errorName, errorText } from "./describe-error.ts";
import { ParleyError, RpcFailure, StepFailed, ToolError } from "../errors.ts";

const here = expect.stringContaining("describe-error.test.ts");

describe("what the log says of an error", () => {
  test("is its name, code, message and frames", () => {
    const error = Object.assign(new TypeError("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    expect(describeError(error)).toEqual({
      error: "TypeError",
      code: "ECONNREFUSED",
      detail: "connect ECONNREFUSED",
      stack: expect.arrayContaining([here]),
    });
  });

  test("is the same for its causes and for the errors of an AggregateError", () => {
    const pool = new Error("pool is closed", { cause: new RangeError("no sockets") });
    const gathered = new AggregateError([pool, "a text"], "all failed", { cause: new StepFailed("charge", "no", { defectId: "d-1" }) });
    const { cause, errors } = describeError(gathered);
    expect(cause).toMatchObject({ error: "StepFailed", step: "charge", defectId: "d-1", detail: "no" });
    expect(errors).toMatchObject([
      { error: "Error", detail: "pool is closed", cause: { error: "RangeError", detail: "no sockets" } },
      { error: "string", detail: "a text" },
    ]);
    expect(errors?.[0]?.stack).toEqual(expect.arrayContaining([here]));
  });

  test("is the same for both errors of a SuppressedError, which `using` throws if the disposal fails as well", () => {
    const work = () => {
      using _connection = {
        [Symbol.dispose]() {
          throw new Error("cannot close");
        },
      };
      throw new RangeError("no table");
    };
    let thrown: unknown;
    try {
      work();
    } catch (error) {
      thrown = error;
    }
    expect(describeError(thrown)).toMatchObject({
      error: "SuppressedError",
      errors: [
        { error: "Error", detail: "cannot close" },
        { error: "RangeError", detail: "no table" },
      ],
    });
    expect(describeError(Object.assign(new Error("x"), { error: "SECRET", suppressed: "SECRET" }))).not.toHaveProperty("errors");
  });

  test("is nothing else that is attached to it", () => {
    const error = Object.assign(new Error("refused"), {
      command: { name: "evalsha", args: ["SECRET"] },
      config: { data: "SECRET" },
      issues: [{ input: "SECRET" }],
      violations: [{ path: "/SECRET", message: "SECRET" }],
    });
    expect(JSON.stringify(describeError(error))).not.toContain("SECRET");
  });

  test("has a code that is a string or a number, and no other", () => {
    expect(describeError(Object.assign(new Error("x"), { code: 42 })).code).toBe(42);
    expect(describeError(Object.assign(new Error("x"), { code: 0 })).code).toBe(0);
    for (const code of [{ secret: "SECRET" }, true, null, undefined])
      expect(describeError(Object.assign(new Error("x"), { code }))).not.toHaveProperty("code");
  });

  test("names the step and its log id for a failed step only", () => {
    const keys = (error: unknown) => Object.keys(describeError(error)).toSorted();
    expect(keys(new StepFailed("charge", "no"))).toStrictEqual(["detail", "error", "stack", "step"]);
    expect(keys(Object.assign(new Error("no"), { step: "SECRET", defectId: "SECRET" }))).toStrictEqual(["detail", "error", "stack"]);
    // From another copy of the package, or from elsewhere.
    const odd = { [Symbol.for("parley.error")]: "step", step: ["SECRET"], defectId: 5 };
    expect(describeError(odd)).toStrictEqual({ error: "object", detail: "an object was thrown, with step, defectId: throw an Error" });
  });

  test("omits only the messages of the catalogue's own errors, even if other errors have the same code", () => {
    const error = Object.assign(new Error("from a library"), { code: "INVALID_ARGUMENTS" });
    expect(describeError(error)).toMatchObject({ code: "INVALID_ARGUMENTS", detail: "from a library" });
  });

  test.each([
    new ToolError("no table for SECRET"),
    new RpcFailure(-32_050, "SECRET", "SECRET"),
    new ParleyError("INVALID_ARGUMENTS", "SECRET", { violations: [{ path: "/a", message: "SECRET" }] }),
    new ParleyError("INVALID_ANSWER", "SECRET"),
  ])("omits messages that callers received, because they may quote what the caller sent", (error) => {
    expect(JSON.stringify({ ...describeError(error), stack: [] })).not.toContain("SECRET");
    expect(describeError(error).stack).toEqual(expect.arrayContaining([here]));
  });

  test("is otherwise the catalogue's message, with its causes", () => {
    const error = new ParleyError("UNHANDLED_REJECTION", "a callback threw", { cause: new Error("disk full") });
    expect(describeError(error)).toMatchObject({
      error: "ParleyError",
      code: "UNHANDLED_REJECTION",
      detail: "a callback threw",
      cause: { detail: "disk full", stack: expect.arrayContaining([here]) },
    });
  });

  test.each([
    ["a text", { error: "string", detail: "a text" }],
    [undefined, { error: "undefined", detail: "undefined was thrown, which says nothing: throw an Error" }],
    [null, { error: "object", detail: "null was thrown, which says nothing: throw an Error" }],
    [
      { code: 7, reason: "x" },
      { error: "object", code: 7, detail: "an object was thrown, with code, reason: throw an Error" },
    ],
    [Symbol("s"), { error: "symbol", detail: "Symbol(s)" }],
    [7n, { error: "bigint", detail: "7" }],
    [
      { message: "not an Error", password: "x" },
      { error: "object", detail: "not an Error" },
    ],
    [Object.create(null), { error: "object", detail: "(the thrown value has no string form: throw an Error)" }],
  ])("exists for anything that can be thrown", (thrown, expected) => {
    expect(describeError(thrown)).toEqual(expected);
  });

  test("never throws, even if parts of the error do", () => {
    const bad = () => {
      throw new Error("gotcha");
    };
    const getters = new Error("x");
    for (const member of ["name", "message", "stack", "cause", "code", "errors", "toString"])
      Object.defineProperty(getters, member, { get: bad });
    expect(describeError(getters)).toEqual({ error: "object", detail: expect.any(String) });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(describeError(proxy)).toEqual({ error: "object", detail: "(the thrown value has no string form: throw an Error)" });
    expect(describeError(Object.assign(new Error("x"), { name: 5, stack: { a: 1 }, code: {}, errors: "no" }))).toEqual({
      error: "object",
      detail: "x",
    });
  });
});

test.each<[unknown, string]>([
  [new TypeError("x"), "TypeError"],
  [{ name: "" }, "object"],
  [{ name: 5 }, "object"],
  [{}, "object"],
  [null, "Error"],
  [undefined, "Error"],
  ["a text", "Error"],
])("names anything that was thrown: %o", (thrown, name) => {
  expect(errorName(thrown)).toBe(name);
});

test.each<[unknown, ReturnType<typeof describeOrigin>]>([
  [new TypeError("SECRET"), { error: "TypeError", stack: expect.arrayContaining([here]) as string[] }],
  [{ name: "Odd", message: "SECRET", stack: "SECRET" }, { error: "Odd" }],
  ["SECRET", { error: "string" }],
  [null, { error: "object" }],
  [undefined, { error: "undefined" }],
])("says where an error came from without its message: %o", (thrown, origin) => {
  expect(describeOrigin(thrown)).toStrictEqual(origin);
  expect(JSON.stringify(describeOrigin(thrown))).not.toContain("SECRET");
});

describe("bounds", () => {
  test("hold for messages, names and codes, at the limit and one beyond", () => {
    expect(errorText(new Error("x".repeat(ERROR_TEXT_MAX)))).toHaveLength(ERROR_TEXT_MAX);
    expect(errorText(new Error("x".repeat(ERROR_TEXT_MAX + 1)))).toBe(`${"x".repeat(ERROR_TEXT_MAX)}…`);
    expect(errorText("x".repeat(ERROR_TEXT_MAX + 1))).toBe(`${"x".repeat(ERROR_TEXT_MAX)}…`);
    expect(errorName({ name: "n".repeat(100) })).toBe("n".repeat(100));
    expect(errorName({ name: "n".repeat(101) })).toBe(`${"n".repeat(100)}…`);
    expect(describeError(Object.assign(new Error("x"), { code: "c".repeat(101) })).code).toBe(`${"c".repeat(100)}…`);
  });

  test("hold for frames", () => {
    const error = new Error("x");
    const frames = (count: number, chars: number) => {
      error.stack = `Error: x\n${Array.from({ length: count }, (_, n) => `    at f${n} `.padEnd(chars + 4, "p")).join("\n")}`;
      return describeError(error).stack;
    };
    expect(frames(32, 500)).toStrictEqual(Array.from({ length: 32 }, (_, n) => `at f${n} `.padEnd(500, "p")));
    expect(frames(33, 501)).toStrictEqual(Array.from({ length: 32 }, (_, n) => `${`at f${n} `.padEnd(500, "p")}…`));
  });

  test("hold for causes and contained errors, which may be circular", () => {
    const loop = new Error("loop");
    loop.cause = loop;
    expect(describeError(loop)).not.toHaveProperty("cause");
    const gathered = new AggregateError([new Error("one")]);
    gathered.errors.push(gathered);
    expect(describeError(gathered).errors).toMatchObject([{ detail: "one" }]);
    expect(describeError(gathered).errors).toHaveLength(1);
    let deep = new Error("innermost");
    for (let level = 0; level < 20; level += 1) deep = new Error(`level ${level}`, { cause: deep });
    let levels = 1;
    for (let at = describeError(deep); at.cause; at = at.cause) levels += 1;
    expect(levels).toBe(8);
    expect(describeError(new AggregateError(Array.from({ length: 20 }, () => new Error("one")))).errors).toHaveLength(8);
  });
});
