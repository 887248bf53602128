import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createReplies, type Replies } from "./process-replies.ts";

interface Reply {
  readonly id: string;
  readonly text: string;
}

let arrive: (reply: Reply) => void;
let isClosed: boolean;
let replies: Replies<Reply>;

beforeEach(async () => {
  vi.useFakeTimers();
  isClosed = false;
  replies = await createReplies<Reply>(async (listener) => {
    arrive = (reply) => listener(JSON.stringify(reply));
    return () => void (isClosed = true);
  });
});
afterEach(() => void vi.useRealTimers());

describe("a reply of another process", () => {
  test("reaches the request that it names, and leaves the others waiting", async () => {
    const [one, other] = [replies.expect("one", 1_000), replies.expect("other", 2_000)];
    arrive({ id: "nobody's", text: "for none of them" });
    arrive({ id: "other", text: "for the other" });
    expect(await other.reply).toEqual({ id: "other", text: "for the other" });
    await vi.advanceTimersByTimeAsync(999);
    arrive({ id: "one", text: "for the one" });
    expect(await one.reply).toEqual({ id: "one", text: "for the one" });
  });

  test("counts once: what comes after it, after its time, or after the wait was given up changes nothing", async () => {
    const [replied, late, left] = [replies.expect("replied", 100), replies.expect("late", 100), replies.expect("left", 100)];
    arrive({ id: "replied", text: "first" });
    arrive({ id: "replied", text: "second" });
    left.giveUp();
    await vi.advanceTimersByTimeAsync(100);
    for (const id of ["late", "left"]) arrive({ id, text: "too late" });
    replied.giveUp();
    expect([(await replied.reply)?.text, await late.reply, await left.reply]).toEqual(["first", undefined, undefined]);
  });

  test("to a name that is used again reaches the newer request, whose time is its own", async () => {
    for (let use = 0; use < 3; use += 1) {
      const request = replies.expect("again", 100);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await vi.advanceTimersByTimeAsync(60);
      arrive({ id: "again", text: String(use) });
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await request.reply)?.text).toBe(String(use));
    }
  });

  test("leaves no timer, whichever way the wait ended", async () => {
    const [one, other] = [replies.expect("one", 1_000), replies.expect("other", 1_000)];
    arrive({ id: "one", text: "" });
    other.giveUp();
    await Promise.all([one.reply, other.reply]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("nothing is listened to once it is closed", () => {
  expect(isClosed).toBe(false);
  replies.close();
  expect(isClosed).toBe(true);
});
