import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { readEnvironment, SettingsError, whole } from "./environment.ts";

const directory = mkdtempSync(join(tmpdir(), "parley-settings-"));
afterAll(() => rmSync(directory, { recursive: true }));

const file = (name: string, text: string) => {
  writeFileSync(join(directory, name), text);
  return join(directory, name);
};
const schema = z.object({ PASSWORD: z.string().default("none"), COUNT: whole(1) });

function problemsOf(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    readEnvironment(schema, environment);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError);
    return (error as SettingsError).problems;
  }
}

describe("a setting in a file", () => {
  test("is read without its trailing newline", () => {
    expect(readEnvironment(schema, { PASSWORD_FILE: file("a", "open sesame\n"), COUNT_FILE: file("b", "7") })).toEqual({
      PASSWORD: "open sesame",
      COUNT: 7,
    });
  });

  test("is validated like any other", () => {
    expect(problemsOf({ COUNT_FILE: file("c", "0") })).toEqual([expect.stringMatching(/^COUNT: /)]);
  });

  test("an empty variable names no file, and an empty setting does not conflict with a file", () => {
    expect(readEnvironment(schema, { PASSWORD_FILE: "" })).toEqual({ PASSWORD: "none", COUNT: 1 });
    expect(readEnvironment(schema, { PASSWORD: "", PASSWORD_FILE: file("d", "x") })).toEqual({ PASSWORD: "x", COUNT: 1 });
  });

  test("that cannot be read, is empty, or is given twice is reported by name, without its contents", () => {
    const environment = { PASSWORD: "a", PASSWORD_FILE: file("e", "secret"), COUNT_FILE: join(directory, "nothing") };
    expect(problemsOf(environment)).toEqual([
      "PASSWORD_FILE: PASSWORD is set as well; remove one of them",
      `COUNT_FILE: ${join(directory, "nothing")} cannot be read (ENOENT)`,
    ]);
    expect(problemsOf({ PASSWORD_FILE: file("f", "\n") })).toEqual([`PASSWORD_FILE: ${join(directory, "f")} is empty`]);
  });
});

describe("spaces and line ends around a setting", () => {
  test("are ignored, as a file with Windows line ends leaves them", () => {
    expect(readEnvironment(schema, { PASSWORD: " open sesame\r\n", COUNT: "7\r" })).toEqual({ PASSWORD: "open sesame", COUNT: 7 });
    expect(readEnvironment(schema, { COUNT_FILE: ` ${file("g", "7\r\n")}\r` })).toMatchObject({ COUNT: 7 });
  });

  test("alone are no value: the setting has its default, not 0", () => {
    expect(readEnvironment(schema, { PASSWORD: " ", COUNT: "\t\r\n" })).toEqual({ PASSWORD: "none", COUNT: 1 });
    expect(readEnvironment(schema, { COUNT_FILE: " " })).toMatchObject({ COUNT: 1 });
  });
});

test.each([
  ["seven", 'COUNT: must be a number, and is "seven"'],
  ["1MB", 'COUNT: must be a number, and is "1MB"'],
  ["1.5", 'COUNT: must be a whole number, and is "1.5"'],
  ["0", 'COUNT: must be at least 1, and is "0"'],
  ["9007199254740993", 'COUNT: must be at most 9007199254740991, and is "9007199254740993"'],
])("a number cannot be %s, and the problem says what was expected", (given, problem) => {
  expect(problemsOf({ COUNT: given })).toEqual([problem]);
});
