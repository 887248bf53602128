/**
 * Callers choose the texts that a front end's patterns are matched against. A pattern that takes quadratic time lets a header of 14 kB
 * block everyone for a second. So each pattern in the code of front ends is linear, or is listed here with what bounds its text.
 */
import { globSync, readFileSync } from "node:fs";
import { parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import { patternCost, WAYS_FEW } from "../packages/sdk/schemas/pattern-cost.ts";

const ROOT = new URL("../", import.meta.url).pathname;
const SOURCES = [
  "apps/server/**/*.ts",
  "apps/web/{form,texts}/**/*.ts",
  "packages/{core,files,gateway,identity,node,protocol,redis,telemetry}/**/*.ts",
];

/** Why each of the others is no danger. */
const BOUNDED: Readonly<Record<string, string>> = {
  "packages/core/values/public-url.ts /\\/+$/": "an operator's setting",
  "packages/redis/connection/address.ts /^([^:]+:\\/\\/)(?:[^/?]*@)?([^?]*).*$/": "an operator's setting",
  "packages/redis/embedded/embedded-sources.ts /\\bv=(\\d+\\.\\d+[\\d.]*)/": "what a program on this machine prints",
  "packages/redis/wake-ups/sharded-subscriber.ts /\\{([^}]+)\\}/": "keys of Parley's own",
  "packages/gateway/config/values.ts /\\$\\{([^}]*)\\}/g": "an operator's file",
  "packages/gateway/config/upstreams.ts /^\\S*\\$\\{\\w+\\}\\S*$/": "an operator's file",
  "packages/telemetry/operator-port.ts /\\?.*$/": "an address without line ends: the first question mark takes all of it",
  "packages/files/name.ts /^[.\\s]+|[.\\s]+$/g": "a name that was cut to a thousand characters",
  "apps/server/routes/mcp/route.ts /(?:^|,)\\s*(?:\\*\\/\\*|application\\/(?:\\*|json)|text\\/(?:\\*|event-stream))\\s*(?:[;,]|$)/i":
    "begins at the start or at a comma, and blanks have no commas",
  "apps/server/routes/home/route.ts /(?:^|,)\\s*(?:text\\/html|application\\/xhtml\\+xml)\\s*(?:[;,]|$)/i":
    "begins at the start or at a comma, and blanks have no commas",
};

function patternsIn(file: string): readonly string[] {
  const found: string[] = [];
  const { program } = parseSync(file, readFileSync(`${ROOT}${file}`, "utf8"));
  new Visitor({
    Literal(node) {
      if (!("regex" in node)) return;
      const { pattern, flags } = node.regex;
      const cost = patternCost(pattern, flags);
      if (cost.type !== "polynomial" || cost.degree > 1 || cost.ways > WAYS_FEW) found.push(`${file} /${pattern}/${flags}`);
    },
  }).visit(program);
  return found;
}

test("each pattern in what front ends run takes time by the length of its text, or is tried with what is short", () => {
  const files = globSync(SOURCES, { cwd: ROOT }).filter((file) => !/node_modules|\.(?:test|fixture|d)\.ts$/.test(file));
  expect(files.length).toBeGreaterThan(200);
  expect([...new Set(files.flatMap(patternsIn))].toSorted()).toEqual(Object.keys(BOUNDED).toSorted());
});
