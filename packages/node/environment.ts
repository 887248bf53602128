/**
 * Settings come from the environment once, at start, through a schema: every setting has a name, a default and a sentence about itself.
 * All problems are reported at once.
 */
import { readFileSync } from "node:fs";
import { type Duration, durationSetting } from "@parley/core";
import { z } from "zod";

/** `30s`, `2 days`, `250` (milliseconds) → milliseconds. */
export function duration(fallback: Duration) {
  return z.string().default(String(fallback)).transform(durationSetting);
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

/**
 * The environment with the settings that files hold: `REDIS_URL_FILE=/run/secrets/redis-url` is REDIS_URL. Secrets that are mounted so are in
 * nobody's environment. Throws a SettingsError for a file that cannot be read, and for a setting that is given both ways.
 */
export function withFiles(names: readonly string[], environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const read = { ...environment };
  const problems: string[] = [];
  for (const name of names) {
    const setting = `${name}_FILE`;
    const file = environment[setting];
    delete read[setting];
    if (!file) continue;
    if (environment[name]) problems.push(`${setting}: ${name} is set too; remove one of them`);
    try {
      read[name] = readFileSync(file, "utf8").trim();
      if (read[name] === "") problems.push(`${setting}: ${file} is empty`);
    } catch (error) {
      problems.push(`${setting}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return read;
}

/**
 * Parses the environment, and the files that it names (withFiles), into a frozen object. An empty variable counts as unset. Throws a
 * SettingsError that lists all problems.
 */
export function readEnvironment<Schema extends z.ZodObject>(schema: Schema, environment: NodeJS.ProcessEnv): Readonly<z.output<Schema>> {
  const whole = withFiles(Object.keys(schema.shape), environment);
  const given = Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== ""));
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  throw new SettingsError(parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`));
}
