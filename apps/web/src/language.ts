/** In which language the page speaks: the first of the person's in which there are texts, as on the pages that front ends write. */
import type { ComponentChildren } from "preact";
import * as de from "../texts/de.ts";
import * as en from "../texts/en.ts";
import { describedIn, inPhrases, type Language, languageOf, localeIn, type Spoken } from "../texts/words.ts";

let locale = localeIn(navigator.languages);

export function languageNow(): Language {
  return languageOf(locale);
}

/** How the person writes numbers. */
export function localeNow(): string {
  return locale;
}

/** The language tags that the person prefers, the most wanted first. */
export function speak(tags: readonly string[]): void {
  locale = localeIn(tags);
}

/** What the form, the validator or a server says about a field, in the person's language. */
export function said(english: string): string {
  return inPhrases(spoken(), english);
}

/** What is written below a field about it. */
export function described(english: string | undefined): string | undefined {
  return english === undefined ? undefined : describedIn(spoken(), english);
}

function spoken(): Spoken {
  const { PHRASES: phrases, NOTES: notes } = { en, de }[languageNow()];
  return { phrases, notes, locale };
}

export function fieldTexts(): typeof en.FIELDS {
  return { en: en.FIELDS, de: de.FIELDS }[languageNow()];
}

export function count(number: number): string {
  return number.toLocaleString(locale);
}

/** A moment in the person's own time zone. */
export function moment(iso: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

/** "2 hours". In the largest unit of which there are two. */
export function duration(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= 2 * each) ?? (["second", 1_000] as const);
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long" }).format(Math.max(0, Math.round(ms / size)));
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** A text with elements in it: `{name}`. */
export function sentence(text: string, parts: Readonly<Record<string, ComponentChildren>>): ComponentChildren {
  return text.split(/\{(\w+)\}/).map((each, index) => (index % 2 === 0 ? each : parts[each]));
}
