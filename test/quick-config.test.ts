/** CI runs all tests and not `npm test`, so that a name in its list that is wrong would be seen by the next newcomer. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import quick from "./quick.config.ts";

test("npm test runs the unit and Redis tests without the longest files, all of which CI runs", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly scripts: Readonly<Record<string, string>> };
  expect(scripts["test"]).toBe("vitest run --config test/quick.config.ts");
  expect(readFileSync(".ci/run", "utf8")).toMatch(/^step "test" .*npm run test:all /m);
  const projects = (quick.test?.projects ?? []) as readonly {
    readonly test: { readonly name: string; readonly exclude: readonly string[] };
  }[];
  expect(projects.map(({ test: { name } }) => name)).toEqual(["unit", "redis"]);
  for (const { test: project } of projects) {
    const left = project.exclude.filter((pattern) => !pattern.includes("*"));
    expect(left.length).toBeGreaterThan(0);
    expect(globSync(left)).toHaveLength(left.length);
  }
});
