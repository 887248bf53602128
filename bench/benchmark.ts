/**
 * What a benchmark is, and how one is run: Parley, its floor and a peer in turn, round after round, so that anything else the machine does
 * meanwhile meets all of them alike. A figure is the median of its rounds.
 */
import { median } from "./measure.ts";
import type { Stage } from "./stage.ts";
import type { Target } from "./target.ts";

/** Parley; what the parts do with nothing of ours in between; the TypeScript SDK v1 with its tasks in memory. */
export const SIDES = ["floor", "peer", "parley"] as const;
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
  close?(): Promise<void>;
}

export interface Metric {
  readonly metric: string;
  /** The name of the figure, the same on every side. */
  readonly figure: string;
  readonly unit: string;
  readonly target?: Target;
  /** FastMCP with Docket and Redis, measured before, elsewhere. */
  readonly elsewhere?: string;
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

export async function runBenchmark({ group, metrics, open, rounds = 3 }: Benchmark, stage: Stage): Promise<Row[]> {
  const contest = await open(stage);
  const figures: Record<Side, Figures[]> = { floor: [], peer: [], parley: [] };
  try {
    for (let round = 0; round < (stage.quick ? 1 : rounds); round += 1) {
      for (const side of SIDES) {
        const measure = contest[side];
        if (measure) figures[side].push(await measure());
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

function summary(values: readonly number[]): Measured | undefined {
  if (values.length === 0) return undefined;
  return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values), rounds: values.length };
}
