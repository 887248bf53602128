/**
 * What rules add to a call that they let pass: `node bench/rules.ts`. One process, no Redis: a call that passes has no round trip more
 * (test/e2e/round-trips.e2e.test.ts). Rounds without and with rules alternate, and the medians of their calls are compared.
 *
 * Every condition reads three things and is evaluated to its end, since all of them are false.
 */
import { readRules } from "@parley/approvals";
import type { Effects, JsonObject, Tool } from "@parley/core";
import { defineTool } from "@parley/sdk";
import { gatedTool } from "../packages/approvals/gate.ts";
import { median } from "./measure.ts";

const CONDITIONS = 50;
const ROUNDS = 40;
const CALLS = 250;

const args: JsonObject = { path: "/home/ada/notes/2026-11-29.md", content: "x".repeat(1_000), mode: 420 };
const effects = { call: { principal: "ada", arguments: args }, tookPatch: () => false } as unknown as Effects;
const tool: Tool = { ...defineTool({ name: "files_write", run: () => "" }), run: async () => ({ content: [] }) };

function behind(count: number): Tool {
  const rules = readRules({
    default: "allow",
    rules: Array.from({ length: count }, (_, at) => ({
      name: `rule-${at}`,
      tools: ["files_*"],
      when: `args.path.startsWith('/srv/${at}/') || args.mode > ${1_000 + at} || caller.id == 'eve-${at}'`,
      action: "deny" as const,
    })),
  });
  if ("problems" in rules) throw new Error(rules.problems.join("\n"));
  return gatedTool(tool, { rules: () => rules, stopped: () => undefined });
}

async function timesOf(called: Tool): Promise<number[]> {
  const times: number[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const from = performance.now();
    await called.run(args, effects);
    times.push(performance.now() - from);
  }
  return times;
}

const sides = [tool, behind(1), behind(CONDITIONS)] as const;
const times = sides.map((): number[] => []);
for (let round = -5; round < ROUNDS; round += 1) {
  for (const [side, called] of sides.entries()) {
    const measured = await timesOf(called);
    // The first rounds only warm up.
    if (round >= 0) times[side]?.push(...measured);
  }
}
const [off = 0, one = 0, all = 0] = times.map((each) => median(each) * 1_000);
process.stdout.write(
  `without rules ${off.toFixed(1)} µs; 1 condition adds ${(one - off).toFixed(1)} µs, ${CONDITIONS} conditions add ${(all - off).toFixed(1)} µs\n`,
);
