/** Formats the replay of a task for a terminal. */
import type { ChangedQuestion, Verdict } from "@parley/sdk/replay";
import { diffArrays, diffLines } from "diff";
import { clean, cleanLine, styled } from "../terminal/terminal.ts";
import type { ReplayReport } from "./replay-thread.ts";
import { counted } from "../terminal/counted.ts";

const SIGNS = { continues: "✓", diverges: "✗", fails: "✗", unknown: "?" } as const satisfies Record<Verdict, string>;
/** Equal lines that are shown around a difference. */
const CONTEXT = 2;
const LINES_MAX = 60;

export function showReplayed(
  { taskId, tool, prompt }: { readonly taskId: string; readonly tool?: string; readonly prompt?: string },
  report: ReplayReport,
): string {
  const { verdict, next, reason, changed } = report;
  const what = `${verdict}: ${(verdict === "continues" ? next : reason) ?? ""}`;
  const lines = [`${SIGNS[verdict]} ${cleanLine(taskId)}  ${cleanLine(tool ?? prompt ?? "")}  ${cleanLine(what)}`];
  if (verdict !== "continues") lines.push(...(changed ? questionDiff(changed) : callsDiff(report)));
  return lines.join("\n");
}

/** Compares the recorded entry with the one that the replay produced, as a diff. */
export function callsDiff({ recorded, found }: Pick<ReplayReport, "recorded" | "found">): string[] {
  if (recorded.length === 0 && found.length === 0) return [];
  const rows = diffArrays([...recorded], [...found]).flatMap(({ added, removed, value }) =>
    value.map((id) => ({ sign: added ? "+" : removed ? "-" : " ", id: cleanLine(id) })),
  );
  const isNear = (at: number) => rows.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ sign }) => sign !== " ");
  const shown = rows.flatMap(({ sign, id }, at) => (isNear(at) ? [`    ${sign} ${id}`] : []));
  return shown.length === 0 ? [] : ["    - recorded, + found", ...bounded(shown)].map(coloured);
}

function questionDiff({ key, recorded, found }: ChangedQuestion): string[] {
  const after = JSON.stringify(found, null, 2);
  if (!recorded) return [`    the question "${cleanLine(key)}" is now`, ...bounded(indented("+", after))].map(coloured);
  const rows = diffLines(JSON.stringify(recorded, null, 2), after).flatMap(({ added, removed, value }) =>
    indented(added ? "+" : removed ? "-" : " ", value.replace(/\n$/, "")),
  );
  return [`    the question "${cleanLine(key)}": - as recorded, + as asked now`, ...bounded(rows)].map(coloured);
}

function indented(sign: string, text: string): string[] {
  return text.split("\n").map((line) => `    ${sign} ${clean(line)}`);
}

function bounded(lines: readonly string[]): string[] {
  return lines.length <= LINES_MAX ? [...lines] : [...lines.slice(0, LINES_MAX), `    … ${counted(lines.length - LINES_MAX, "line")} more`];
}

function coloured(line: string): string {
  if (line.startsWith("    + ")) return styled("green", line, process.stdout);
  return line.startsWith("    - ") && !line.includes(", + ") ? styled("red", line, process.stdout) : line;
}
