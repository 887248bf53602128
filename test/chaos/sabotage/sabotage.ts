/**
 * Breaks a copy of the code in each of the listed ways and runs the suite on it. A suite that does not notice these would not notice real
 * defects.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Rule } from "../story.ts";
import { copyTree } from "./copy-tree.ts";
import { type Sabotage, SABOTAGES } from "./sabotages.ts";

export interface SabotageOutcome {
  readonly sabotage: Sabotage;
  /** Rules that were found broken, and how often. */
  readonly found: Readonly<Partial<Record<Rule, number>>>;
  readonly caught: boolean;
}

/** The faults and lifecycles of the first seed may happen to miss what they are for. */
const SEEDS = [1, 2, 3];
const LIMIT_SECONDS = 90;

export async function sabotageAll(progress: (line: string) => void): Promise<SabotageOutcome[]> {
  const outcomes: SabotageOutcome[] = [];
  // What is found without any sabotage would be no catch.
  const sound = await runCopy({ lifecycles: 150 }, 1, async () => undefined);
  progress(`nothing broken: ${JSON.stringify(sound)}`);
  if (Object.keys(sound).length > 0) throw new Error("the suite finds something where nothing is broken");
  for (const sabotage of SABOTAGES) {
    let outcome: SabotageOutcome | undefined;
    for (const seed of SEEDS) {
      outcome = await sabotageOnce(sabotage, seed);
      progress(`${sabotage.name}; seed ${seed}: ${outcome.caught ? "caught" : "missed"}, ${JSON.stringify(outcome.found)}`);
      if (outcome.caught) break;
    }
    if (outcome) outcomes.push(outcome);
  }
  return outcomes;
}

async function sabotageOnce(sabotage: Sabotage, seed: number): Promise<SabotageOutcome> {
  const { name, file, find, replace, breaks } = sabotage;
  const found = await runCopy(sabotage, seed, async (copy) => {
    const source = await readFile(join(copy, file), "utf8");
    if (source.split(find).length !== 2) throw new Error(`${name}: what it changes does not stand in ${file} once`);
    // A function: a text would have its dollar signs read as patterns.
    await writeFile(
      join(copy, file),
      source.replace(find, () => replace),
    );
  });
  return { sabotage, found, caught: (found[breaks] ?? 0) > 0 };
}

/** Runs the suite on a copy of the tree, once it has been broken. */
async function runCopy(
  { lifecycles, faults }: Pick<Sabotage, "lifecycles" | "faults">,
  seed: number,
  breakIt: (copy: string) => Promise<void>,
): Promise<SabotageOutcome["found"]> {
  const copy = await copyTree();
  try {
    await breakIt(copy);
    const report = join(copy, "report.json");
    const args = ["--lifecycles", String(lifecycles), "--seed", String(seed), "--limit", String(LIMIT_SECONDS), "--report", report];
    const run = spawn(process.execPath, ["test/chaos/main.ts", ...args, ...(faults ? ["--faults", faults.join()] : [])], {
      cwd: copy,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const onExit = () => run.kill("SIGTERM");
    process.once("exit", onExit);
    await once(run, "exit");
    process.off("exit", onExit);
    return (JSON.parse(await readFile(report, "utf8")) as { found: SabotageOutcome["found"] }).found;
  } finally {
    await rm(copy, { recursive: true, force: true, maxRetries: 5 });
  }
}
