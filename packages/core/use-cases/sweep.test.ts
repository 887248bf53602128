import { expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../settings.ts";
import { HOUR, inMemory, NOW_MS } from "./in-memory.fixture.ts";
import { sweep } from "./sweep.ts";

test("a sweep adds the overdue runs of its partition, up to its limit, and returns how many", async () => {
  const { services, put, runs, logged, stand, requests } = inMemory({ settings: { ...DEFAULT_SETTINGS, sweepLimit: 2 } });
  const tasks = [await put([]), await put([]), await put([])];
  stand(HOUR - 1);
  expect(await sweep(services, { partition: 0 })).toBe(0);
  expect([runs, logged]).toStrictEqual([[], []]);
  stand(1);
  expect(await sweep(services, { partition: 1 })).toBe(0);
  expect(await sweep(services, { partition: 0 })).toBe(2);
  expect(requests.at(-1)).toStrictEqual(["overdue", { partition: 0, nowMs: NOW_MS + HOUR, limit: 2 }]);
  expect(runs).toStrictEqual([tasks[0], tasks[2]].map((taskId) => ({ taskId, run: 2, cause: "overdue" })));
  expect(logged).toStrictEqual([["info", "overdue runs added", { partition: 0, runs: 2 }]]);
});
