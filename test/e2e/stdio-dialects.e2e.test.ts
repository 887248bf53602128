/**
 * `parley stdio` in front of two front ends: every client that can start a server of its own, in every dialect that it speaks, leaves in the store
 * what it leaves there over HTTP.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tasks2025, tasks2026 } from "../dialects/clients/ext-tasks.ts";
import { startPython } from "../dialects/clients/python.ts";
import { proposal1869, sendInput } from "../dialects/clients/raw.ts";
import { blocking, experimentalTasks } from "../dialects/clients/sdk-v1.ts";
import { blockingV2, inputRequired } from "../dialects/clients/sdk-v2.ts";
import { overPipe } from "../dialects/clients/transports.ts";
import type { Dialect } from "../dialects/dialect.ts";
import { openStored, type Stored } from "../dialects/end-state.ts";
import { play, type Stage } from "../dialects/play.ts";
import { type Scenario, type ScenarioName, SCENARIOS } from "../dialects/scenarios.ts";
import { type Deployment, startDeployment } from "../support/deployment.ts";

const python = await startPython();
const dialects: readonly Dialect[] = [
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
  ...("missing" in python ? [] : python.dialects),
].map(overPipe);

/** What a pipe could do wrong for any of them: questions both ways, several at once, and a connection that breaks while one is open. */
const BY_ALL: readonly ScenarioName[] = ["parallel questions", "gone and back"];
/** What the bridge knows one family by: refused answers, and cancellation. */
const BY_SOME: readonly ScenarioName[] = ["invalid, then valid", "call cancelled"];
const SOME = [tasks2026, inputRequired, blocking, tasks2025].map(({ name }) => name).concat("Python mcp, blocking");

let deployment: Deployment;
let stored: Stored;
let stage: Stage;

beforeAll(async () => {
  deployment = await startDeployment({
    tools: [join(import.meta.dirname, "../dialects/tools.ts")],
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

describe.each(dialects)("$name", (dialect) => {
  const wanted = SOME.includes(dialect.name) ? [...BY_ALL, ...BY_SOME] : BY_ALL;
  const played = wanted.filter((name) => dialect.cannot[name] === undefined);
  test.concurrent.each(played)("%s", async (name) => {
    const scenario: Scenario = SCENARIOS[name];
    const { end, told } = await play(dialect, name, stage);
    expect(end, `the client was told ${JSON.stringify(told)}`).toEqual(scenario.end);
    if (scenario.end.outcome?.isError === false) expect(told).toEqual(scenario.end.outcome);
  });
});
