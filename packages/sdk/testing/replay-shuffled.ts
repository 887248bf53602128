/** Replays a recorded task while what its handler awaits outside `ctx` takes longer or shorter. */
import type { Prompt, Tool } from "@parley/core";
import { type Replayed, replayRecorded, type ReplayOptions } from "../replay/replay-recorded.ts";
import type { RecordedTask } from "../replay/recorded-task.ts";
import { createLatency } from "./latency.ts";
import { createWatch } from "./purity.ts";
import { onStage } from "./stage.ts";

/** Options of `replayShuffled`. */
export interface ShuffleOptions extends ReplayOptions {
  /** Whole numbers. Each is one more replay with other latencies. */
  readonly seeds: readonly number[];
}

/** The first verdict other than `continues`: of a replay as it is, then of one for each seed, whose reason says so. */
export async function replayShuffled(
  tool: Tool | Prompt,
  recorded: RecordedTask,
  { seeds, ...options }: ShuffleOptions,
): Promise<Replayed> {
  const plain = await replayRecorded(tool, recorded, options);
  if (plain.verdict !== "continues") return plain;
  for (const seed of seeds) {
    const watch = createWatch(createLatency(seed));
    const shuffled = await watch.during(() => replayRecorded(onStage(tool, watch), recorded, options));
    if (shuffled.verdict === "diverges" || shuffled.verdict === "fails") {
      const reason = `only when what it awaits outside ctx takes longer or shorter (seed ${seed}): ${shuffled.reason ?? ""}`;
      return { ...shuffled, reason };
    }
  }
  return plain;
}
