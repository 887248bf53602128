/** The table of a run, on the terminal and as bench/RESULTS.md. */
export interface Row {
  readonly metric: string;
  readonly ours: number;
  /** The same measured on the parts alone, in the same run. */
  readonly floor?: number;
  readonly unit: string;
  readonly target?: string;
}

export interface Report {
  readonly rows: readonly Row[];
  readonly machine: string;
  readonly quick: boolean;
  readonly directory: URL;
  readonly write: (file: URL, text: string) => void;
}

export function writeReport({ rows, machine, quick, directory, write }: Report): void {
  const table = ["| metric | Parley | floor | ratio | target |", "|---|---|---|---|---|", ...rows.map(line)].join("\n");
  process.stdout.write(`${table}\n`);
  // A quick run is for the one who runs it; what is kept comes from a whole one.
  if (quick) return;
  write(
    new URL("RESULTS.md", directory),
    `# Benchmark results\n\nWritten by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}: ${machine}.\nFront end and worker share one core, the load has the other. Absolute figures move from run to run; ratios in one run are what counts.\n\n${table}\n`,
  );
  write(new URL("results.json", directory), `${JSON.stringify({ machine, rows }, null, 2)}\n`);
}

function line({ metric, ours, floor, unit, target }: Row): string {
  const ratio = floor === undefined ? "" : `${(ours / floor).toFixed(2)}`;
  return `| ${metric} | ${figure(ours, unit)} | ${floor === undefined ? "" : figure(floor, unit)} | ${ratio} | ${target ?? ""} |`;
}

function figure(value: number, unit: string): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toLocaleString("en", { maximumFractionDigits: digits })}${unit === "" ? "" : unit.startsWith("/") ? unit : ` ${unit}`}`;
}
