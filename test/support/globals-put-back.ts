/**
 * A test file that leaves a global changed fails, because the files of a worker share their globals: without this, it would be a later file that fails,
 * and another one each time.
 */
import { afterAll, expect } from "vitest";

const now = () => ({
  Date,
  "Date.now": Date.now,
  "performance.now": performance.now,
  "own performance.now": Object.hasOwn(performance, "now"),
  "Math.random": Math.random,
  "crypto.randomUUID": crypto.randomUUID,
  "own crypto.randomUUID": Object.hasOwn(crypto, "randomUUID"),
  fetch,
  setTimeout,
  setInterval,
  setImmediate,
  queueMicrotask,
  "process.nextTick": process.nextTick,
  "process.exit": process.exit,
  "process.kill": process.kill,
  "process.hrtime": process.hrtime,
  "process.stdout.write": process.stdout.write,
  "process.stderr.write": process.stderr.write,
  "process.exitCode": process.exitCode,
  "working directory": process.cwd(),
  stackTraceLimit: Error.stackTraceLimit,
  variables: Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("PARLEY_"))),
});

const before = now();
afterAll(() => expect(now(), "a test left a global changed").toStrictEqual(before));
