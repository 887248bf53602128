/**
 * Reads settings from the environment once, at startup, through a zod schema. Every setting has a name, a default and a description. All
 * problems are reported together.
 */
import { readFileSync } from "node:fs";
import { type Duration, type DurationText, durationSetting, durationSettingFrom } from "@parley/core";
import { z } from "zod";

/** `30s`, `2 days` → milliseconds. A text without a unit is refused. */
export function duration(fallback: Duration, { min }: { min?: DurationText } = {}) {
  return z
    .string()
    .default(typeof fallback === "number" ? `${fallback}ms` : fallback)
    .transform(min === undefined ? durationSetting : durationSettingFrom(min));
}

/** An integer from `min` to `max`. */
export function whole(fallback: number, { min = 1, max = Number.MAX_SAFE_INTEGER }: { min?: number; max?: number } = {}) {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

/** `true`/`false`, `1`/`0`, `yes`/`no`. */
export function flag(fallback: boolean) {
  return z.stringbool().default(fallback);
}

/** A comma-separated list. Items are trimmed; empty ones are dropped. `problemOf`: why an item is not allowed. */
export function list(fallback: readonly string[] = [], problemOf: (item: string) => string | undefined = () => undefined) {
  return z
    .string()
    .optional()
    .transform((text, schema) => {
      if (text === undefined) return [...fallback];
      const items = text
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "");
      for (const problem of items.map(problemOf)) if (problem !== undefined) schema.addIssue(problem);
      return items;
    });
}

/** Lists every problem of the environment, one per line. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`invalid settings:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

/**
 * Returns the environment with the named settings trimmed, since a file with Windows line ends leaves a return after each, and read from files: `REDIS_URL_FILE=/run/secrets/redis-url` becomes REDIS_URL. Mounted secrets thus stay
 * out of every process' environment. Throws a SettingsError for a file that is empty or cannot be read, and for a setting given both ways.
 */
export function withFiles(names: readonly string[], environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const read = { ...environment };
  const problems: string[] = [];
  for (const name of names) {
    const setting = `${name}_FILE`;
    const file = environment[setting]?.trim();
    delete read[setting];
    if (environment[name] !== undefined) read[name] = environment[name].trim();
    if (!file) continue;
    if (read[name]) problems.push(`${setting}: ${name} is set as well; remove one of them`);
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
 * Parses the environment, and the files that it names (`withFiles`), into a frozen object. An empty variable counts as unset. Throws a
 * SettingsError that lists all problems.
 */
export function readEnvironment<Schema extends z.ZodObject>(schema: Schema, environment: NodeJS.ProcessEnv): Readonly<z.output<Schema>> {
  const variables = withFiles(Object.keys(schema.shape), environment);
  const given = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => {
    const name = issue.path.join(".");
    const text = given[name];
    return issue.path.length === 1 && text === undefined ? `${name} is not set` : `${name}: ${numberProblem(issue, text) ?? issue.message}`;
  });
  // Two rules may say the same of one number.
  throw new SettingsError([...new Set(problems)]);
}

/** The problem of a number in words: zod calls what is no number NaN. Undefined for any other problem, whose text may be a secret. */
function numberProblem(issue: z.core.$ZodIssue, text = ""): string | undefined {
  const given = `and is ${JSON.stringify(text.slice(0, 100))}`;
  switch (issue.code) {
    case "invalid_type":
      if (issue.expected === "int") return `must be a whole number, ${given}`;
      return issue.expected === "number" ? `must be a number, ${given}` : undefined;
    case "too_small":
      return NUMBERS.has(issue.origin) ? `must be at least ${issue.minimum}, ${given}` : undefined;
    case "too_big":
      return NUMBERS.has(issue.origin) ? `must be at most ${issue.maximum}, ${given}` : undefined;
    default:
      return undefined;
  }
}

const NUMBERS: ReadonlySet<string> = new Set(["number", "int"]);
