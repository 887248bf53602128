import { ParleyError } from "./errors.ts";

/** What may be logged of an error: its kind and where it came from. Its message can hold what a person answered. */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = error instanceof ParleyError ? { code: error.code } : {};
  const frames = error.stack
    ?.split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());
  return { error: error.name, ...code, stack: frames };
}
