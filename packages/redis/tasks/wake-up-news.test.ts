/** What wake-ups say. That applying it gives what is read is shown for every change by test/contract/checked-news.ts. */
import type { Ask, Task } from "@parley/core";
import { describe, expect, test } from "vitest";
import { changeOf, newsMessage } from "./wake-up-news.ts";

const TASK = { id: "0-1", revision: 3, run: 1, status: "working", updatedAtMs: 5, asks: [], takeovers: 2 } as unknown as Task;
const ended = (words = "4 completed", fields: readonly string[] = ["outcome", '{"type":"result","result":{}}']) =>
  changeOf(`${words} \n2 10 20 0\n${JSON.stringify(fields)}`);

describe("a wake-up", () => {
  test("of words alone says at which revision the task is, and whether it has ended", () => {
    expect(changeOf("7 reported")).toStrictEqual({ revision: 7, isEnd: false });
    expect(changeOf("9 answered:cancelled cancelled")).toStrictEqual({ revision: 9, isEnd: true });
    expect(changeOf("10 asked:completed withdrawn:failed")).toStrictEqual({ revision: 10, isEnd: false });
  });

  test("about a reply of a client names its request, whatever is in it, and is no change", () => {
    const requestId = "0-a:pay for #2 \n 3 completed:0:sig";
    const news = { type: "replied", requestId } as const;
    expect(changeOf(newsMessage(news))).toEqual({ revision: 0, isEnd: false, news });
  });

  test.each([{ type: "resumed", connection: "5f0c" }, { type: "cancelled" }] as const)(
    "about a stream is no change, also for processes that do not know it: %o",
    (news) => {
      expect(changeOf(newsMessage(news))).toEqual({ revision: 0, isEnd: false, news });
      expect(changeOf(newsMessage(news).replace(/resumed|cancelled/, "later"))).toEqual({ revision: 0, isEnd: false });
    },
  );

  test("with fields gives the task after the change", () => {
    expect(ended()).toMatchObject({ revision: 4, isEnd: true });
    const { takeovers: _, ...rest } = TASK;
    const after = { ...rest, status: "completed", revision: 4, run: 2, updatedAtMs: 10, expiresAtMs: 20 };
    expect(ended().apply?.(TASK)).toStrictEqual({ ...after, outcome: { type: "result", result: {} } });
  });

  test("gives nothing for a task that is not the one before the change, that cannot be read, or that shows what a child asks", () => {
    const asked = { key: "book:size", route: { taskId: "0-2~", key: "size" } } as unknown as Ask;
    for (const before of [{ revision: 2 }, { revision: 4 }, { unreadable: "erased" as const }, { asks: [asked] }])
      expect(ended().apply?.({ ...TASK, ...before })).toBeUndefined();
  });

  test("gives nothing for a change of an event, of a call or of a child, or for a field that it does not know", () => {
    for (const words of ["4 asked:event:paid", "4 answered:call:book", "4 closed:book:size completed"])
      expect(ended(words).apply?.(TASK)).toBeUndefined();
    expect(ended("4 completed", ["version", "2"]).apply?.(TASK)).toBeUndefined();
  });
});
