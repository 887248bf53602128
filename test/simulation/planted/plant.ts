/** Plants each fault in a copy of the tree and runs the simulation there. A simulation that misses planted faults would miss real ones. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { copyTree } from "../../chaos/sabotage/copy-tree.ts";
import type { Rule } from "../rules.ts";
import { type Plant, PLANTS } from "./plants.ts";

export interface PlantOutcome {
  readonly plant: Plant;
  /** The case that found it, counted from 1; undefined if none did. */
  readonly foundAfter: number | undefined;
  readonly rules: readonly string[];
}

const CASES_MAX = 20_000;

export async function plantAll(progress: (line: string) => void): Promise<PlantOutcome[]> {
  const copy = await copyTree();
  try {
    // A finding without a planted fault would prove nothing.
    const rules = [...new Set(PLANTS.flatMap(({ breaks }) => breaks))];
    const sound = await simulateIn(copy, { rules, cases: 5_000 });
    progress(`nothing planted: ${sound.foundAfter === undefined ? "nothing found" : `${sound.rules.join(", ")} broken`}`);
    const outcomes: PlantOutcome[] = [];
    for (const plant of PLANTS) {
      const outcome = { plant, ...(await plantIn(copy, plant)) };
      const number = plant.finding === undefined ? "" : `finding ${plant.finding}, `;
      const how = outcome.foundAfter === undefined ? "missed" : `found after ${outcome.foundAfter} cases by ${outcome.rules.join(", ")}`;
      progress(`${number}${plant.name}: ${how}`);
      outcomes.push(outcome);
    }
    return outcomes;
  } finally {
    await rm(copy, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function plantIn(copy: string, { name, file, find, replace, breaks }: Plant): Promise<Omit<PlantOutcome, "plant">> {
  const path = join(copy, file);
  const source = await readFile(path, "utf8");
  if (source.split(find).length !== 2) throw new Error(`${name}: the code that it changes is not in ${file} exactly once`);
  try {
    // A function, because dollar signs in a string would be read as patterns.
    await writeFile(
      path,
      source.replace(find, () => replace),
    );
    return await simulateIn(copy, { rules: breaks, cases: CASES_MAX });
  } finally {
    await writeFile(path, source);
  }
}

/** Runs the copy's simulation up to the first failing case. */
async function simulateIn(
  copy: string,
  { rules, cases }: { readonly rules: readonly Rule[]; readonly cases: number },
): Promise<Omit<PlantOutcome, "plant">> {
  const report = join(copy, "report.json");
  const args = ["--cases", String(cases), "--seed", "1", "--stop", "--rules", rules.join(), "--report", report];
  const run = spawn(process.execPath, ["test/simulation/main.ts", ...args], { cwd: copy, stdio: ["ignore", "ignore", "inherit"] });
  const onExit = () => run.kill("SIGTERM");
  process.once("exit", onExit);
  await once(run, "exit");
  process.off("exit", onExit);
  const { found } = JSON.parse(await readFile(report, "utf8")) as { found: Record<string, { seeds: number[] }> };
  const seeds = Object.values(found).flatMap((each) => each.seeds);
  return { foundAfter: seeds.length === 0 ? undefined : Math.min(...seeds), rules: Object.keys(found) };
}
