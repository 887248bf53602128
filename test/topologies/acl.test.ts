import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { RIGHTS } from "@parley/redis";

const SOURCES = "packages/redis/**/*.{ts,lua}";
/** Methods of the client that send no command of that name. */
const OF_THE_CLIENT = ["on", "once", "off", "connect", "disconnect", "call", "pipeline", "nodes"];
/** Of the embedded server, whose user may do everything. */
const OF_THE_OWNER = ["shutdown"];
/** In a Cluster of Redis 7 or newer alone, what `parley doctor` does without, and what only `parley purge` needs: docs/redis.md says all three. */
const OPTIONAL = ["spublish", "ssubscribe", "sunsubscribe", "config", "scan"];
const NOT_NEEDED = [...OF_THE_CLIENT, ...OF_THE_OWNER, ...OPTIONAL];

function commandsIn(text: string): string[] {
  const called = [...text.matchAll(/redis\.p?call\(\s*["']([A-Z]+)["']/g)].map(([, name = ""]) => name.toLowerCase());
  const sent = [...text.matchAll(/\b(?:redis|connection|owner)\??\s*\.\s*([a-z]+)\(/g)].map(([, name = ""]) => name);
  const transactions = [...text.matchAll(/\.multi\(\)([\s\S]*?)\.exec\(\)/g)].flatMap(([, inside = ""]) => [
    "exec",
    ...[...inside.matchAll(/\.([a-z]+)\(/g)].map(([, name = ""]) => name),
  ]);
  return [...called, ...sent, ...transactions].filter((name) => !NOT_NEEDED.includes(name));
}

const files = globSync(SOURCES).filter((file) => !/node_modules|\.test\.ts$|\.fixture\.ts$/.test(file));
const permitted = new Set(RIGHTS.map((right) => right.slice(1).split("|")[0]));

describe("a user with the rights that docs/redis.md lists", () => {
  test("may send every command that the code and the scripts of packages/redis name", () => {
    const refused = files.flatMap((file) => {
      const missing = commandsIn(readFileSync(file, "utf8")).filter((name) => !permitted.has(name));
      return missing.map((name) => `${file}: ${name}`);
    });
    expect(refused).toEqual([]);
    expect(files.length).toBeGreaterThan(50);
  });

  test("has the rights that the page shows, and no other", () => {
    const page = readFileSync("docs/redis.md", "utf8");
    const [, shown = ""] = /ACL SETUSER parley on >password ~parley:\* &parley:\*\n([^`]+)```/.exec(page) ?? [];
    expect(shown.trim().split(/\s+/).toSorted()).toEqual(RIGHTS.toSorted());
  });
});
