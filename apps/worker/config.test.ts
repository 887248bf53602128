import { readEnvironment } from "@parley/node";
import { expect, test } from "vitest";
import { WORKER_SETTINGS, workerConfig } from "./config.ts";

const configured = (environment: NodeJS.ProcessEnv) =>
  workerConfig(readEnvironment(WORKER_SETTINGS, { REDIS_URL: "redis://localhost:6379", ...environment }));

test("a lease that would expire before it is renewed is refused", () => {
  expect(() => configured({ PARLEY_LEASE: "30ms" })).toThrow("PARLEY_LEASE: 30 ms is not longer than PARLEY_RENEW_EVERY, 2000 ms");
  expect(() => configured({ PARLEY_LEASE: "2s" })).toThrow("PARLEY_LEASE: 2000 ms is not longer");
  expect(configured({ PARLEY_LEASE: "2001ms" }).core).toMatchObject({ leaseMs: 2_001, renewEveryMs: 2_000 });
});

test.each(["PARLEY_RENEW_EVERY", "PARLEY_REDIS_TIMEOUT"])("%s has a shortest value, below which nothing would work", (name) => {
  expect(() => configured({ [name]: "0s" })).toThrow(`${name}: "0s" is too short: give at least 100ms`);
  expect(() => configured({ [name]: "100ms" })).not.toThrow();
});

test.each(["PARLEY_ELICITATION_TIMEOUT", "PARLEY_ELICITATION_BLOCKING_TIMEOUT"])(
  "%s cannot be longer than any question may wait, because each question would then be refused",
  (name) => {
    expect(() => configured({ [name]: "60d" })).toThrow(`${name} must not be longer than PARLEY_ASK_TIMEOUT_MAX`);
    expect(() => configured({ [name]: "60d", PARLEY_ASK_TIMEOUT_MAX: "60d" })).not.toThrow();
  },
);
