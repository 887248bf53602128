import type { Ask, Task, TaskChange, TaskStore, WakeUps } from "@parley/core";
import { expect, test } from "vitest";
import { withPageAddresses } from "./page-addresses.ts";

const anAsk = (key: string, page = true, more: Partial<Ask> = {}): Ask =>
  ({ key, request: { type: "url", message: "?", url: page ? "" : "https://bank.example", ...(page && { page: {} }) }, ...more }) as Ask;
const aTask = (revision: number, asks: readonly Ask[]): Task => ({ id: "0-1", revision, asks }) as unknown as Task;
const urlsOf = (task: Task | undefined) => task?.asks.map(({ request }) => request.type === "url" && request.url);

test("a task carries the addresses of its pages, whether it is read or known from a wake-up", async () => {
  const asks = [anAsk("mine"), anAsk("bank", false), anAsk("book:childs", true, { route: { taskId: "0-2~", key: "childs" } })];
  const heard: (TaskChange | undefined)[] = [];
  const changes: (TaskChange | undefined)[] = [
    { revision: 2, isEnd: false, apply: () => aTask(2, asks) },
    { revision: 3, isEnd: true },
    undefined,
  ];
  const store = { load: async () => aTask(1, asks) } as unknown as TaskStore;
  const wakeUps = {
    async watch(_taskId: string, onChange: (change?: TaskChange) => void) {
      for (const change of changes) onChange(change);
      return () => undefined;
    },
    isWatched: () => true,
  } as unknown as WakeUps;
  const services = withPageAddresses({ store, wakeUps }, { urlOf: (taskId, key) => `/asks/${taskId}/${key}` });

  const expected = ["/asks/0-1/mine", "https://bank.example", "/asks/0-2~/childs"];
  expect(urlsOf(await services.store.load("0-1"))).toEqual(expected);
  await services.wakeUps.watch("0-1", (change) => heard.push(change));
  expect(urlsOf(heard[0]?.apply?.(aTask(1, [])))).toEqual(expected);
  expect(heard.slice(1)).toEqual(changes.slice(1));
  expect(services.wakeUps.isWatched("0-1")).toBe(true);
});
