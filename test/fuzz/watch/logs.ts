/** Reads what the processes log, for what must not stand there. */
import { CONTENT } from "../draw/json.ts";
import { leakIn } from "../leaks.ts";
import type { RunFinding } from "../rules.ts";
import type { Member, System } from "../system.ts";
import type { LogLine } from "../../support/processes.ts";

const LINE_CHARS_MAX = 4_096;
const ERROR = 50;

export interface Logs {
  /** What is wrong with the lines since the last time. */
  read(): readonly RunFinding[];
  readonly lines: number;
}

export function watchLogs({ members }: System): Logs {
  const read = new Map<Member, number>();
  const told = new Set<string>();
  let lines = 0;
  return {
    get lines() {
      return lines;
    },
    read() {
      const findings: RunFinding[] = [];
      for (const member of members) {
        const { logs } = member.process;
        for (const line of logs.slice(read.get(member) ?? 0)) {
          lines += 1;
          const what = wrongWith(line);
          if (what === undefined || told.has(`${what} ${line.msg}`)) continue;
          told.add(`${what} ${line.msg}`);
          findings.push({ rule: "logs", what: `${member.kind}: ${what}: ${JSON.stringify(line).slice(0, 700)}` });
        }
        read.set(member, logs.length);
      }
      return findings;
    },
  };
}

/** What a tool throws is logged as it is, its message and where it was thrown: its author has to find it, and the log is the operator's. */
const AUTHORS: ReadonlySet<string> = new Set([
  "step failed",
  "step failed, will be retried",
  "run failed, will be retried",
  "task finished with an error",
]);

/** For JSON.stringify: leaves out what describeError writes of an error and its causes. */
function withoutError(member: string, value: unknown): unknown {
  return member === "detail" || member === "stack" ? undefined : value;
}

function wrongWith(line: LogLine): string | undefined {
  const text = JSON.stringify(line);
  if (typeof line["level"] !== "number") return "a line that is no JSON";
  if (text.includes(CONTENT)) return "what callers said";
  if (text.length > LINE_CHARS_MAX) return `a line of more than ${LINE_CHARS_MAX} characters`;
  if (line["level"] >= ERROR) return "an error";
  const isAuthors = AUTHORS.has(line.msg ?? "");
  if (!isAuthors && text.includes('"stack":')) return "a stack trace";
  const leak = leakIn(isAuthors ? JSON.stringify(line, withoutError) : text);
  return leak === undefined ? undefined : leak.replace(/:.*$/s, "");
}
