/**
 * The equality oracle: a dialect is right if and only if what is stored at the end of a scenario is what every other dialect leaves there.
 * Real clients where there are any, over two front ends behind a proxy without affinity, two workers and one Redis.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { tasks2025, tasks2026 } from "./clients/ext-tasks.ts";
import { startPython } from "./clients/python.ts";
import { proposal1869, sendInput } from "./clients/raw.ts";
import { blocking, experimentalTasks } from "./clients/sdk-v1.ts";
import { blockingV2, inputRequired } from "./clients/sdk-v2.ts";
import type { Dialect } from "./dialect.ts";
import { openStored, type Stored } from "./end-state.ts";
import { play, type Played, type Stage } from "./play.ts";
import { type Scenario, SCENARIO_NAMES, SCENARIOS } from "./scenarios.ts";

const TYPESCRIPT: readonly Dialect[] = [
  tasks2026,
  inputRequired,
  blocking,
  experimentalTasks,
  blockingV2("2025-11-25"),
  blockingV2("2025-06-18"),
  blockingV2("2025-03-26"),
  tasks2025,
  proposal1869,
  sendInput,
];

const python = await startPython();
const dialects: readonly Dialect[] = "missing" in python ? TYPESCRIPT : [...TYPESCRIPT, ...python.dialects];

let deployment: Deployment;
let stored: Stored;
let stage: Stage;

beforeAll(async () => {
  deployment = await startDeployment({
    tools: [join(import.meta.dirname, "tools.ts")],
    // Clients look and come back as often as they are told to: often, so that the run is quick.
    env: { PARLEY_POLL_INTERVAL: "50ms", PARLEY_RETRY: "50ms", PARLEY_RESUMABLE_AFTER: "0ms" },
  });
  stored = await openStored(deployment.redis);
  stage = { frontEnds: deployment.frontEnds.map(({ url }) => url), stored, patienceMs: 20_000 };
}, 60_000);

afterAll(async () => {
  if (!("missing" in python)) await python.close();
  await stored?.close();
  await deployment?.close();
});

describe.concurrent.each(dialects)("$name", (dialect) => {
  test.each(SCENARIO_NAMES)("%s", async (name) => {
    const scenario: Scenario = SCENARIOS[name];
    const cannot = dialect.cannot[name];
    const played = await play(dialect, name, cannot === undefined ? stage : { ...stage, patienceMs: 3_000 });
    if (cannot !== undefined) {
      expect(played.end, `${dialect.name} turns out to have means for "${name}": take it off the list`).not.toEqual(scenario.end);
      return;
    }
    expect(played.end, `the client was told ${JSON.stringify(played.told)}`).toEqual(scenario.end);
    expectTold(played, scenario);
  });
});

/** Clients may put the end in words of their own when it is no success. */
function expectTold({ told, asked }: Played, { end, replies }: Scenario): void {
  if (end.outcome?.isError === false) expect(told).toEqual(end.outcome);
  else if (!("failed" in told)) expect(told).toMatchObject({ isError: true, ...end.outcome });
  // A question that was answered well is not put again.
  const wanted = Object.keys(replies).flatMap((question) => Array.from({ length: replies[question]?.length ?? 0 }, () => question));
  expect(asked.map((message) => wanted.find((question) => message.startsWith(question)))).toEqual(
    expect.arrayContaining([...new Set(wanted)]),
  );
}

test("no process had anything to complain about", () => {
  const INFO = 30;
  const complaints = [...deployment.frontEnds, ...deployment.workers].flatMap(({ logs }) =>
    logs.filter(({ level }) => typeof level !== "number" || level > INFO),
  );
  expect(complaints).toEqual([]);
});

test("Python clients were there, or it is said why not", () => {
  if ("missing" in python) process.stderr.write(`skipped: ${python.missing}\n`);
  expect(dialects.length).toBe("missing" in python ? 10 : 13);
});
