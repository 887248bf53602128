/**
 * The file with the rules, in YAML or JSON (which is YAML), and its changes. It is read again periodically, because a file watcher would miss changes
 * of a ConfigMap. Invalid content, and a file that is gone, change nothing, and the log says so.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Log } from "@parley/core";
import { parseDocument } from "yaml";
import { type ReadRules, readRules, type Rules } from "./rules.ts";

export interface RulesFile {
  /** The rules in effect. */
  current(): Rules;
  /** Follows changes. Returns a function that stops this. */
  watch(watching: { readonly log: Log; readonly everyMs?: number; readonly changed?: (rules: Rules) => void }): () => void;
}

/** Lists every problem of the file, one per line. */
export class RulesError extends Error {
  override readonly name = "RulesError";
  readonly problems: readonly string[];
  constructor(file: string, problems: readonly string[]) {
    super(`${file} (PARLEY_RULES):\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

export const RULES_BYTES_MAX = 1_000_000;
const READ_EVERY_MS = 2_000;

/** Throws RulesError with all problems. */
export function openRulesFile(file: string, options: ReadRules = {}): RulesFile {
  const first = textOf(file, () => readFileSync(file, "utf8"));
  let rules = parseRules(file, first, options);
  return {
    current: () => rules,
    watch({ log, everyMs = READ_EVERY_MS, changed }) {
      // What was read last, and what it says if it is valid. Parsing fifty conditions blocks the process for a moment: only what has changed is.
      let seen: { readonly text?: string; readonly rules?: Rules } = { text: first, rules };
      let lastProblem = "";
      let isReading = false;
      let isStopped = false;

      async function readAgain(): Promise<void> {
        if (isReading) return;
        isReading = true;
        try {
          const text = await readFile(file, "utf8").catch((error: unknown) => {
            seen = {};
            return unreadable(file, error);
          });
          // Half of a file may be valid: a change counts once two readings agree.
          const isWhole = text === seen.text;
          if (!isWhole) {
            seen = { text };
            seen = { text, rules: parseRules(file, text, options) };
          }
          const { rules: read } = seen;
          if (!read) return;
          lastProblem = "";
          if (isStopped || read.version === rules.version || !isWhole) return;
          rules = read;
          changed?.(read);
          log.info({ version: read.version, dryRun: read.isDryRun }, "rules for approvals have changed");
        } catch (error) {
          if (!(error instanceof RulesError)) throw error;
          const problem = error.problems.join();
          if (problem !== lastProblem)
            log.error({ file, problems: error.problems }, "rules for approvals are invalid, the last valid ones stay in effect");
          lastProblem = problem;
        } finally {
          isReading = false;
        }
      }

      const timer = setInterval(() => void readAgain(), everyMs);
      timer.unref();
      return () => {
        clearInterval(timer);
        isStopped = true;
      };
    },
  };
}

/** Throws RulesError with all problems. */
export function parseRules(file: string, text: string, options: ReadRules = {}): Rules {
  if (text.length > RULES_BYTES_MAX) throw new RulesError(file, [`has more than ${RULES_BYTES_MAX} characters`]);
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw new RulesError(file, [`is not YAML: ${problem.message}`]);
  let content: unknown;
  try {
    content = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new RulesError(file, [`is not YAML: ${error instanceof Error ? error.message : "unreadable"}`]);
  }
  const rules = readRules(content, options);
  if ("problems" in rules) throw new RulesError(file, rules.problems);
  return rules;
}

function textOf(file: string, read: () => string): string {
  try {
    return read();
  } catch (error) {
    return unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): never {
  throw new RulesError(file, [`cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`]);
}
