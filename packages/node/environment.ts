/**
 * Settings come from the environment once, at start, through a schema: every setting has a name, a default and a sentence about itself.
 * All problems are reported at once.
 */
import { type Duration, parseDuration } from "@parley/core";
import { z } from "zod";

/** `30s`, `2 days`, `250` (milliseconds) → milliseconds. */
export function duration(fallback: Duration) {
  return z
    .string()
    .default(String(fallback))
    .transform((text, context) => {
      try {
        return parseDuration(/^\d+$/.test(text) ? Number(text) : text);
      } catch (error) {
        context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
        return z.NEVER;
      }
    });
}

/** A whole number within bounds. */
export function whole(fallback: number, { min = 1, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {}) {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

/** `true`/`false`, `1`/`0`, `yes`/`no`. */
export function flag(fallback: boolean) {
  return z.stringbool().default(fallback);
}

/** A comma-separated list. */
export function list(fallback: readonly string[] = []) {
  return z
    .string()
    .optional()
    .transform((text) =>
      text === undefined
        ? [...fallback]
        : text
            .split(",")
            .map((item) => item.trim())
            .filter((item) => item !== ""),
    );
}

/** Thrown with every problem of the environment, a line each. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`settings that do not fit:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

/** Parses the environment into a frozen object. An empty variable counts as unset. Throws a SettingsError that lists all problems. */
export function readEnvironment<Schema extends z.ZodType>(schema: Schema, environment: NodeJS.ProcessEnv): Readonly<z.output<Schema>> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  throw new SettingsError(parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`));
}
