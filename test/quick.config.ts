/**
 * What `npm test` runs: the unit and Redis tests, without the few files that take half of their CPU time: matrices of doors and roles, contracts of
 * stores, bounds that are reached. Those take more than 2.5 s of CPU each (2026-11-30), or wait for more than 20 s. `npm run test:all` and CI run
 * everything.
 */
import { existsSync } from "node:fs";
import { configDefaults, defineConfig } from "vitest/config";
import { loadedByNode, maxWorkers, projects } from "../vitest.config.ts";

const LONG: readonly string[] = [
  "apps/cli/doctor/check-content-kms.redis.test.ts",
  "apps/gallery/crashes.test.ts",
  "apps/server/apps-rung.test.ts",
  "apps/server/assurance.test.ts",
  "apps/server/bounded-replies.test.ts",
  "apps/server/falls-to-text.test.ts",
  "apps/server/grants.test.ts",
  "apps/server/http.test.ts",
  "apps/server/identity.test.ts",
  "apps/server/inbox.test.ts",
  "apps/server/occurrences.redis.test.ts",
  "apps/server/policy.test.ts",
  "apps/server/round-the-gate.test.ts",
  "apps/server/routes/mcp/sessions/sessions.test.ts",
  "apps/server/routes/mcp/sessions/streams.test.ts",
  "apps/server/routes/mcp/sessions/withdrawn-asks.test.ts",
  "apps/server/session-limits.test.ts",
  "apps/server/session-record.redis.test.ts",
  "apps/server/subscriptions.redis.test.ts",
  "apps/server/text-rung.test.ts",
  "apps/server/uploads.test.ts",
  "apps/worker/post-in-thread.redis.test.ts",
  "packages/core/replay/line-bounds.test.ts",
  "packages/core/replay/line.test.ts",
  "packages/core/use-cases/run-task-questions.test.ts",
  "packages/gateway/connection/upstream-session.test.ts",
  "packages/gateway/lists/lister.test.ts",
  "packages/gateway/lists/reads.test.ts",
  "packages/redis/tasks/outbox.redis.test.ts",
  "packages/redis/tasks/store.redis.test.ts",
  "packages/webhooks/faults.redis.test.ts",
  "test/changes/changes.test.ts",
  "test/contract/families.contract.test.ts",
  "test/contract/first-call.contract.redis.test.ts",
  "test/contract/slots.contract.test.ts",
  "test/contract/store.contract.redis.test.ts",
  "test/contract/store.contract.test.ts",
  "test/e2e/tools/reads.test.ts",
  "test/forms/shapes/shapes.test.ts",
  "test/simulation/simulation.test.ts",
  "test/sizes-page.redis.test.ts",
];

const gone = LONG.filter((file) => !existsSync(file));
if (gone.length > 0) throw new Error(`test/quick.config.ts names files that are gone: ${gone.join(", ")}`);

export default defineConfig({
  test: {
    maxWorkers,
    projects: projects
      .filter(({ test }) => test.name !== "e2e")
      .map(({ test }) => ({ test: { ...test, ...loadedByNode, exclude: [...(test.exclude ?? configDefaults.exclude), ...LONG] } })),
  },
});
