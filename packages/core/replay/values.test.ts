import { describe, expect, test } from "vitest";
import { describeError } from "../task/describe-error.ts";
import { RpcFailure, ToolError } from "../errors.ts";
import { DEFAULT_SETTINGS } from "../settings.ts";
import type { Task } from "../task.ts";
import { createValues } from "./values.ts";

function having(...secrets: readonly string[]) {
  const values = createValues({ id: "0-task" } as Task, DEFAULT_SETTINGS);
  for (const secret of secrets) values.secretRead(secret);
  return values;
}
const REFUSED = expect.objectContaining({
  code: "NOT_SERIALIZABLE",
  message: "it holds a secret, which would be recorded or shown: leave it out",
});

describe("a value with a secret that the run has read", () => {
  test.each(["hunter2", 'hunter2 "quoted"', "a\\b\nc d e"])("is refused as text and as JSON (%j)", (secret) => {
    const values = having(secret);
    expect(() => values.checked("it", { deep: [`with ${secret}`] })).toThrow(REFUSED);
    expect(() => values.assertNoSecret("it", `with ${secret}`)).toThrow(REFUSED);
    expect(() => values.assertNoSecretIn({ type: "log", level: "info", data: { [secret]: 1 } })).toThrow("a log holds a secret");
    expect(values.checked("it", "without")).toBe("without");
  });

  test("is not searched for secrets that occur in unrelated text, or were read long ago", () => {
    expect(having("12345").checked("it", "12345")).toBe("12345");
    const many = having(...Array.from({ length: 101 }, (_, i) => `secret ${i}.`));
    expect(many.checked("it", "secret 0.")).toBe("secret 0.");
    expect(() => many.checked("it", "secret 1.")).toThrow(REFUSED);
  });
});

describe("an error with a secret that the run has read", () => {
  const values = having("hunter2");
  const cleaned = (error: unknown) => values.withoutSecrets("it", error);

  test.each([
    new ToolError("hunter2 is wrong"),
    new RpcFailure(-32_000, "hunter2 is wrong"),
    new RpcFailure(-32_000, "wrong", { key: "hunter2" }),
  ])("for callers is refused (%#)", (error) => {
    expect(cleaned(error)).toStrictEqual(REFUSED);
  });

  test.each([
    new TypeError("hunter2 is wrong"),
    new TypeError("wrong", { cause: new Error("hunter2") }),
    Object.assign(new AggregateError([new Error("hunter2")], "wrong"), { name: "TypeError" }),
  ])("is logged with its name and its place, without its text (%#)", (error) => {
    const { stack } = describeError(error);
    expect(describeError(cleaned(error))).toStrictEqual({ error: "TypeError", detail: "(the text holds a secret)", stack });
  });

  test.each([new ToolError("no"), new RpcFailure(1, "no", { big: 1n }), new Error("no"), "no", undefined])(
    "but not in it stays as it is (%#)",
    (error) => {
      expect(cleaned(error)).toBe(error);
      expect(having().withoutSecrets("it", error)).toBe(error);
    },
  );
});
