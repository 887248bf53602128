/**
 * `parley purge`: counts and deletes finished tasks. It can run while front ends and workers run, also if Redis is full. It may be interrupted:
 * what is left is found again.
 */
import { parseDuration } from "@parley/core";
import { readEnvironment } from "@parley/node";
import { type FinishedTask, type PurgeFilter, redisSettings, toRedisSettings } from "@parley/redis";
import { connectAudited } from "../deployment/is-audited.ts";
import { counted } from "../terminal/counted.ts";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import { cleanLine, print, printJson, printToStderr } from "../terminal/terminal.ts";
import type { PurgeTasks } from "./command.ts";
import { bytesOf, sized } from "./size.ts";
import { createTally } from "./tally.ts";

/** Tools and callers to name, those that keep most. */
const NAMED = 5;

export async function purgeTasks({ olderThan, tool, prompt, principal, tenant, largerThan, dryRun, yes, json }: PurgeTasks): Promise<void> {
  if (dryRun && yes) throw new Error("specify one of --dry-run and --yes");
  if (tool !== undefined && prompt !== undefined) throw new Error("specify one of --tool and --prompt");
  const ageMs = parseDuration(olderThan);
  const bytesMin = largerThan === undefined ? undefined : bytesOf(largerThan) + 1;
  const what = calledOf(tool, prompt);
  const isDry = !yes;
  const interrupted = onInterrupt();
  const { redis, audit } = await connectAudited(toRedisSettings(readEnvironment(redisSettings, process.env)));
  const about = {
    ...(tenant !== undefined && { tenant }),
    ...(principal !== undefined && { principal }),
    ...(what !== undefined && { tool: `${what.kind} ${what.name}` }),
  };
  const counts = { tasks: 0, bytes: 0 };
  const [byTool, byCaller] = [createTally(), createTally()];
  const count = ({ tool: name, principal: who, tenant: of, bytes }: FinishedTask) => {
    counts.tasks += 1;
    counts.bytes += bytes;
    byTool.add(name, bytes);
    byCaller.add(of === "default" ? who : `${who} of ${of}`, bytes);
  };
  try {
    const filter: PurgeFilter = {
      endedBeforeMs: redis.now() - ageMs,
      ...what,
      principal,
      tenant,
      bytesMin,
    };
    // Before anything is deleted, because the process may be killed.
    if (!isDry) await audit?.note({ action: "purge", ...about, verdict: `begun, older than ${olderThan}` });
    try {
      for await (const batch of redis.purge(filter, { isDry })) {
        for (const each of batch) count(each);
        if (interrupted.aborted) break;
      }
    } finally {
      if (!isDry) await audit?.note({ action: "purge", ...about, verdict: `${counts.tasks} deleted` });
    }
  } finally {
    await redis.close();
  }
  if (interrupted.aborted) process.exitCode = INTERRUPTED;
  const groups = { tools: byTool.largest(NAMED), callers: byCaller.largest(NAMED) };
  if (json) return printJson({ deleted: !isDry, ...counts, ...groups });
  print(`${counted(counts.tasks, "finished task")} with ${sized(counts.bytes)} ${isDry ? "found" : "deleted"}`);
  for (const [title, group] of [["by tool", groups.tools] as const, ["by caller", groups.callers] as const]) {
    if (group.length > 0) print(`${title}:`);
    for (const { name, tasks, bytes } of group) print(`  ${cleanLine(name)}  ${counted(tasks, "task")}, ${sized(bytes)}`);
  }
  if (interrupted.aborted) printToStderr("interrupted: run the command again for the rest");
  else if (isDry && counts.tasks > 0) printToStderr("nothing was deleted: add --yes to delete them");
}

function calledOf(
  tool: string | undefined,
  prompt: string | undefined,
): { readonly kind: "tool" | "prompt"; readonly name: string } | undefined {
  if (tool !== undefined) return { kind: "tool", name: tool };
  return prompt === undefined ? undefined : { kind: "prompt", name: prompt };
}
