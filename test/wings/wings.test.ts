/** The tables of wings in the packages' READMEs. The linter (plugin.ts) keeps imports to them; here they are complete, and lead one way. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { memberOf, objection, ROOT, wingsOf } from "./tables.ts";

const WITH_WINGS = ["packages/core", "packages/redis", "packages/gateway", "packages/sdk", "apps/cli"];

/** Sources of a package, without tests. */
function sourcesOf(directory: string): readonly string[] {
  return globSync("**/*.{ts,mjs}", { cwd: join(ROOT, directory), exclude: ["node_modules/**", "**/*.test.ts", "**/*.fixture.ts"] });
}

/** What a file imports of its own package, relative to the package. */
function importsOf(directory: string, file: string): readonly string[] {
  const source = readFileSync(join(ROOT, directory, file), "utf8");
  return [...source.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, to = ""]) => join(dirname(file), to));
}

describe.each(WITH_WINGS)("the wings of %s", (directory) => {
  const wings = wingsOf(directory) ?? [];
  const sources = sourcesOf(directory);
  const members = wings.flatMap((wing) => wing.members);

  test("are its folders, and files that exist", () => {
    const all = new Set(sources.map(memberOf));
    expect([...all].filter((member) => member.endsWith("/") && !members.includes(member))).toEqual([]);
    expect(members.filter((member) => !all.has(member))).toEqual([]);
    expect(new Set(members).size).toBe(members.length);
  });

  test("import only wings above them in the table", () => {
    const upwards = wings.flatMap((wing, row) => {
      const above = wings.slice(0, row).flatMap((each) => each.members);
      return wing.imports.filter((name) => !above.includes(name)).map((name) => `${wing.members.join(" ")} imports ${name}`);
    });
    expect(upwards).toEqual([]);
  });

  test("import what the table says, and all of it", () => {
    const links = sources.flatMap((file) => importsOf(directory, file).map((to) => ({ file, to })));
    expect(links.length).toBeGreaterThan(10);
    expect(links.map(({ file, to }) => objection(wings, file, to)).filter((each) => each !== undefined)).toEqual([]);
    const used = new Set(links.map(({ file, to }) => `${rowOf(file)} → ${rowOf(to)}`));
    const named = wings.flatMap(({ members: [first = ""], imports }) => imports.map((name) => `${rowOf(first)} → ${rowOf(name)}`));
    expect(named.filter((each) => !used.has(each))).toEqual([]);
  });

  /** The wing of a file or a member, by the first name of its row. */
  function rowOf(path: string): string {
    const member = path.endsWith("/") ? path : memberOf(path);
    return wings.find((wing) => wing.members.includes(member))?.members[0] ?? member;
  }
});

describe("the lint rule", () => {
  const wings = [
    { members: ["values/"], imports: [] },
    { members: ["task/", "task.ts"], imports: ["values/"] },
  ];

  test("allows what the table names, files of the same row, and anything to a file that no row names", () => {
    expect(objection(wings, "task/summary.ts", "values/cut.ts")).toBeUndefined();
    expect(objection(wings, "task/summary.ts", "task.ts")).toBeUndefined();
    expect(objection(wings, "index.ts", "task.ts")).toBeUndefined();
  });

  test("refuses every other import", () => {
    expect(objection(wings, "values/cut.ts", "task.ts")).toContain("values/ does not import task.ts");
    expect(objection(wings, "task/summary.ts", "index.ts")).toContain("index.ts puts the wings together");
  });
});

test("who reads the engine, import by import, meets no inbox, no shares and no API: of callers only who calls and how many must answer", () => {
  const met = new Set<string>();
  function read(file: string): void {
    if (met.has(file)) return;
    met.add(file);
    const source = readFileSync(join(ROOT, "packages/core", file), "utf8");
    // Types of others are read when they are needed.
    for (const [, to = ""] of source.matchAll(/^(?:import|export) (?!type )[^;]*?from "(\.[^"]+)"/gms)) read(join(dirname(file), to));
  }
  read("replay.ts");
  expect(met).toContain("replay/settling.ts");
  const beside = [...met].filter((file) => /^(use-cases|memory|callers)\//.test(file));
  expect(beside.toSorted()).toEqual(["callers/caller.ts", "callers/quorum.ts"]);
});
