import { describe, expect, test } from "vitest";
import { agreedSecrets, depositSeal } from "./deposit-seal.ts";

const [OLD, NEW] = ["an old secret of thirty-two characters", "a new secret of thirty-two characters"];

describe("a deposit", () => {
  test("opens for its task and its ask, and is sealed differently each time", () => {
    const seal = depositSeal([NEW]);
    for (const text of ["", "hunter2", "☃ \n", "x".repeat(20_000)]) {
      const sealed = [seal.seal("0-a", "key", text), seal.seal("0-a", "key", text)];
      expect(sealed[0]).not.toBe(sealed[1]);
      expect(sealed.map((each) => seal.open("0-a", "key", each))).toEqual([text, text]);
      expect(sealed[0]).not.toContain("hunter2");
    }
  });

  test("opens after a rotation, as long as its secret is kept", () => {
    const sealed = depositSeal([OLD]).seal("0-a", "key", "hunter2");
    expect(depositSeal([NEW, OLD]).open("0-a", "key", sealed)).toBe("hunter2");
    expect(() => depositSeal([NEW]).open("0-a", "key", sealed)).toThrow("PARLEY_SECRET");
  });

  test.each([
    ["another task", "0-b", "key", (text: string) => text],
    ["another ask", "0-a", "other", (text: string) => text],
    ["cut", "0-a", "key", (text: string) => text.slice(0, -2)],
    ["empty", "0-a", "key", () => ""],
    ["longer", "0-a", "key", (text: string) => `${text}A`],
    ["spelt otherwise", "0-a", "key", (text: string) => `${text}=`],
    ["changed", "0-a", "key", (text: string) => `${text.slice(0, 20)}${text[20] === "A" ? "B" : "A"}${text.slice(21)}`],
  ])("does not open when it is, or belongs to, %s; the error repeats none of it", (_what, taskId, key, change) => {
    const seal = depositSeal([NEW]);
    const sealed = change(seal.seal("0-a", "key", "hunter2"));
    expect(() => seal.open(taskId, key, sealed)).toThrow(
      /^the deposit of the page "\w+" cannot be opened with the PARLEY_SECRET of this process$/,
    );
  });
});

test("the operator's secrets take precedence over the shared one", async () => {
  const shared = { agree: async () => "shared" };
  expect(await agreedSecrets([OLD], shared)).toEqual([OLD]);
  expect(await agreedSecrets([], shared)).toEqual(["shared"]);
});
