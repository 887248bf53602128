/** Writes the results of a run: the table on the terminal, bench/RESULTS.md, bench/results.json and the plots. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type ChartName, CHARTS, type Row, type Side } from "./benchmark.ts";
import { drawChart, type Series } from "./plot.ts";

export interface Report {
  readonly rows: readonly Row[];
  readonly machine: string;
  /** What else the machine did, and how long the run took. */
  readonly noise: string;
  readonly directory: URL;
}

const COLUMNS = ["metric", "Parley", "lowest–highest", "floor", "Parley : floor", "SDK v1", "FastMCP + Docket", "target", "reached"];
const SERIES: Readonly<Record<Side, string>> = { parley: "Parley", floor: "floor", peer: "SDK v1", durablePeer: "FastMCP + Docket" };

export function tableOf(rows: readonly Row[]): string {
  const groups = Map.groupBy(rows, ({ group }) => group);
  return [...groups]
    .map(([group, members]) => {
      const head = [`### ${group}`, "", `| ${COLUMNS.join(" | ")} |`, `|${"---|".repeat(COLUMNS.length)}`];
      return [...head, ...members.map(line)].join("\n");
    })
    .join("\n\n");
}

export function writeReport({ rows, machine, noise, directory }: Report): void {
  const date = new Date().toISOString().slice(0, 10);
  const plots = new URL("plots/", directory);
  mkdirSync(plots, { recursive: true });
  const drawn: string[] = [];
  for (const [name, chart] of Object.entries(CHARTS)) {
    const series = seriesOf(rows, name as ChartName);
    if (series.length === 0) continue;
    writeFileSync(new URL(`${name}.svg`, plots), drawChart({ ...chart, series }));
    drawn.push(`![${chart.title}](plots/${name}.svg)`);
  }
  const judged = rows.filter(({ reached }) => reached !== undefined);
  const missed = judged.filter(({ reached }) => reached === false);
  const results = new URL("RESULTS.md", directory);
  const told = missed.map(({ group, metric }) => `- ${group}: ${metric}`).join("\n");
  writeFileSync(
    results,
    `# Benchmark results

Written by \`npm run bench\` on ${date}: ${machine}. ${noise}

Front ends, the worker, the floor and the peers share one core and run in turn. The load generator has the other core. Redis runs without persistence,
on a core that the system chooses.

Each figure is the median of three rounds in which the floor, the peers and Parley follow one another. Absolute figures differ between runs and
machines; compare **ratios within one run**.

- *Floor*: what the parts do without Parley's code in between. Depending on the row: Fastify and one HGETALL; Fastify, one HSET and one BullMQ job;
  the two BullMQ jobs of a lifecycle; PUBLISH → message.
- *SDK v1*: the TypeScript SDK 1.32 with its tasks in memory and the same tool, measured in this run. It polls every 20 ms here instead of its
  default of one second. Its tasks do not survive its process.
- *FastMCP + Docket*: FastMCP 4.1 with fastmcp-tasks on a Redis of its own, front end and worker in one process, measured in this run by the same
  client. It is the only other server whose tasks survive a process.

${judged.length - missed.length} of ${judged.length} targets are met.${missed.length > 0 ? ` Missed:\n\n${told}` : ""}

${tableOf(rows)}

## Plots

${drawn.join("\n\n")}
${keptSections(results)}`,
  );
  writeFileSync(
    new URL("results.json", directory),
    `${JSON.stringify({ date, machine, noise, rows: rows.map(({ target, point: _point, ...row }) => ({ ...row, ...(target && { target: target.text }) })) }, null, 2)}\n`,
  );
}

/** Written manually from `bench/profile.ts`, run on two versions in turn. */
const PROFILE_HEADING = "## What a lifecycle asks of Redis, before and after the lane";
const GATEWAY_HEADING = "## The gateway";

/** The sections that a full run does not measure. They follow those that it does. */
function keptSections(results: URL): string {
  const text = readFileSync(results, "utf8");
  const starts = [PROFILE_HEADING, GATEWAY_HEADING].map((heading) => text.indexOf(`\n${heading}\n`)).filter((start) => start !== -1);
  return starts.length === 0 ? "" : text.slice(Math.min(...starts));
}

/** The section that `npm run bench:gateway` wrote, from its heading to the end of the file. */
function gatewaySection(results: URL): string {
  const text = readFileSync(results, "utf8");
  const start = text.indexOf(`\n${GATEWAY_HEADING}\n`);
  return start === -1 ? "" : text.slice(start);
}

export interface GatewaySection {
  readonly lines: readonly string[];
  readonly machine: string;
  readonly directory: URL;
}

export function writeGatewaySection({ lines, machine, directory }: GatewaySection): void {
  const results = new URL("RESULTS.md", directory);
  const section = gatewaySection(results);
  const others = readFileSync(results, "utf8").slice(0, section === "" ? undefined : -section.length);
  const date = new Date().toISOString().slice(0, 10);
  const setting =
    "The front end, the worker and Redis share one core, the upstream and the load generator the other. Redis runs without persistence.";
  writeFileSync(
    results,
    `${others}\n${GATEWAY_HEADING}\n\nWritten by \`npm run bench:gateway\` on ${date}: ${machine}. ${setting}\n\n${lines.join("\n").trim()}\n`,
  );
}

function seriesOf(rows: readonly Row[], chart: ChartName): Series[] {
  const series = new Map<string, [number, number][]>();
  for (const row of rows) {
    if (row.point?.chart !== chart) continue;
    for (const side of ["parley", "floor", "peer", "durablePeer"] as const) {
      const measured = row[side];
      if (!measured) continue;
      const name = row.point.series ?? SERIES[side];
      series.set(name, [...(series.get(name) ?? []), [row.point.x, measured.median]]);
    }
  }
  return [...series].map(([name, points]) => ({ name, points }));
}

function line({ metric, parley, floor, peer, durablePeer, unit, target, reached }: Row): string {
  const range = parley && parley.rounds > 1 ? `${figure(parley.lowest, "")}–${figure(parley.highest, "")}` : "";
  const ratio = parley && floor ? (parley.median / floor.median).toFixed(2) : "";
  const cells = [
    metric,
    parley ? figure(parley.median, unit) : "",
    range,
    floor ? figure(floor.median, unit) : "",
    ratio,
    peer ? figure(peer.median, unit) : "",
    durablePeer ? figure(durablePeer.median, unit) : "",
    target?.text ?? "",
    reached === undefined ? "" : reached ? "yes" : "**no**",
  ];
  return `| ${cells.join(" | ")} |`;
}

/** Three digits that count. */
function figure(value: number, unit: string): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const text = value.toLocaleString("en", { maximumFractionDigits: digits });
  return `${text}${unit === "" ? "" : unit.startsWith("/") ? unit : ` ${unit}`}`;
}
