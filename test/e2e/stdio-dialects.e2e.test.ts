/**
 * `parley stdio` in front of two front ends: every client that starts its own server, in every dialect that it speaks, leaves the same in
 * the store as over HTTP.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningStage, startDialects, startStage } from "../dialects/all.ts";
import { tasks2025, tasks2026 } from "../dialects/clients/ext-tasks.ts";
import { blocking } from "../dialects/clients/sdk-v1.ts";
import { inputRequired } from "../dialects/clients/sdk-v2.ts";
import { overPipe } from "../dialects/clients/transports.ts";
import { play } from "../dialects/play.ts";
import { type Scenario, type ScenarioName, SCENARIOS } from "../dialects/scenarios.ts";

const dialects = await startDialects();
let stage: RunningStage;

/** What a pipe could do wrong for any of them: questions both ways, several at once, and a connection that breaks while one is open. */
const BY_ALL: readonly ScenarioName[] = ["parallel questions", "gone and back"];
/** What the bridge knows one family by: refused answers, and cancellation. */
const BY_SOME: readonly ScenarioName[] = ["invalid, then valid", "call cancelled"];
const SOME = [tasks2026, inputRequired, blocking, tasks2025].map(({ name }) => name).concat("Python mcp, blocking");

beforeAll(async () => {
  stage = await startStage();
});

afterAll(async () => {
  await dialects.close();
  await stage?.close();
});

describe.each(dialects.all.map(overPipe))("$name", (dialect) => {
  const wanted = SOME.includes(dialect.name) ? [...BY_ALL, ...BY_SOME] : BY_ALL;
  const played = wanted.filter((name) => dialect.cannot[name] === undefined);
  test.concurrent.each(played)("%s", async (name) => {
    const scenario: Scenario = SCENARIOS[name];
    const { end, told } = await play(dialect, name, stage);
    expect(end, `the client was told ${JSON.stringify(told)}`).toEqual(scenario.end);
    if (scenario.end.outcome?.isError === false) expect(told).toEqual(scenario.end.outcome);
  });
});
