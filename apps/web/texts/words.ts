/** Which language a person reads, and how a text of it is filled in. */
import { NOTES, PHRASES } from "./en.ts";

export type Language = "en" | "de";
export type Phrases = typeof PHRASES;
export type Notes = typeof NOTES;

const LANGUAGES: Readonly<Record<Language, true>> = { en: true, de: true };
/** Of those for whom there is no language. */
const ENGLISH_LOCALE = "en-GB";
const PHRASE_CHARS_MAX = 1_000;
/** Several beside each other. */
const TEXT_CHARS_MAX = 10 * PHRASE_CHARS_MAX;

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

/** A language, and how a person writes numbers in it. */
export interface Spoken {
  readonly phrases: Phrases;
  readonly notes: Notes;
  readonly locale: string;
}

/**
 * What the form and the validator say in English, in a person's language, with numbers as they write them. What is no phrase of theirs is an author's, and
 * stays. Each part of the text is looked at a few times, however many places it begins with: authors, servers and the names in an answer decide that.
 */
export function inPhrases(spoken: Spoken, english: string): string {
  const { phrases } = spoken;
  if ((phrases === PHRASES && !WRITTEN_APART.test(english)) || english.length > TEXT_CHARS_MAX) return english;
  const found = phraseIn(english);
  if (found?.groups["phrase"] !== undefined) return translated(spoken, found);
  const either = english.split(PHRASES.or);
  if (either.length > 1) {
    const all = either.map((each) => phrase(spoken, each));
    if (all.every((each) => each !== undefined)) return all.join(phrases.or);
  }
  if (found) return translated(spoken, found);
  // Several beside each other.
  for (const between of ["; ", ", "]) {
    if (english.includes(between))
      return english
        .split(between)
        .map((each) => inPhrases(spoken, each))
        .join(between);
  }
  return english;
}

/** The description of a field: what an author wrote stays, and the sentences that the SDK appended are in the person's language. */
export function describedIn(spoken: Spoken, description: string): string {
  const { notes, locale } = spoken;
  if ((notes === NOTES && !WRITTEN_APART.test(description)) || description.length > PHRASE_CHARS_MAX) return description;
  for (const { name, pattern } of NOTE_PATTERNS) {
    const match = pattern.exec(description);
    if (!match) continue;
    const said = filled(notes[name], inNumbers(locale, match.groups ?? {}));
    return `${describedIn(spoken, description.slice(0, match.index))}${said}`;
  }
  return description;
}

/** Numbers that people write in different ways. Four digits may be a year. */
const WRITTEN_APART = /\d{5}|\d\.\d/;
/** More digits than a number has exactly are left as they are. */
const EXACT_DIGITS = 15;

/** "10,000" or "10.000", "0.5" or "0,5". */
function numberIn(locale: string, text: string): string {
  if (!WRITTEN_APART.test(text) || !/^-?\d+(?:\.\d+)?$/.test(text) || text.length > EXACT_DIGITS) return text;
  return new Intl.NumberFormat(locale, { useGrouping: "min2", maximumFractionDigits: EXACT_DIGITS }).format(Number(text));
}

function inNumbers(locale: string, groups: Match["groups"]): Match["groups"] {
  return Object.fromEntries(
    Object.entries(groups).map(([part, text]) => [part, part === "n" || part === "m" ? numberIn(locale, text) : text]),
  );
}

const TYPES = (Object.keys(PHRASES) as (keyof Phrases)[]).filter((name) => name.startsWith("type"));
const TYPE = TYPES.map((name) => PHRASES[name]).join("|");
const NUMBER = String.raw`-?[\d.e+-]+`;
const DAY = String.raw`\d{4}-[\dT:.Z+-]+`;
/** Whether what is in braces or brackets is JSON is seen in `isOurs`. */
const JSON_VALUE = String.raw`"(?:[^"\\]|\\.)*"|${NUMBER}|true|false|\{.*\}|\[.*\]`;

/** What a part in braces may be. */
const PARTS: Readonly<Record<string, string>> = {
  n: NUMBER,
  m: NUMBER,
  day: DAY,
  last: DAY,
  json: JSON_VALUE,
  word: '[^:;,"]{1,60}',
  type: TYPE,
  other: `${TYPE}|${JSON_VALUE}`,
};

const PATTERNS = (Object.keys(PHRASES) as (keyof Phrases)[]).map((name) => ({
  name,
  pattern: new RegExp(`^${sourceOf(PHRASES[name])}$`, "s"),
}));
// Example texts may contain anything but the sentence that follows them, which was taken off before.
const NOTE_PATTERNS = (Object.keys(NOTES) as (keyof Notes)[]).map((name) => ({
  name,
  pattern: new RegExp(`(?<=^|[.!?:;…。！？] )${sourceOf(NOTES[name])}$`, "s"),
}));

function sourceOf(text: string): string {
  const parts = text.split(/\{(\w+)\}/);
  return parts
    .map((part, index) => (index % 2 === 0 ? part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") : `(?<${part}>${PARTS[part] ?? ".+"})`))
    .join("");
}

interface Match {
  readonly name: keyof Phrases;
  readonly groups: Readonly<Record<string, string>>;
}

function phraseIn(english: string): Match | undefined {
  if (english.length > PHRASE_CHARS_MAX) return undefined;
  for (const { name, pattern } of PATTERNS) {
    const found = pattern.exec(english);
    if (found && isOurs(found.groups ?? {})) return { name, groups: found.groups ?? {} };
  }
  return undefined;
}

/** What an author writes in braces or brackets is seldom JSON. */
function isOurs({ json, other }: Match["groups"]): boolean {
  const value = json ?? other ?? "";
  if (!/^[{[]/.test(value)) return true;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

function translated(spoken: Spoken, { name, groups }: Match): string {
  const parts = Object.entries(inNumbers(spoken.locale, groups)).map(([part, text]) => [part, inPart(spoken, part, text)]);
  return filled(spoken.phrases[name], Object.fromEntries(parts));
}

function phrase(spoken: Spoken, english: string): string | undefined {
  const found = phraseIn(english);
  return found && translated(spoken, found);
}

function inPart(spoken: Spoken, part: string, english: string): string {
  if (part === "phrase") return inPhrases(spoken, english);
  const { phrases } = spoken;
  const type = part === "type" || part === "other" ? TYPES.find((name) => PHRASES[name] === english) : undefined;
  return type === undefined ? english : phrases[type];
}
