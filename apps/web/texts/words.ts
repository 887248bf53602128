/** Which language a person reads, and how a text of it is filled in. */
import { PHRASES } from "./en.ts";

export type Language = "en" | "de";
export type Phrases = typeof PHRASES;

const LANGUAGES: Readonly<Record<Language, true>> = { en: true, de: true };
/** Of those for whom there is no language. */
const ENGLISH_LOCALE = "en-GB";
const PHRASE_CHARS_MAX = 1_000;

/** The first of these language tags, the most wanted first, in which there are texts. */
export function localeIn(tags: readonly string[]): string {
  return tags.find((tag) => Object.hasOwn(LANGUAGES, primary(tag))) ?? ENGLISH_LOCALE;
}

export function languageOf(locale: string): Language {
  const language = primary(locale);
  return Object.hasOwn(LANGUAGES, language) ? (language as Language) : "en";
}

function primary(tag: string): string {
  return tag.split("-")[0]?.toLowerCase() ?? "";
}

/** Fills in a text. */
export function filled(text: string, parts: Readonly<Record<string, string | number>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => (Object.hasOwn(parts, name) ? String(parts[name]) : whole));
}

/** What the form and the validator say in English, in the language of these phrases. What is no phrase of theirs is an author's, and stays. */
export function inPhrases(phrases: Phrases, english: string): string {
  if (phrases === PHRASES) return english;
  const found = phrase(phrases, english);
  if (found !== undefined) return found;
  // Several beside each other.
  for (const between of ["; ", ", "]) {
    if (english.includes(between))
      return english
        .split(between)
        .map((each) => phrase(phrases, each) ?? each)
        .join(between);
  }
  return english;
}

const PATTERNS = (Object.keys(PHRASES) as (keyof Phrases)[]).map((name) => ({ name, pattern: patternOf(PHRASES[name]) }));

function patternOf(text: string): RegExp {
  const parts = text.split(/\{(\w+)\}/);
  const source = parts.map((part, index) =>
    index % 2 === 0 ? part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") : part === "text" ? `(?<${part}>.+)` : `(?<${part}>-?[\\d.e+]+)`,
  );
  return new RegExp(`^${source.join("")}$`, "s");
}

function phrase(phrases: Phrases, english: string): string | undefined {
  if (english.length > PHRASE_CHARS_MAX) return undefined;
  for (const { name, pattern } of PATTERNS) {
    const match = pattern.exec(english);
    if (match) return filled(phrases[name], match.groups ?? {});
  }
  return undefined;
}
