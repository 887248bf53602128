import { cut, type ErrorCode, ParleyError } from "@parley/core";

/** Maximum length of a value from a token that an error repeats. */
const SHOWN_CHARS = 200;

/** A ParleyError that refuses credentials. */
export function refuse(code: ErrorCode, problem: string, cause?: unknown): ParleyError {
  return new ParleyError(code, problem, cause === undefined ? {} : { cause });
}

/** A claim or header of a token, of any type, for an error message. Never pass the token itself. */
export function shown(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "string") return JSON.stringify(cut(value, SHOWN_CHARS));
  return cut(JSON.stringify(value) ?? typeof value, SHOWN_CHARS);
}

/** A time span for people: `200 ms`, `3 s`, `2 min`, `5 h`, `3 days`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}
