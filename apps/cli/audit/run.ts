/** The commands `parley audit …`. */
import { setTimeout } from "node:timers/promises";
import { readEnvironment } from "@parley/node";
import { connectRedis, redisSettings, toRedisSettings } from "@parley/redis";
import type { ExportCommand, VerifyCommand } from "./command.ts";
import { onStderr } from "../terminal/on-stderr.ts";
import { clean, print, printJson } from "../terminal/terminal.ts";
import { readCheckpoint, signCheckpoint } from "./checkpoint.ts";
import { FileChanged, openExport } from "./export.ts";
import { type Problem, verifyFiles } from "./verify.ts";
import { counted } from "../terminal/counted.ts";
import { onStop } from "../terminal/interrupt.ts";

/** How often an exporter with --follow reads new records. */
const LOOK_EVERY_MS = 1_000;

export async function exportRecords({ out, after = [], follow = false, json }: ExportCommand): Promise<void> {
  const redis = await connectRedis(toRedisSettings(readEnvironment(redisSettings, process.env)), { log: onStderr });
  const stop = onStop();
  try {
    const exporter = await openExport({ trail: redis.audit, partitions: redis.partitions, file: out, after, now: () => redis.now() });
    let taken = 0;
    do {
      try {
        taken += await exporter.take();
      } catch (error) {
        if (!follow || error instanceof FileChanged) throw error;
        // Redis is away, or the disk is full; what was not written is still in Redis afterwards.
        onStderr.warn({ error: error instanceof Error ? error.message : String(error) }, "records could not be exported, retrying");
      }
      if (follow) await setTimeout(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
    } while (follow && !stop.aborted);
    await exporter.close();
    if (json) printJson({ records: taken, file: out });
    else print(`${counted(taken, "record")} written to ${out}`);
  } finally {
    await redis.close();
  }
}

export async function verifyRecords(files: readonly string[], { checkpoint: file, publicKey, json }: VerifyCommand): Promise<void> {
  if ((file === undefined) !== (publicKey === undefined)) throw new Error("--checkpoint and --public-key go together");
  const checkpoint = file !== undefined && publicKey !== undefined ? await readCheckpoint(file, publicKey) : undefined;
  const anchored = Object.entries(checkpoint?.heads ?? {});
  const { records, problems, found } = await verifyFiles(files, new Set(anchored.map(([p, { n }]) => `${p} ${n}`)));
  const beside = anchored
    .filter(([p, { n, hash }]) => found.get(`${p} ${n}`)?.has(hash) !== true)
    .map(([p, { n }]): Problem => {
      const isThere = found.has(`${p} ${n}`);
      return {
        file: String(file),
        line: 0,
        kind: "broken",
        says: `record ${n} of partition ${p} ${isThere ? "differs from the signed one" : "is missing from the files"}`,
      };
    });
  const all = [...problems, ...beside];
  const count = all.length;
  if (count > 0) process.exitCode = 1;
  if (json) return printJson({ records, files: files.length, checkpointAt: checkpoint?.at ?? null, problems: all });
  for (const problem of all) print(clean(`${problem.file}:${problem.line}: ${problem.says}`));
  const against = checkpoint ? `, against the checkpoint of ${checkpoint.at}` : "";
  print(
    `${counted(records, "record")} in ${counted(files.length, "file")}${against}: ${count === 0 ? "whole" : counted(count, "problem")}`,
  );
}

export async function printCheckpoint(files: readonly string[], key: string): Promise<void> {
  const { heads, problems } = await verifyFiles(files);
  const first = problems.find(({ kind }) => kind === "broken");
  if (first) throw new Error(`${first.file}:${first.line}: ${first.says}. Nothing was signed.`);
  printJson(await signCheckpoint(heads, key, new Date()));
}
