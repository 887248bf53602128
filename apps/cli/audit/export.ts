/**
 * Takes audit records out of Redis into a file, chained, at least once: the end of the file says where to continue.
 *
 * A record counts as taken when the file was flushed to disk. What a crash or a full disk left unfinished at the end of the file is cut off and
 * taken again.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import type { AuditTrail, StoredRecord } from "@parley/redis";
import { chained, chainedGap, type Head, type Heads } from "./chain.ts";
import { verifyFiles } from "./verify.ts";

/** Records per read and flush. */
const BATCH = 1_000;

export interface Exporter {
  /**
   * Exports the records that exist now and returns their number. It may be called again after an error, unless the error is FileChanged.
   */
  take(): Promise<number>;
  close(): Promise<void>;
}

/** The file is not as this exporter wrote it: it was moved, removed or truncated, or another process writes to it. */
export class FileChanged extends Error {}

export interface ExportOptions {
  readonly trail: Pick<AuditTrail, "read">;
  readonly partitions: readonly number[];
  readonly file: string;
  /** Earlier files whose chains this file continues. */
  readonly after: readonly string[];
  readonly now: () => number;
}

/** Throws an Error if the file is not intact: records after a broken one would prove nothing. */
export async function openExport({ trail, partitions, file, after, now }: ExportOptions): Promise<Exporter> {
  const handle = await open(file, "a+", 0o600);
  try {
    await cutUnfinished(handle);
    const { heads, problems } = await verifyFiles([...after, file]);
    const broken = problems.find(({ kind }) => kind === "broken");
    if (broken) throw new Error(`${broken.file}:${broken.line}: ${broken.says}. Export to a new file.`);
    const append = await appender(handle, file);
    return { take: () => takeAll(append, heads), close: () => handle.close() };
  } catch (error) {
    await handle.close();
    throw error;
  }

  async function takeAll(append: (text: string) => Promise<void>, heads: Heads): Promise<number> {
    let taken = 0;
    for (const p of partitions) {
      for (;;) {
        const { lines, head, records, isAll } = next(p, heads.get(p), await readAfter(p, heads.get(p)));
        if (lines.length > 0) await append(lines.map((line) => `${line}\n`).join(""));
        // Only now: what could not be written is taken again.
        if (head) heads.set(p, head);
        taken += records;
        if (isAll) break;
      }
    }
    return taken;
  }

  /** The records after `head`, or `restarted` if the stream contains neither the record of `head` nor a later one. */
  async function readAfter(p: number, head: Head | undefined): Promise<readonly StoredRecord[] | "restarted"> {
    if (!head || head.n === 0) return await trail.read(p, 0, BATCH);
    const [last, ...later] = await trail.read(p, head.n - 1, BATCH + 1);
    if (!last) return "restarted";
    // The record of `head` was trimmed, but later ones exist.
    if (last.number > head.n) return [last, ...later].slice(0, BATCH);
    // Numbers alone do not show that the stream lost its end, as in a failover, and has reached the same number again.
    const isSame = head.prev === undefined || chained(p, last, { n: head.n - 1, hash: head.prev }).head.hash === head.hash;
    return isSame ? later : "restarted";
  }

  function next(p: number, from: Head | undefined, found: readonly StoredRecord[] | "restarted") {
    const lines: string[] = [];
    let head = from;
    const add = (link: { readonly line: string; readonly head: Head }) => {
      lines.push(link.line);
      head = link.head;
    };
    if (found === "restarted") {
      add(chainedGap(p, head, 0, now()));
      // The caller reads the stream from its beginning in the next round.
      return { lines, head, records: 0, isAll: false };
    }
    for (const record of found) {
      if (record.number > (head?.n ?? 0) + 1) add(chainedGap(p, head, record.number - 1, now()));
      add(chained(p, record, head));
    }
    return { lines, head, records: found.length, isAll: found.length < BATCH };
  }
}

/**
 * Appends and flushes a text in full or not at all. Throws FileChanged if the file at this path is not the one that this exporter has written, or has
 * another length: it was rotated or removed, and new records would be lost, or a second exporter writes to it and would mix the chains.
 */
async function appender(handle: FileHandle, file: string): Promise<(text: string) => Promise<void>> {
  let { size } = await handle.stat();

  async function mustBeOurs(): Promise<void> {
    const [own, there] = await Promise.all([handle.stat(), stat(file).catch(() => undefined)]);
    if (there?.ino !== own.ino || there.dev !== own.dev) throw new FileChanged(`${file} was moved or removed while it was written`);
    if (own.size < size) throw new FileChanged(`${file} was truncated while it was written`);
    if (own.size > size) throw new FileChanged(`another process writes to ${file}: run one exporter`);
  }

  return async (text) => {
    await mustBeOurs();
    try {
      await handle.appendFile(text);
      await handle.datasync();
    } catch (error) {
      // A full disk took a part. If even this fails, the next try finds more in the file than there should be.
      await handle.truncate(size);
      throw error;
    }
    size += Buffer.byteLength(text);
    await mustBeOurs();
  };
}

/** Cuts off a last line without a newline: the exporter died while it wrote the line. */
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
