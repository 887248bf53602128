/**
 * What the log shows of an error: its name, code, message and stack frames, and the same of its causes and of the
 * errors in an AggregateError or a SuppressedError.
 *
 * Only these members are read. Libraries attach whole requests to their errors (`config`, `response`, `command`,
 * `input`), with arguments and answers that must never be logged. The message of an author's error is logged, because
 * no one could fix the error without it. Messages that went to callers are left out: they may quote what the caller
 * sent.
 *
 * Bounded, and never throws: anything can be thrown, even an object whose getters throw.
 */
import { cut } from "../values/cut.ts";
import { kindOf } from "../errors.ts";

export interface DescribedError {
  /** The error's name, or the type of a value that is not an object. */
  readonly error: string;
  readonly code?: string | number;
  /** The key of a step that failed, and the id under which the step's own error was logged. */
  readonly step?: string;
  readonly defectId?: string;
  readonly detail?: string;
  readonly stack?: readonly string[];
  readonly cause?: DescribedError;
  /** Of an AggregateError, or of a SuppressedError: the error of the disposal, then the one that it suppressed. */
  readonly errors?: readonly DescribedError[];
}

const DEPTH_MAX = 8;
const GATHERED_MAX = 8;
const FRAMES_MAX = 32;
const FRAME_CHARS_MAX = 500;
const NAME_CHARS_MAX = 100;
/** Maximum characters of an error's message, in the log and in the journal. */
export const ERROR_TEXT_MAX = 8_192;

export function describeError(error: unknown): DescribedError {
  return described(error, []);
}

/** Where an error came from, for places where its message may contain someone's answer. */
export function describeOrigin(error: unknown): Pick<DescribedError, "error" | "stack"> {
  if (typeof error !== "object" || error === null) return { error: typeof error };
  const stack = framesOf(error);
  return { error: errorName(error), ...(stack.length > 0 && { stack }) };
}

function described(error: unknown, within: readonly object[]): DescribedError {
  if (typeof error !== "object" || error === null) return { error: typeof error, detail: errorText(error) };
  const { code, step, defectId, cause } = membersOf(error, ["code", "step", "defectId", "cause"]);
  const errors = errorsIn(error);
  const { error: name, stack } = describeOrigin(error);
  const inside = [...within, error];
  const isShown = (inner: unknown) => inside.length < DEPTH_MAX && !inside.includes(inner as object);
  return {
    error: name,
    ...((typeof code === "string" || typeof code === "number") && { code: typeof code === "string" ? cut(code, NAME_CHARS_MAX) : code }),
    ...(kindOf(error) === "step" && typeof step === "string" && { step }),
    ...(kindOf(error) === "step" && typeof defectId === "string" && { defectId }),
    ...(!wasTold(error) && { detail: errorText(error) }),
    ...(stack && { stack }),
    ...(cause !== undefined && isShown(cause) && { cause: described(cause, inside) }),
    ...(errors && {
      errors: errors
        .slice(0, GATHERED_MAX)
        .filter(isShown)
        .map((each) => described(each, inside)),
    }),
  };
}

function errorsIn(error: object): readonly unknown[] | undefined {
  const { name, errors, error: disposal, suppressed } = membersOf(error, ["name", "errors", "error", "suppressed"]);
  if (Array.isArray(errors)) return errors;
  // Its own message says only that there was an error. `using` throws it.
  return name === "SuppressedError" ? [disposal, suppressed] : undefined;
}

/** Codes whose messages describe what a person or a caller sent. */
const QUOTING: readonly unknown[] = ["INVALID_ARGUMENTS", "INVALID_ANSWER"];

function wasTold(error: object): boolean {
  const kind = kindOf(error);
  return kind === "tool" || kind === "rpc" || (kind === "parley" && QUOTING.includes(membersOf(error, ["code"]).code));
}

/** The error's message, or what is known of a value that is not an error. */
export function errorText(error: unknown): string {
  if (typeof error === "object" && error !== null) {
    const { message } = membersOf(error, ["message"]);
    if (typeof message === "string") return cut(message, ERROR_TEXT_MAX);
  }
  try {
    return cut(withoutForm(error) ?? String(error), ERROR_TEXT_MAX);
  } catch {
    return "(the thrown value has no string form: throw an Error)";
  }
}

/** Describes values whose string form says nothing. Of an object, its values are left out: no one has written them as a message. */
function withoutForm(thrown: unknown): string | undefined {
  if (thrown === undefined || thrown === null) return `${thrown} was thrown, which says nothing: throw an Error`;
  if (typeof thrown !== "object" || Object.getPrototypeOf(thrown) !== Object.prototype) return undefined;
  return `an object was thrown, with ${Object.keys(thrown).join(", ") || "no keys"}: throw an Error`;
}

export function errorName(error: unknown): string {
  if (typeof error !== "object" || error === null) return "Error";
  const { name } = membersOf(error, ["name"]);
  return typeof name === "string" && name !== "" ? cut(name, NAME_CHARS_MAX) : "object";
}

function framesOf(error: object): string[] {
  const { stack } = membersOf(error, ["stack"]);
  if (typeof stack !== "string") return [];
  return stack
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .slice(0, FRAMES_MAX)
    .map((line) => cut(line.trim(), FRAME_CHARS_MAX));
}

/** Members whose getters throw are left out. */
function membersOf<Name extends string>(of: object, names: readonly Name[]): { readonly [N in Name]?: unknown } {
  return Object.fromEntries(
    names.map((name) => {
      try {
        return [name, (of as { readonly [member: string]: unknown })[name]];
      } catch {
        return [name, undefined];
      }
    }),
  ) as { readonly [N in Name]?: unknown };
}
