import { expect, test } from "vitest";
import { callerNamed } from "./caller.fixture.ts";
import { type Counted, isCounted, quotaExceeded, type TaskQuota } from "./quotas.ts";

test("only callers that can be told apart are counted", () => {
  expect(isCounted(callerNamed("alice", { authenticatedBy: "oidc" }))).toBe(true);
  expect(isCounted(callerNamed("nobody", { authenticatedBy: "proxy" }))).toBe(true);
  expect(isCounted(callerNamed("anonymous", { authenticatedBy: "nobody" }))).toBe(false);
});

test.each<[Counted, keyof TaskQuota, string]>([
  ["principal", "tasks", "the caller has reached the maximum of 3 unfinished tasks (PARLEY_QUOTA_TASKS)"],
  ["principal", "bytes", "the caller has reached the maximum of 4000 bytes in unfinished tasks (PARLEY_QUOTA_BYTES)"],
  ["tenant", "tasks", "the caller's tenant has reached the maximum of 50 unfinished tasks (PARLEY_QUOTA_TASKS)"],
  ["tenant", "bytes", "the caller's tenant has reached the maximum of 60000 bytes in unfinished tasks (PARLEY_QUOTA_BYTES)"],
  ["principal", "stored", "the caller has reached the maximum of 5000 bytes in tasks, finished ones included (PARLEY_QUOTA_STORED)"],
  ["tenant", "stored", "the caller's tenant has reached the maximum of 70000 bytes in tasks, finished ones included (PARLEY_QUOTA_STORED)"],
])("a caller over the quota of a %s in %s learns this, the setting, and when to retry", (of, over, message) => {
  const error = quotaExceeded(
    { over, of },
    {
      principal: { tasks: 3, bytes: 4_000, stored: 5_000 },
      tenant: { tasks: 50, bytes: 60_000, stored: 70_000 },
    },
  );
  expect(error).toMatchObject({ name: "ParleyError", code: "QUOTA_EXCEEDED", message });
  expect(error.data).toStrictEqual({ retryAfterMs: 10_000 });
});
