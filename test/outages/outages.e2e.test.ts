/** Of the clients in docs/clients.md, those that recover in different ways; main.ts plays all of them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tasks2025, tasks2026 } from "../dialects/clients/ext-tasks.ts";
import { blocking } from "../dialects/clients/sdk-v1.ts";
import { inputRequired } from "../dialects/clients/sdk-v2.ts";
import { clientOf, type Outages, startOutages } from "./outages.ts";

let outages: Outages;

beforeAll(async () => {
  outages = await startOutages();
});
afterAll(() => outages?.close());

const whole = { told: { text: "Hello, Ann!", isError: false }, asked: 1, calls: 1, status: "completed" };

describe("a client whose question was put by a front end that is killed", () => {
  test.each([blocking, inputRequired, tasks2026, tasks2025])("ends with the result of its one call: $name", async (dialect) => {
    expect(await outages.play("other", clientOf(dialect))).toMatchObject(whole);
  });

  test("that is answered elsewhere meanwhile hears the result at once where it resumes, while its own person is still asked", async () => {
    const { afterMs, ...seen } = await outages.play("elsewhere", clientOf(blocking));
    expect(seen).toMatchObject(whole);
    expect(afterMs).toBeLessThan(15_000);
  });

  test("and whose answer no front end takes: the question stays open, for others and for a page", async () => {
    expect(await outages.play("both", clientOf(inputRequired))).toMatchObject({ asked: 1, calls: 1, status: "input_required" });
  });
});
