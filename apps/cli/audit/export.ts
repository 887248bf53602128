/**
 * Takes audit records out of Redis into a file, chained, at least once and never twice: the end of the file says where to continue.
 *
 * A record counts as taken when the file was flushed to disk. What a crash left unfinished at the end of the file is cut off and taken again.
 */
import { open, type FileHandle } from "node:fs/promises";
import type { AuditTrail } from "@parley/redis";
import { chained, chainedGap, type Heads } from "./chain.ts";
import { verifyFiles } from "./verify.ts";

/** Records that are read and flushed together. */
const BATCH = 1_000;

export interface Exporter {
  /** Takes what is there. Returns how many records that were. */
  take(): Promise<number>;
  close(): Promise<void>;
}

export interface ExportOptions {
  readonly trail: Pick<AuditTrail, "read" | "newest">;
  readonly partitions: readonly number[];
  readonly file: string;
  /** Files before this one, whose chains it continues. */
  readonly after: readonly string[];
  readonly now: () => number;
}

/** Throws an Error for a file that is not whole: what follows it would prove nothing. */
export async function openExport({ trail, partitions, file, after, now }: ExportOptions): Promise<Exporter> {
  const handle = await open(file, "a+", 0o600);
  try {
    await cutUnfinished(handle);
    const { heads, problems } = await verifyFiles([...after, file]);
    const broken = problems.find(({ kind }) => kind === "broken");
    if (broken) throw new Error(`${broken.file}:${broken.line}: ${broken.says}. Export to a new file.`);
    return { take: () => takeAll(handle, heads), close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }

  async function takeAll(to: FileHandle, heads: Heads): Promise<number> {
    let taken = 0;
    for (const p of partitions) {
      for (;;) {
        const lines: string[] = [];
        const before = heads.get(p)?.n ?? 0;
        if ((await trail.newest(p)) < before) {
          const gap = chainedGap(p, heads.get(p), 0, now());
          heads.set(p, gap.head);
          lines.push(gap.line);
        }
        const records = await trail.read(p, heads.get(p)?.n ?? 0, BATCH);
        for (const record of records) {
          const expected = (heads.get(p)?.n ?? 0) + 1;
          if (record.number > expected) {
            const gap = chainedGap(p, heads.get(p), record.number - 1, now());
            heads.set(p, gap.head);
            lines.push(gap.line);
          }
          const next = chained(p, record, heads.get(p));
          heads.set(p, next.head);
          lines.push(next.line);
        }
        if (lines.length > 0) {
          await to.appendFile(lines.map((line) => `${line}\n`).join(""));
          await to.datasync();
        }
        taken += records.length;
        if (records.length < BATCH) break;
      }
    }
    return taken;
  }
}

/** A last line without its end was being written as the exporter died. */
async function cutUnfinished(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  const chunk = Buffer.alloc(65_536);
  let end = size;
  while (end > 0) {
    const from = Math.max(0, end - chunk.length);
    const { bytesRead } = await handle.read(chunk, 0, end - from, from);
    const newline = chunk.subarray(0, bytesRead).lastIndexOf(10);
    if (newline !== -1) {
      if (from + newline + 1 < size) await handle.truncate(from + newline + 1);
      return;
    }
    end = from;
  }
  if (size > 0) await handle.truncate(0);
}
