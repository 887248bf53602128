/**
 * What every task store promises: each method, and each race that it settles. Run against memory and against Redis.
 *
 * Invariants are named as in docs/architecture.md.
 */
import { afterAll, beforeAll, describe } from "vitest";
import { asked } from "./store/asked-contract.ts";
import { answers } from "./store/answers-contract.ts";
import { calls } from "./store/calls-contract.ts";
import { compensation } from "./store/compensation-contract.ts";
import { createAndEnd } from "./store/create-and-end-contract.ts";
import { events } from "./store/events-contract.ts";
import { listsAndQuotas } from "./store/lists-and-quotas-contract.ts";
import { questions } from "./store/questions-contract.ts";
import { records } from "./store/records-contract.ts";
import { runs } from "./store/runs-contract.ts";
import { type StoreUnderTest, underTest } from "./store/under-test.ts";
import { threads } from "./store/threads-contract.ts";
import { wakeUps } from "./store/wake-ups-contract.ts";

const PARTS = [createAndEnd, runs, questions, answers, events, calls, compensation, records, listsAndQuotas, asked, threads, wakeUps];

/** `partitions`: several count separately, and each admits a little more than its part of a quota. */
export function describeStore(name: string, open: () => Promise<StoreUnderTest>, { partitions = 1 } = {}): void {
  describe(`the task store ${name}`, () => {
    let opened: StoreUnderTest;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened.close());

    const under = underTest(() => opened, partitions);
    for (const part of PARTS) part(under);
  });
}
