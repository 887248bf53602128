import { describe, expect, test } from "vitest";
import { createPlaces, PLACES_PER_RESERVED } from "./run-places.ts";

function placesOf(concurrency: number, queues: number) {
  const told: number[] = [];
  const made = createPlaces({ concurrency, queues: () => queues, changed: () => told.push(made.perQueue()) });
  const taken: (() => void)[] = [];
  const places = {
    ...made,
    tryTake(share?: string): boolean {
      const giveBack = made.tryTake(share);
      if (giveBack) taken.push(giveBack);
      return giveBack !== undefined;
    },
    giveBack: () => taken.pop()?.(),
  };
  return { places, told };
}

test("lanes take what queues leave, at the limit and one beyond, and a queue keeps one place for itself", () => {
  const { places, told } = placesOf(3, 1);
  expect([places.tryTake(), places.tryTake(), places.tryTake()]).toEqual([true, true, false]);
  expect(told).toEqual([2, 1]);
  places.giveBack();
  expect([places.tryTake(), places.tryTake()]).toEqual([true, false]);
});

test("runs of queues and lanes together stay within the limit", () => {
  const { places } = placesOf(3, 1);
  places.entered();
  places.entered();
  expect([places.tryTake(), places.tryTake()]).toEqual([true, false]);
  places.left();
  expect([places.tryTake(), places.tryTake()]).toEqual([true, false]);
});

test("a worker with no more than one place per queue has none for lanes", () => {
  for (const [concurrency, queues] of [
    [1, 1],
    [4, 4],
    [4, 16],
  ] as const) {
    const { places } = placesOf(concurrency, queues);
    expect(places.tryTake()).toBe(false);
    expect(places.perQueue()).toBe(1);
  }
});

test("queues share evenly what is left, rounded up, as they share all of it", () => {
  const { places } = placesOf(50, 4);
  expect(places.perQueue()).toBe(13);
  for (let taken = 0; taken < 46; taken += 1) expect(places.tryTake()).toBe(true);
  expect(places.tryTake()).toBe(false);
  expect(places.perQueue()).toBe(1);
});

describe("places in reserve", () => {
  test("are for shares that have no run in this worker, one each, whether theirs came through a queue or a lane", () => {
    const { places } = placesOf(2 * PLACES_PER_RESERVED, 1);
    for (let run = 0; run < 2 * PLACES_PER_RESERVED - 1; run += 1) expect(places.tryTake("noisy")).toBe(true);
    places.entered("queued");
    expect([places.tryTake("noisy"), places.tryTake("queued"), places.tryTake()]).toEqual([false, false, false]);
    expect([places.tryTake("quiet"), places.tryTake("quiet")]).toEqual([true, false]);
    expect([places.tryTake("calm"), places.tryTake("late")]).toEqual([true, false]);
    places.giveBack();
    expect([places.tryTake("late"), places.tryTake("calm")]).toEqual([true, false]);
    places.left("queued");
    places.giveBack();
    expect([places.tryTake("queued"), places.perQueue()]).toEqual([true, 1]);
  });

  test("are not used while others are free, and come back", () => {
    const { places, told } = placesOf(2, 1);
    expect([places.tryTake("a"), places.tryTake("b"), places.tryTake("c")]).toEqual([true, true, false]);
    expect(told).toEqual([1]);
    places.giveBack();
    expect([places.tryTake("c"), places.tryTake("a")]).toEqual([true, false]);
  });

  test("with random runs of random shares: never more than there are, and a share without a run gets one while there is one", () => {
    let seed = 1;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let round = 0; round < 200; round += 1) {
      const concurrency = 1 + random(40);
      const reserve = Math.ceil(concurrency / PLACES_PER_RESERVED);
      const places = createPlaces({ concurrency, queues: () => 1, changed: () => undefined });
      const atWork: { share: string; giveBack: () => void }[] = [];
      for (let turn = 0; turn < 200; turn += 1) {
        const share = `share ${random(1 + random(12))}`;
        const hasNone = atWork.every((run) => run.share !== share);
        const giveBack = places.tryTake(share);
        if (giveBack) atWork.push({ share, giveBack });
        else expect(hasNone && atWork.length < concurrency - 1).toBe(false);
        expect(atWork.length).toBeLessThanOrEqual(concurrency + reserve);
        // Fewer shares than places in reserve: none of them ever waits.
        if (!giveBack && hasNone) expect(new Set(atWork.map((run) => run.share)).size).toBeGreaterThanOrEqual(reserve);
        if (random(3) > 0) atWork.splice(random(atWork.length || 1), 1)[0]?.giveBack();
      }
    }
  });
});
