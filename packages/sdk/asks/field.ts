/** One thing to ask for, as a form field plus what the form cannot express. */
import type { JsonObject, Violation } from "@parley/core";
import type { DateOptions, NumberOptions, TextOptions, ConfirmOptions } from "./options.ts";
import { descriptionOf, titleOf } from "./wording.ts";

export interface Field {
  readonly property: JsonObject;
  /** The problem with a value that matches the field's schema; undefined if it is valid. */
  judge(value: unknown): string | undefined;
}

/** A problem with the options themselves, by the path of the option. */
export class WrongOption extends Error {
  readonly violation: Violation;
  constructor(option: string, message: string) {
    super(message);
    this.violation = { path: `/${option}`, message };
  }
}

export function textField(name: string, options: TextOptions): Field {
  const { placeholder, pattern, minLength, maxLength, format } = options;
  count("minLength", minLength);
  count("maxLength", maxLength);
  inOrder("minLength", minLength, "maxLength", maxLength);
  if (pattern !== undefined && typeof pattern !== "string") throw new WrongOption("pattern", "must be the source of a regular expression");
  if (format !== undefined && format !== "email" && format !== "uri") throw new WrongOption("format", 'must be "email" or "uri"');
  // A form has only one of the two, and the author's own schema would have to check the other.
  if (pattern !== undefined && format !== undefined) throw new WrongOption("pattern", "cannot be combined with format");
  const notes = placeholder === undefined || placeholder === "" ? [] : [`Example: ${placeholder}`];
  return {
    property: {
      type: "string",
      ...titleOf(name, options),
      ...descriptionOf(options, notes),
      ...(minLength !== undefined && { minLength }),
      ...(maxLength !== undefined && { maxLength }),
      ...(pattern !== undefined && { pattern }),
      ...(format !== undefined && { format }),
    },
    judge: () => undefined,
  };
}

export function numberField(name: string, options: NumberOptions): Field {
  const { min, max, step } = options;
  for (const [option, value] of [
    ["min", min],
    ["max", max],
    ["step", step],
  ] as const) {
    if (value !== undefined && !Number.isFinite(value)) throw new WrongOption(option, "must be a finite number");
  }
  inOrder("min", min, "max", max);
  if (step !== undefined && step <= 0) throw new WrongOption("step", "must be more than 0");
  const isWhole = Number.isInteger(step) && Number.isInteger(min ?? 0);
  const stepped =
    step === undefined || (isWhole && step === 1) ? undefined : `In steps of ${step}${min === undefined ? "" : ` from ${min}`}`;
  return {
    property: {
      type: isWhole ? "integer" : "number",
      ...titleOf(name, options),
      ...descriptionOf(options, stepped === undefined ? [] : [stepped]),
      ...(min !== undefined && { minimum: min }),
      ...(max !== undefined && { maximum: max }),
    },
    judge(value) {
      if (step === undefined || typeof value !== "number") return undefined;
      const steps = (value - (min ?? 0)) / step;
      // Decimal steps are not exact in binary: 0.3 is three steps of 0.1. Large numbers may be off by as much as they are rounded, and no
      // more: 1e-9 of a billion steps would be a whole step.
      const rounding = (4 * Number.EPSILON * (Math.abs(value) + Math.abs(min ?? 0))) / step;
      const isStep = Math.abs(steps - Math.round(steps)) <= Math.max(1e-9, rounding);
      return isStep ? undefined : `must be in steps of ${step}${min === undefined ? "" : ` from ${min}`}`;
    },
  };
}

export function confirmField(name: string, options: ConfirmOptions): Field {
  return { property: { type: "boolean", ...titleOf(name, options), ...descriptionOf(options) }, judge: () => undefined };
}

export function dateField(name: string, options: DateOptions): Field {
  const { includeTime = false, min, max } = options;
  const least = moment("min", min);
  const most = moment("max", max);
  if (least !== undefined && most !== undefined && least > most) throw new WrongOption("min", `is after max, which is ${max}`);
  const range = rangeOf(min, max);
  return {
    property: {
      type: "string",
      format: includeTime ? "date-time" : "date",
      ...titleOf(name, options),
      ...descriptionOf(options, range === undefined ? [] : [`${range.charAt(0).toUpperCase()}${range.slice(1)}`]),
    },
    judge(value) {
      const text = String(value);
      // Validators know times that JavaScript does not, such as 23:59:60Z and +01 without minutes: the tool could not compute with them.
      if (Number.isNaN(Date.parse(text))) return `must be ${includeTime ? MOMENT : DAY}`;
      const isIn = (min === undefined || compare(text, min) >= 0) && (max === undefined || compare(text, max) <= 0);
      return isIn ? undefined : `must be ${range}`;
    },
  };
}

/** More than 0 if `text` is later than `bound`. A day as the bound includes all its moments, wherever they are: the last day ends at its midnight. */
function compare(text: string, bound: string): number {
  return Date.parse(bound.length > DAY_CHARS ? text : text.slice(0, DAY_CHARS)) - Date.parse(bound);
}

function rangeOf(min: string | undefined, max: string | undefined): string | undefined {
  if (min !== undefined && max !== undefined) return `from ${min} to ${max}`;
  if (min !== undefined) return `${min} or later`;
  return max === undefined ? undefined : `${max} or earlier`;
}

const DAY = 'a day such as "2026-12-24"';
const MOMENT = 'a moment such as "2026-12-24T19:30:00Z"';
const DAY_CHARS = "2026-12-24".length;
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

function moment(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = typeof text === "string" && ISO.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse accepts the 31st of every month.
  const day = typeof text === "string" ? text.slice(0, DAY_CHARS) : "";
  if (Number.isNaN(at) || new Date(`${day}T00:00:00Z`).toISOString().slice(0, DAY_CHARS) !== day)
    throw new WrongOption(option, `must be ${DAY}, or ${MOMENT}`);
  return at;
}

function count(option: string, value: number | undefined): void {
  if (value !== undefined && (!Number.isInteger(value) || value < 0)) throw new WrongOption(option, "must be a whole number from 0");
}

function inOrder(least: string, min: number | undefined, most: string, max: number | undefined): void {
  if (min !== undefined && max !== undefined && min > max) throw new WrongOption(least, `is ${min} and more than ${most}, which is ${max}`);
}
