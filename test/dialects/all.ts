/** Every dialect that a real client speaks, and the deployment in which all of them play the scenarios. */
import { join } from "node:path";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { tasks2025, tasks2026 } from "./clients/ext-tasks.ts";
import { startPython } from "./clients/python.ts";
import { proposal1869, sendInput } from "./clients/raw.ts";
import { pagesOnly } from "./clients/pages-only.ts";
import { blocking, experimentalTasks } from "./clients/sdk-v1.ts";
import { blockingV2, inputRequired } from "./clients/sdk-v2.ts";
import { toolsOnly } from "./clients/tools-only.ts";
import type { Dialect } from "./dialect.ts";
import { openStored } from "./end-state.ts";
import type { Stage } from "./play.ts";

/** What `parley doctor --client` tries clients with. */
const PROBE_TOOLS = join(import.meta.dirname, "../../apps/cli/probe/tools.ts");

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
  ...toolsOnly,
  ...pagesOnly,
];

export interface Dialects {
  readonly all: readonly Dialect[];
  /** Why Python's clients are not among them. */
  readonly missing?: string;
  close(): Promise<void>;
}

export async function startDialects(): Promise<Dialects> {
  const python = await startPython();
  if ("missing" in python) return { all: TYPESCRIPT, missing: python.missing, close: async () => undefined };
  return { all: [...TYPESCRIPT, ...python.dialects], close: () => python.close() };
}

export interface RunningStage extends Stage {
  readonly deployment: Deployment;
  close(): Promise<void>;
}

export async function startStage(): Promise<RunningStage> {
  const deployment = await startDeployment({
    tools: [join(import.meta.dirname, "tools.ts"), PROBE_TOOLS],
    // Clients poll and reconnect as often as they are told to: often, so that the run is quick.
    env: { PARLEY_POLL_INTERVAL: "50ms", PARLEY_RETRY: "50ms", PARLEY_RESUMABLE_AFTER: "0ms" },
  });
  const stored = await openStored(deployment.redis);
  return {
    deployment,
    frontEnds: deployment.frontEnds.map(({ url }) => url),
    stored,
    patienceMs: 20_000,
    async close() {
      await stored.close();
      await deployment.close();
    },
  };
}
