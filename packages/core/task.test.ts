import { expect, test } from "vitest";
import { type Ask, callKey, eventKey, isInternalKey, type Open, openOf, split } from "./task.ts";

const open = (key: string, type: string, more: object = {}) => ({ key, request: { type }, ...more }) as unknown as Open;
const [size, paid, hotel] = [open("size", "form"), open("event:paid", "event"), open("call:hotel", "call")];

test("what is open is separated into questions, events and calls; kinds without any are left out", () => {
  expect(split([hotel, size, paid])).toStrictEqual({ asks: [size], events: [paid], calls: [hotel] });
  expect(split([size])).toStrictEqual({ asks: [size] });
  expect(split([paid])).toStrictEqual({ asks: [], events: [paid] });
  expect(split([hotel])).toStrictEqual({ asks: [], calls: [hotel] });
});

test("questions that a task shows for its children are not its own", () => {
  const shown = open("hotel:nights", "form", { route: { taskId: "0-child~", key: "nights" } }) as Ask;
  expect(openOf({ asks: [size as Ask, shown] })).toStrictEqual([size]);
  expect(openOf({ ...split([paid, hotel]), asks: [shown, size as Ask] })).toStrictEqual([size, paid, hotel]);
});

test("keys of events and calls are told apart from those of questions", () => {
  expect([eventKey("paid"), callKey("hotel")]).toStrictEqual(["event:paid", "call:hotel"]);
  expect(["event:paid", "call:hotel", "paid", "hotel:nights", "an-event:x"].map(isInternalKey)).toStrictEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});
