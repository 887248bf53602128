import { expect, test } from "vitest";
import { createPlaces } from "./places.ts";

function placesOf(concurrency: number, queues: number) {
  const told: number[] = [];
  const places = createPlaces({ concurrency, queues: () => queues, changed: () => told.push(places.perQueue()) });
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
