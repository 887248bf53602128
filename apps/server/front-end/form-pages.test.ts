/** What a client hears that agrees to visit the page of a form after its question is over. */
import { createMemoryStore, createMemoryWakeUps } from "@parley/core/memory";
import { systemClock } from "@parley/node";
import { expect, test } from "vitest";
import { accept, aLife, anAsk, aWithdrawal, HOUR_MS } from "../../../test/contract/builders.ts";
import { withFormPages } from "./form-pages.ts";

const NOW_MS = Date.now();

async function parked() {
  const wakeUps = createMemoryWakeUps();
  const store = createMemoryStore({ clock: systemClock, wakeUps });
  const life = aLife(store);
  const taskId = await life.parked([anAsk("size"), anAsk("other")]);
  const { store: paged } = withFormPages({ store, wakeUps }, { pageOf: (task, key) => `https://x.example/asks/${task}/${key}` });
  const answer = (given: object) =>
    store.answer({ taskId, key: "size", digest: "digest-of-size", nowMs: NOW_MS, graceMs: 0, answer: accept("4"), ...given });
  const agree = (given: object = {}) =>
    paged.answer({ taskId, key: "size", nowMs: NOW_MS, graceMs: 0, answer: { action: "accept" }, ...given } as never);
  return { store, life, taskId, answer, agree };
}
type Parked = Awaited<ReturnType<typeof parked>>;

test.each<[what: string, receipt: string, end: (given: Parked) => Promise<unknown>]>([
  ["was answered on its page", "duplicate", ({ answer }) => answer({})],
  ["was declined on its page", "late", ({ answer }) => answer({ answer: { action: "decline" } })],
  ["was closed with its task", "late", ({ life, taskId }) => life.cancel(taskId)],
  [
    "was withdrawn by its tool",
    "late",
    async ({ store, life, taskId }) => {
      await life.answer(taskId, "other", "4");
      const token = await life.begin({ taskId, run: 2 });
      const entries = [aWithdrawal("size", 2)];
      await store.park({ taskId, token, nowMs: NOW_MS, entries, asks: [], dueAtMs: NOW_MS + HOUR_MS, attempt: 0, graceMs: 0 });
    },
  ],
])("the agreement to visit a page whose question %s is %s", async (_what, receipt, end) => {
  const given = await parked();
  await end(given);
  expect(await given.agree()).toMatchObject({ receipt });
});

test("an answer with content, of a client that was shown a form, is late as ever", async () => {
  const { answer, agree } = await parked();
  await answer({});
  expect(await agree({ answer: accept("5") })).toMatchObject({ receipt: "late" });
  expect(await agree({ digest: "digest-of-another" })).toMatchObject({ receipt: "late" });
});
