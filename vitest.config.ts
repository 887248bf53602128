/**
 * Three projects, told apart by what a test file needs: nothing (`*.test.ts`), a Redis (`*.redis.test.ts`), processes (`*.e2e.test.ts`).
 *
 * The Redis projects share one server, started by test/support/redis-setup.ts; each file keeps to a key prefix of its own.
 *
 * Files of the first two are not isolated from each other: modules are loaded once per worker, not once per file, which halves the time of the
 * whole. So a test puts back what it changes in a module or a global; for globals, test/support/globals-put-back.ts checks that.
 *
 * Node.js loads all modules itself, as it does in production. vite's loader would take a tenth more CPU time.
 */
import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";
import "./test/support/compile-cache.ts";

const everywhere = ["packages", "apps", "test", "bench"];
const files = (ending: string): string[] => everywhere.map((folder) => `${folder}/**/*${ending}`);

/** How long `expect.poll` waits for its condition, as `until` does. vitest's own limit, a second, fails tests on a busy machine. */
const patience = { poll: { timeout: 60_000 } };

const setupFiles = "test/support/globals-put-back.ts";

export const projects = [
  {
    test: {
      name: "unit",
      include: files(".test.ts"),
      exclude: ["**/node_modules/**", "**/*.redis.test.ts", "**/*.e2e.test.ts", "packages/create-parley/template/**"],
      // Most take milliseconds. A machine that is busy with something else must not fail them, and what waits for a condition says so itself.
      testTimeout: 90_000,
      expect: patience,
      isolate: false,
      setupFiles,
    },
  },
  {
    test: {
      name: "redis",
      include: files(".redis.test.ts"),
      globalSetup: "test/support/redis-setup.ts",
      testTimeout: 90_000,
      hookTimeout: 90_000,
      expect: patience,
      isolate: false,
      setupFiles,
    },
  },
  {
    test: {
      name: "e2e",
      include: files(".e2e.test.ts"),
      globalSetup: ["test/support/redis-setup.ts", "test/support/build-pages.ts"],
      // Each file runs its own deployment of five processes and waits for it most of the time: two at a time take the time of one.
      maxWorkers: 2,
      // After the others, where someone runs all the tests of a folder: vitest demands an order of projects with different numbers of workers.
      sequence: { groupOrder: 1 },
      testTimeout: 240_000,
      hookTimeout: 240_000,
      expect: patience,
    },
  },
];

/** Most files wait for timers and sockets, so that more workers than cores finish sooner: on two cores, five take a fifth less time than three. */
export const maxWorkers = Math.max(5, availableParallelism());
export const loadedByNode = { experimental: { viteModuleRunner: false, nodeLoader: false } };

export default defineConfig({ test: { maxWorkers, projects: projects.map(({ test }) => ({ test: { ...test, ...loadedByNode } })) } });
