/** Reads files of audit records, offline, and reports each problem with its location. */
import { canonicalJson, type JsonObject } from "@parley/core";
import { linesOf } from "../terminal/lines.ts";
import { GENESIS, type Head, hashOf, type Heads } from "./chain.ts";

export interface Problem {
  readonly file: string;
  /** Counted from 1; 0 for a problem of the whole file. */
  readonly line: number;
  readonly says: string;
  /** `gap`: records were lost before they were exported, and the exporter said so. Nothing behind it is in doubt. */
  readonly kind: "broken" | "gap";
}

export interface Verified {
  readonly records: number;
  readonly heads: Heads;
  readonly problems: readonly Problem[];
  /** The hashes of the records that `wanted` names: several for a number that a stream reached again after it restarted. */
  readonly found: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Maximum number of problems to report: a file that is not an audit has one in each line. */
export const PROBLEMS_MAX = 1_000;
/** Maximum characters per line; a record has a few hundred. */
export const LINE_MAX = 65_536;

/** Files in the order in which they were written. `wanted`: records whose hashes are needed, as `<p> <n>`. */
export async function verifyFiles(files: readonly string[], wanted: ReadonlySet<string> = new Set()): Promise<Verified> {
  const heads: Heads = new Map();
  const problems: Problem[] = [];
  const found = new Map<string, Set<string>>();
  let records = 0;
  for (const file of files) {
    let line = 0;
    const note = ({ kind, says }: Found) => {
      if (problems.length < PROBLEMS_MAX) problems.push({ file, line, kind, says });
    };
    for await (const text of linesOf(file)) {
      line += 1;
      const link = readLink(text);
      if (typeof link === "string") {
        note({ kind: "broken", says: link });
        continue;
      }
      records += 1;
      const head = heads.get(link.p);
      for (const problem of problemsOf(link, head)) note(problem);
      const key = `${link.p} ${link.n}`;
      if (wanted.has(key)) found.set(key, (found.get(key) ?? new Set()).add(link.hash));
      // Later records are compared with this one, so that one change is reported once.
      heads.set(link.p, { n: link.n, hash: link.hash, ...(link.whole["action"] !== "missing" && { prev: link.prev }) });
    }
  }
  return { records, heads, problems, found };
}

interface ReadLink {
  readonly text: string;
  readonly whole: JsonObject;
  readonly p: number;
  readonly n: number;
  readonly prev: string;
  readonly hash: string;
}

function readLink(text: string): ReadLink | string {
  if (text.length > LINE_MAX) return `is not an audit record: it has ${text.length} characters, and none has more than ${LINE_MAX}`;
  let whole: JsonObject;
  try {
    whole = JSON.parse(text) as JsonObject;
  } catch {
    return "is not JSON: the line was changed, or cut off";
  }
  const { p, n, prev, hash } = (typeof whole === "object" && whole) || {};
  if (typeof p !== "number" || typeof n !== "number" || typeof prev !== "string" || typeof hash !== "string")
    return "is not an audit record: it lacks p, n, prev or hash";
  return { text, whole, p, n, prev, hash };
}

type Found = Pick<Problem, "kind" | "says">;

function problemsOf({ text, whole, p, n, prev, hash }: ReadLink, head: Head | undefined): Found[] {
  const about = `record ${n} of partition ${p}`;
  const problems: Found[] = [];
  const broken = (says: string) => problems.push({ kind: "broken", says });
  // A line with a duplicate member, or in another notation, parses to the same record, but the exporter did not write it.
  if (hashOf(whole) !== hash || canonicalJson(whole) !== text) broken(`${about} was changed: its hash does not match`);
  const before = head?.n ?? 0;
  const isNext = whole["action"] === "missing" ? whole["from"] === before + 1 : n === before + 1;
  if (prev !== (head?.hash ?? GENESIS))
    broken(`${about} does not follow ${head ? `record ${before}` : "the beginning"}: ${missingBetween(n, before)}`);
  else if (!isNext) broken(`${about} follows record ${before}, which the exporter never writes`);
  if (whole["action"] === "missing") {
    const says =
      n < before || n === 0
        ? `the stream of partition ${p} restarted after record ${before}: it was deleted in Redis, or lost its newest records`
        : `records ${before + 1} to ${n} of partition ${p} were lost before they were exported`;
    problems.push({ kind: "gap", says });
  }
  return problems;
}

function missingBetween(n: number, before: number): string {
  if (n > before + 1) return `records ${before + 1} to ${n - 1} are missing here`;
  return n <= before ? "records were reordered or inserted" : "the record before it was changed or replaced";
}
