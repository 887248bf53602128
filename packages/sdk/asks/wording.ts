/** Words for the parts of an ask that forms cannot express. */
import type { Json, JsonObject } from "@parley/core";
import { plainJson } from "../values/plain-data.ts";
import type { CommonOptions } from "./options.ts";

/** The message with its icon, warning and preview. */
export function messageOf({ message, icon, preview, destructive, dangerous }: CommonOptions & { readonly dangerous?: boolean }): string {
  const signs = [...(destructive === true || dangerous === true ? ["⚠️"] : []), ...(icon !== undefined && isSign(icon) ? [icon] : [])];
  return `${[...signs, message].join(" ")}${preview === undefined || preview === "" ? "" : `\n\n${preview}`}`;
}

/** An emoji, as opposed to the name or address of a picture. */
function isSign(icon: string): boolean {
  return icon.length <= 16 && /^\P{ASCII}+$/u.test(icon);
}

/** Sentences about the field, in order. */
export function descriptionOf({ description, hint, submitLabel, cancelLabel }: CommonOptions, notes: readonly string[] = []): JsonObject {
  const buttons = [
    ...(submitLabel === undefined ? [] : [`Accept: “${submitLabel}”.`]),
    ...(cancelLabel === undefined ? [] : [`Decline: “${cancelLabel}”.`]),
  ];
  const parts = [description, hint, ...notes, ...buttons].filter((text): text is string => text !== undefined && text !== "");
  return parts.length === 0 ? {} : { description: parts.map(sentence).join(" ") };
}

function sentence(text: string): string {
  return /[.!?:;…。！？]$/u.test(text.trim()) ? text.trim() : `${text.trim()}.`;
}

/** Names of generator tools' asks without an id. */
const NUMBERED = /^ask_\d+(?:_\d+)*$/;

/** `party-size` becomes "Party size". */
export function titleOf(name: string, { label }: CommonOptions): JsonObject {
  if (label !== undefined) return { title: label };
  if (NUMBERED.test(name)) return { title: "Answer" };
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .split(/[-_.\s]+/)
    .filter((word) => word !== "")
    .join(" ")
    .toLowerCase();
  return { title: words.charAt(0).toUpperCase() + words.slice(1) };
}

/** Options for the asking side, which are not sent to those who show the question. */
const NOT_SHOWN = new Set([
  "ask",
  "id",
  "elicitationId",
  "message",
  "schema",
  "url",
  "returnTo",
  "timeout",
  "expires",
  "signal",
  "to",
  "not",
  "required",
  "default",
  "onDecline",
  "onCancel",
  "onInvalid",
  "onTimeout",
  "min",
  "max",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "pattern",
  "format",
  "label",
  "description",
  "multi",
  "includeTime",
  "priority",
  "due",
  "context",
  "allow",
  "remind",
  "assurance",
  "escalate",
]);

/** The display options as given; undefined if there are none. */
export function hintsOf(options: object): JsonObject | undefined {
  const shown = Object.entries(options).filter(([name, value]: [string, unknown]) => {
    // The form already contains options that are plain strings.
    const isPlain = name === "options" && Array.isArray(value) && value.every((option) => typeof option === "string");
    return !NOT_SHOWN.has(name) && value !== undefined && !isPlain;
  });
  return shown.length === 0 ? undefined : (plainJson("the options of the ask", Object.fromEntries(shown) as Json) as JsonObject);
}
