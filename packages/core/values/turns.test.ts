import { expect, test } from "vitest";
import { turns } from "./turns.ts";

test("a bounded number runs at once, the others in order of arrival, and one that fails passes its turn on", async () => {
  const turn = turns(3);
  const began: number[] = [];
  const works = Array.from({ length: 8 }, () => Promise.withResolvers<number>());
  const done = works.map(({ promise }, index) =>
    turn(() => {
      began.push(index);
      return promise;
    }),
  );
  const settled = Promise.allSettled(done);
  const tick = () => new Promise((resolve) => setImmediate(resolve));

  await tick();
  expect(began).toEqual([0, 1, 2]);
  works[1]?.reject(new Error("failed"));
  await tick();
  expect(began).toEqual([0, 1, 2, 3]);
  const late = turn(async () => 8);
  works[0]?.resolve(0);
  works[2]?.resolve(2);
  await tick();
  expect(began).toEqual([0, 1, 2, 3, 4, 5]);

  works.forEach(({ resolve }, index) => resolve(index));
  expect(await late).toBe(8);
  expect((await settled).map((each) => (each.status === "fulfilled" ? each.value : "failed"))).toEqual([0, "failed", 2, 3, 4, 5, 6, 7]);
  const again = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
  for (const { promise } of again) void turn(() => (began.push(9), promise));
  await tick();
  expect(began.filter((index) => index === 9)).toHaveLength(3);
});
