/**
 * What a benchmark is and how it runs: Parley, its floor and its peers take turns, round after round, so that other load on the machine
 * affects all of them alike. A figure is the median of its rounds.
 */
import { median } from "./measure.ts";
import type { Stage } from "./stage.ts";
import type { Target } from "./target.ts";

/** What the parts do with nothing of ours in between; the TypeScript SDK v1 with its tasks in memory; FastMCP with Docket and Redis; Parley. */
export const SIDES = ["floor", "peer", "durablePeer", "parley"] as const;
export type Side = (typeof SIDES)[number];

export type Figures = Readonly<Record<string, number>>;

/** One round of one side. */
export type Round = () => Promise<Figures>;

export interface Benchmark {
  /** What `--only` takes, whole or its beginning. */
  readonly name: string;
  /** The heading under which its metrics are told. */
  readonly group: string;
  /** 3 by default. */
  readonly rounds?: number;
  /** On a stage on which nothing has happened before. */
  readonly alone?: boolean;
  open(stage: Stage): Promise<Contest>;
  readonly metrics: readonly Metric[];
}

export interface Contest {
  readonly parley: Round;
  readonly floor?: Round;
  readonly peer?: Round;
  readonly durablePeer?: Round;
  close?(): Promise<void>;
}

export interface Metric {
  readonly metric: string;
  /** The name of the figure, the same on every side. */
  readonly figure: string;
  readonly unit: string;
  readonly target?: Target;
  /** Where the figure stands in a chart; each side is a series of its own unless one is named. */
  readonly point?: { readonly chart: ChartName; readonly x: number; readonly series?: string };
}

export const CHARTS = {
  "lifecycle-latency": {
    title: "Lifecycle, p50 (floor: two BullMQ jobs)",
    x: { label: "clients at once", logarithmic: true },
    y: { label: "ms", logarithmic: true },
  },
  "lifecycle-rate": {
    title: "Lifecycles per second (floor: two BullMQ jobs)",
    x: { label: "clients at once", logarithmic: true },
    y: { label: "per second", logarithmic: true },
  },
  "parked-memory": {
    title: "Redis memory per parked task",
    x: { label: "parked tasks", logarithmic: true },
    y: { label: "bytes", logarithmic: false },
  },
  "parked-latency": {
    title: "Latency beside parked tasks, p50",
    x: { label: "parked tasks", logarithmic: true },
    y: { label: "ms", logarithmic: true },
  },
} as const;
export type ChartName = keyof typeof CHARTS;

export interface Measured {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly rounds: number;
}

export interface Row extends Metric, Partial<Record<Side, Measured>> {
  readonly group: string;
  readonly reached?: boolean;
}

export async function runBenchmark({ name, group, metrics, open, rounds = 3 }: Benchmark, stage: Stage): Promise<Row[]> {
  const contest = await open(stage);
  const figures: Record<Side, Figures[]> = { floor: [], peer: [], durablePeer: [], parley: [] };
  try {
    for (let round = 0; round < (stage.quick ? 1 : rounds); round += 1) {
      for (const side of SIDES) {
        const measure = contest[side];
        if (!measure) continue;
        const measured = measure();
        figures[side].push(...(side === "durablePeer" ? await unlessStuck(measured, name) : [await measured]));
      }
    }
  } finally {
    await contest.close?.();
  }
  return metrics.flatMap((metric): Row[] => {
    const sides = Object.fromEntries(
      SIDES.flatMap((side) => {
        const measured = summary(figures[side].flatMap((round) => round[metric.figure] ?? []));
        return measured ? [[side, measured]] : [];
      }),
    ) as Partial<Record<Side, Measured>>;
    if (!sides.parley) return []; // a quick run leaves some out
    const { target } = metric;
    const reached = target?.isReached(sides.parley.median, sides.floor?.median);
    return [{ ...metric, ...sides, group, ...(reached !== undefined && { reached }) }];
  });
}

/** It loses a task now and then. The run says so, and measures the others. */
async function unlessStuck(measured: Promise<Figures>, name: string): Promise<Figures[]> {
  try {
    return [await measured];
  } catch (error) {
    process.stderr.write(
      `${name}: FastMCP and Docket are left out of a round: ${error instanceof Error ? error.message : String(error)}\n`,
    );
    return [];
  }
}

function summary(values: readonly number[]): Measured | undefined {
  if (values.length === 0) return undefined;
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values), rounds: values.length };
}
