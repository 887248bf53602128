/**
 * The equality oracle: a dialect is right if and only if what is stored at the end of a scenario is what every other dialect leaves there.
 * Real clients where there are any, over two front ends behind a proxy without affinity, two workers and one Redis.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { measuredOf } from "../../apps/cli/probe/report.ts";
import { type RunningStage, startDialects, startStage } from "./all.ts";
import { play, type Played } from "./play.ts";
import { documented, measurable, measure, versionOf } from "./rungs.ts";
import { type Scenario, SCENARIO_NAMES, SCENARIOS } from "./scenarios.ts";

const dialects = await startDialects();
let stage: RunningStage;

beforeAll(async () => {
  stage = await startStage();
});

afterAll(async () => {
  await dialects.close();
  await stage?.close();
});

describe.concurrent.each(dialects.all)("$name", (dialect) => {
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

/** Three tools, each called by every client: which rung of the ladder it takes, and what it really does. */
describe.concurrent("in the table of docs/clients.md", () => {
  test.each(measurable(dialects.all))("$name does what its row says", async (dialect) => {
    const measured = await measure(dialect, stage.deployment.url);
    expect(documented().get(dialect.name)).toEqual([versionOf(dialect.name), ...measuredOf(measured)]);
    // Each gets to the end: by its own door, or told in words. A client that shows forms and no pages is told of the page, and has to wait with the tool.
    const { probe_url: page, ...forms } = measured.tools;
    expect(Object.values(forms).every(({ ended }) => ended)).toBe(true);
    expect(page?.rung).not.toBe("none");
  });
});

test("no process had anything to complain about", () => {
  const INFO = 30;
  const { deployment } = stage;
  const complaints = [...deployment.frontEnds, ...deployment.workers].flatMap(({ logs }) =>
    logs.filter(({ level }) => typeof level !== "number" || level > INFO),
  );
  expect(complaints).toEqual([]);
});

test("Python clients were there, or it is said why not", () => {
  const { all, missing } = dialects;
  if (missing !== undefined) process.stderr.write(`skipped: ${missing}\n`);
  expect(all.length).toBe(missing === undefined ? 18 : 15);
});
