import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const MAIN = resolve(import.meta.dirname, "../main.ts");
const script = (shell: string) => execFileSync(process.execPath, [MAIN, "completion", shell], { encoding: "utf8" });
const run = (shell: string, ...args: string[]) => execFileSync(shell, args, { encoding: "utf8" });
const has = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "parley-completion-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

describe("completion", () => {
  test.runIf(has("bash"))("of bash offers commands, subcommands and options", () => {
    const file = join(directory, "bash");
    writeFileSync(file, script("bash"));
    const offered = (...words: string[]) => {
      const line = `source ${file}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _parley; echo "\${COMPREPLY[*]}"`;
      return execFileSync("bash", ["-c", line], { encoding: "utf8" }).trim().split(" ");
    };
    expect(offered("parley", "ta")).toEqual(["tasks", "task"]);
    expect(offered("parley", "tasks", "c")).toEqual(["cancel"]);
    expect(offered("parley", "call", "--no-")).toEqual(["--no-input", "--no-wait"]);
    expect(offered("parley", "tasks", "get", "--js")).toEqual(["--json"]);
  });

  test.runIf(has("zsh"))("of zsh is a valid zsh script", () => {
    const file = join(directory, "zsh");
    writeFileSync(file, script("zsh"));
    run("zsh", "-n", file);
  });

  test.runIf(has("fish"))("of fish offers commands, subcommands and options", () => {
    const file = join(directory, "fish");
    writeFileSync(file, script("fish"));
    const offered = (line: string) =>
      run("fish", "--no-config", "-c", `source ${file}; complete -C '${line}'`)
        .trim()
        .split("\n")
        .map((each) => each.split("\t")[0]);
    expect(offered("parley ta")).toEqual(["task", "tasks"]);
    expect(offered("parley tasks c")).toEqual(["cancel"]);
    expect(offered("parley call --no-")).toEqual(["--no-input", "--no-wait"]);
    expect(offered("parley tasks get --js")).toEqual(["--json"]);
  });

  test("knows every command, for each shell", () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const text = script(shell);
      for (const word of ["inbox", "stdio", "completion", "checkpoint"]) expect(text).toContain(word);
    }
  });

  test("of another shell is refused, and the error lists the supported shells", () => {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, "completion", "cmd"], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: "parley: there is no completion for cmd; supported shells: bash, zsh, fish\n",
    });
  });
});
