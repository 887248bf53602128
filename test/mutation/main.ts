/**
 * `npm run test:mutation -- <package> [file…]`: StrykerJS changes one expression of a package at a time and sees whether a test notices.
 *
 *   npm run test:mutation -- protocol                                   the whole package; only what changed since its last run is run again
 *   npm run test:mutation -- protocol packages/protocol/params.ts       these files of it
 *   npm run test:mutation -- protocol packages/protocol/params.ts:10-20 these lines
 *   --force         runs again what the last run has settled
 *   --concurrency   mutants at a time, 1 unless told: each has a worker of its own
 *   --own           only the package's own tests and the contracts of stores, sessions and slots may notice: quicker, and stricter
 *   --dry-run       only the tests without any mutant, in the sandbox
 *
 * The reports are out/mutation/<package>.html and .json. Fails below a score of 90. README.md beside this file has the scores and the
 * surviving mutants that are equivalent.
 *
 * Mutants live in a copy of the tree (out/mutation/sandbox-…). It finds its dependencies in the node_modules above it, but has a
 * node_modules/@parley of its own: those links are relative, so that `@parley/core` is the copy's, mutants and all.
 */
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { isMutated, MUTATED } from "./mutated.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    force: { type: "boolean", default: false },
    own: { type: "boolean", default: false },
    "dry-run": { type: "boolean", default: false },
    concurrency: { type: "string", default: "1" },
  },
});
const [name = "", ...files] = positionals;
if (!isMutated(name)) {
  console.error(
    `usage: npm run test:mutation -- ${Object.keys(MUTATED).join("|")} [file…] [--own] [--force] [--concurrency n] [--dry-run]`,
  );
  process.exit(1);
}

const folder = "out/mutation";
// For vitest.config.ts, which the workers of Stryker read.
process.env["MUTATED_PACKAGE"] = name;
if (values.own) process.env["OWN_TESTS"] = "yes";

await new Stryker({
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/mutation/vitest.config.ts" },
  mutate: files.length > 0 ? files : [`packages/${name}/**/*.ts`, `!packages/${name}/**/*.test.ts`, `!packages/${name}/**/*.fixture.ts`],
  ignorePatterns: ["out", "coverage", ".parley"],
  tempDirName: folder,
  cleanTempDir: "always",
  // Stryker would rewrite tsconfig.json by an API that TypeScript 7 does not have. Nothing in the copy needs that: no such file.
  tsconfigFile: "none",
  symlinkNodeModules: false,
  buildCommand: "node test/mutation/own-packages.ts",
  incremental: files.length === 0 && !values.own,
  incrementalFile: `${folder}/${name}.incremental.json`,
  force: values.force,
  dryRunOnly: values["dry-run"],
  concurrency: Number(values.concurrency),
  // A mutant that runs out of time counts as noticed: on a busy machine let only an endless loop do that.
  timeoutMS: 30_000,
  timeoutFactor: 2,
  reporters: ["progress-append-only", "clear-text", "html", "json"],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  htmlReporter: { fileName: `${folder}/${name}.html` },
  jsonReporter: { fileName: `${folder}/${name}.json` },
  thresholds: { high: 95, low: 90, break: files.length === 0 ? 90 : null },
}).runMutationTest();
