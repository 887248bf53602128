/** The part that every process loads: the gate, and the setting. What reads rules, with its evaluator, is loaded only if there are some. */
import type { Catalogue, Catalogues, Log } from "@parley/core";
import { z } from "zod";
import { gated, NO_RULES, withTests } from "./gate.ts";
import { createGateRecord, type Recorders } from "./record.ts";
import type { Called, Decision } from "./rules.ts";

export { foreseeEdits } from "./foresee.ts";
export { replayedBehindGate } from "./gate.ts";
export type { PlantTest } from "./planted.ts";
export type { Recorders } from "./record.ts";

export const rulesEnvironment = {
  PARLEY_RULES: z
    .string()
    .optional()
    .describe(
      "File with rules for calls of tools, ./parley.rules.yaml: which run, which are refused, and which wait for a person's approval. Unset: all run.",
    ),
  PARLEY_TOOL_APPROVAL: z
    .stringbool()
    .default(false)
    .describe(
      "Also say what waits for approval, and what became of it, by the names of MCP's proposals SEP-2848 and SEP-2643, which may still change.",
    ),
};

export interface OpenGate {
  readonly file: string | undefined;
  readonly askTimeoutMaxMs: number;
  /** See PARLEY_SECRET_NAMES. */
  readonly secretNames?: readonly string[];
  /** See PARLEY_TOOL_APPROVAL. */
  readonly usesProposedNames?: boolean;
  /** Told of the version by which the process decides, now and after each change: processes that differ decide differently. */
  readonly showVersion?: (version: string) => void;
  readonly log: Log;
}

export interface OpenedGate {
  /** The same catalogues with the gate in front of their tools. */
  wrap(catalogues: Catalogues, recorders?: Omit<Recorders, "log">): Catalogues;
  /** Whether a rule could stop some call of it. */
  concerns(called: Called): boolean;
  /**
   * Logs names in rules that fit nothing of what is listed, now and whenever a further one is found. `listed` returns the same maps until they change.
   * `unlisted`: how names begin that nobody has listed yet.
   */
  watchNames(listed: () => Pick<Catalogue, "tools" | "prompts">, unlisted?: () => readonly string[]): void;
  close(): void;
}

/** Throws RulesError with all problems of the file. Without a file there is a gate as well, for tasks that were stopped while there was one. */
export async function openGate({
  file,
  askTimeoutMaxMs,
  secretNames = [],
  usesProposedNames = false,
  showVersion,
  log,
}: OpenGate): Promise<OpenedGate> {
  const opened = file === undefined ? undefined : (await import("./rules-file.ts")).openRulesFile(file, { askTimeoutMaxMs });
  const unfitting = opened && (await import("./unfitting.ts"));
  let namesTimer: NodeJS.Timeout | undefined;
  const stopWatching = opened?.watch({ log, changed: ({ version }) => showVersion?.(version) });
  showVersion?.(opened?.current().version ?? "none");
  const options = { rules: () => opened?.current() ?? NO_RULES, stopped: reportTo(log), secretNames, usesProposedNames };
  return {
    wrap(catalogues, recorders) {
      const recording = recorders ? { ...options, record: createGateRecord({ ...recorders, log }) } : options;
      const wrapped = new WeakMap<Catalogue, Catalogue>();
      const runnable = new WeakMap<Catalogue, Catalogue>();
      const forRuns = (catalogue: Catalogue) => {
        const known = runnable.get(catalogue) ?? (recorders?.plant ? withTests(catalogue, recording) : catalogue);
        runnable.set(catalogue, known);
        return known;
      };
      const wrap = (catalogue: Catalogue) => {
        const known = wrapped.get(catalogue) ?? gated(catalogue, recording);
        wrapped.set(catalogue, known);
        return known;
      };
      return {
        current(caller) {
          const now = catalogues.current(caller);
          return now instanceof Promise ? now.then(wrap) : wrap(now);
        },
        runnable: () => forRuns(wrap(catalogues.runnable())),
      };
    },
    concerns: (called) => options.rules().concerns(called),
    watchNames(listed, unlisted = () => []) {
      if (!opened || !unfitting) return;
      let before: readonly unknown[] = [];
      // Of this file, each name once, however often a server lists something else.
      const said = new Set<string>();
      const look = () => {
        const [rules, { tools, prompts }, prefixes] = [opened.current(), listed(), unlisted()];
        const now = [rules, tools, prompts, prefixes.join(" ")];
        // Lists of a hundred thousand tools take a quarter of a second.
        if (now.every((each, at) => each === before[at])) return;
        if (rules !== before[0]) said.clear();
        before = now;
        const found = unfitting.unfittingNames(rules, { tools: tools.keys(), prompts: prompts.keys(), unlisted: prefixes });
        const further = found.filter(({ rule, kind, name }) => !said.has(`${rule} ${kind} ${name}`));
        for (const { rule, kind, name } of further) said.add(`${rule} ${kind} ${name}`);
        if (further.length > 0)
          log.warn(
            { names: further.slice(0, NAMES_LOGGED_MAX).map(unfitting.unfittingText), count: further.length },
            "rules have names that fit no tool or prompt",
          );
      };
      look();
      namesTimer = setInterval(look, NAMES_EVERY_MS).unref();
    },
    close() {
      clearInterval(namesTimer);
      stopWatching?.();
    },
  };
}

/** Lists of servers behind the gateway, and the file, may change. */
const NAMES_EVERY_MS = 15_000;
const NAMES_LOGGED_MAX = 20;

const REPORTED = { deny: "a rule refuses the call", approve: "the call waits for approval", allow: "a rule allows the call" } as const;

function reportTo(log: Log) {
  return (
    { type, rule }: Decision,
    { taskId, tool, isDryRun }: { readonly taskId: string; readonly tool: string; readonly isDryRun: boolean },
  ) => log.info({ taskId, tool, rule }, isDryRun ? `dry run of the rules: ${REPORTED[type]}` : REPORTED[type]);
}
