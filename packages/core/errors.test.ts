import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { codeOf, type ErrorKind, ERRORS, kindOf, ParleyError, resourceNotFound, RpcFailure, StepFailed, ToolError } from "./errors.ts";
import { describeViolations } from "./values/schema-violation.ts";

test("docs/errors.md lists the catalogue, code by code, with the same hint", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const listed = [...page.matchAll(/^\| `([A-Z_]+)` \| (.+) \| .+ \|$/gm)].map(([, code, hint]) => [code, hint]);
  expect(listed).toEqual(Object.entries(ERRORS));
});

test("an error of any kind is bounded", () => {
  const message = (length: number) => new ParleyError("NOT_OPEN", "x".repeat(length)).message;
  expect(message(4_000)).toBe("x".repeat(4_000));
  expect(message(4_001)).toBe(`${"x".repeat(4_000)}…`);

  const violation = (length: number) => ({ path: `/${"p".repeat(length - 1)}`, message: "m".repeat(length) });
  const told = (violations: Parameters<typeof describeViolations>[0]) => new ParleyError("INVALID_ANSWER", "", { violations }).violations;
  expect(told(Array(8).fill(violation(200)))).toEqual(Array(8).fill(violation(200)));
  expect(told(Array(9).fill(violation(200)))).toHaveLength(8);
  expect(told([violation(201)])).toEqual([{ path: `${violation(200).path}…`, message: `${violation(200).message}…` }]);

  const missing = resourceNotFound("no resource of that uri", `test://${"x".repeat(1_994)}`);
  expect(missing).toMatchObject({ code: "RESOURCE_NOT_FOUND", message: "no resource of that uri" });
  expect(missing.data).toEqual({ uri: `test://${"x".repeat(1_993)}…` });
  expect(resourceNotFound("", `test://${"x".repeat(1_993)}`).data).toEqual({ uri: `test://${"x".repeat(1_993)}` });
});

test.each<[ErrorKind, string, (options?: { cause: unknown }) => Error]>([
  ["parley", "ParleyError", (options) => new ParleyError("NOT_OPEN", "no", options)],
  ["tool", "ToolError", (options) => new ToolError("no", options)],
  ["step", "StepFailed", (options) => new StepFailed("charge", "no", options)],
])("an error is recognised as %s, by its name, and has a cause only if there is one", (kind, name, make) => {
  expect(kindOf(make())).toBe(kind);
  expect(make()).toMatchObject({ name, message: "no" });
  expect(Object.hasOwn(make(), "cause")).toBe(false);
  const cause = new Error("behind it");
  expect(make({ cause }).cause).toBe(cause);
});

test("a tool's error keeps its message, and is retried only if it says so", () => {
  expect(new ToolError("no").retryable).toBe(false);
  expect(new ToolError("no", { retryable: true }).retryable).toBe(true);
  const failure = new RpcFailure(-32_050, "no", { why: "x" });
  expect(kindOf(failure)).toBe("rpc");
  expect(failure).toMatchObject({ name: "RpcFailure", message: "no", code: -32_050, data: { why: "x" } });
});

test("a failed step is shown to callers, and known to the log, only if it says so", () => {
  const failed = new StepFailed("charge", "no");
  expect(failed).toMatchObject({ step: "charge", isForCaller: false });
  expect(failed.defectId).toBeUndefined();
  expect(new StepFailed("charge", "no", { isForCaller: true, defectId: "d-1" })).toMatchObject({ isForCaller: true, defectId: "d-1" });
});

test("anything else has no kind, even if it throws when examined", () => {
  for (const other of [new Error("no"), { code: "NOT_OPEN" }, "ParleyError", 5, null, undefined]) expect(kindOf(other)).toBeUndefined();
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(kindOf(proxy)).toBeUndefined();
});

test("only an error of the catalogue has a code, also one of another copy of this package", () => {
  expect(codeOf(new ParleyError("NOT_OPEN", "no"))).toBe("NOT_OPEN");
  expect(codeOf({ [Symbol.for("parley.error")]: "parley", code: "NOT_OPEN" })).toBe("NOT_OPEN");
  for (const other of [new RpcFailure(-32_050, "no"), { code: "NOT_OPEN" }, undefined]) expect(codeOf(other)).toBeUndefined();
});

test("violations are described on one line, with a word for omitted ones", () => {
  expect(describeViolations([])).toBe("");
  expect(describeViolations([{ path: "", message: "must be an object" }])).toBe("the value must be an object");
  const wrong = Array.from({ length: 9 }, (_, index) => ({ path: `/${index}`, message: "is wrong" }));
  expect(describeViolations(wrong.slice(1))).toBe([1, 2, 3, 4, 5, 6, 7, 8].map((index) => `/${index} is wrong`).join("; "));
  expect(describeViolations(wrong)).toBe(`${[0, 1, 2, 3, 4, 5, 6, 7].map((index) => `/${index} is wrong`).join("; ")}; and more`);
});
