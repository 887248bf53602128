/** The languages of the pages that front ends write, and who reads a page: their language, locale and time zone. */
import { describedIn, inPhrases, type Language, languageOf, localeIn, type Spoken } from "@parley/web/texts";
import { parseCookie } from "cookie";
import type { FastifyRequest } from "fastify";
import { DE } from "./de.ts";
import { EN, type Texts } from "./en.ts";

export { filled } from "@parley/web/texts";

const LANGUAGES: Readonly<Record<Language, Texts>> = { en: EN, de: DE };

export interface Reader {
  readonly texts: Texts;
  /** For dates and numbers: the person's own, such as `de-AT`. */
  readonly locale: string;
  /** The person's time zone, from the cookie `parley-zone`. Undefined without it: times are then in UTC, and say so. */
  readonly zone: string | undefined;
  /** From the page to the root of this server, such as `../../`. Relative, so that a proxy may serve this server below a path. */
  readonly root: string;
}

/** Names an IANA time zone (docs/inbox.md). */
export const ZONE_COOKIE = "parley-zone";
/** Longest list of languages that is read. Browsers send a few dozen characters. */
const LANGUAGES_CHARS_MAX = 200;

export const ENGLISH: Reader = { texts: EN, locale: localeIn([]), zone: undefined, root: "" };

/** Parts of a request, so that tests need not build one. */
export function readerOf({ headers, url = "/" }: Pick<FastifyRequest, "headers"> & { readonly url?: string }): Reader {
  const locale = localeIn(languagesIn(headers["accept-language"]));
  const zone = headers.cookie === undefined ? undefined : zoneOf(parseCookie(headers.cookie)[ZONE_COOKIE]);
  const [path = "/"] = url.split("?", 1);
  const root = "../".repeat(Math.max(0, path.split("/").length - 2));
  return { texts: LANGUAGES[languageOf(locale)], locale, zone, root };
}

/** As `Accept-Language` ranks them. What is no language tag is left out. */
function languagesIn(header: string | undefined): readonly string[] {
  if (header === undefined || header.length > LANGUAGES_CHARS_MAX) return [];
  const ranked = header.split(",").map((each) => {
    const [tag = "", ...parameters] = each.trim().split(";");
    const quality = Number(
      parameters
        .find((parameter) => parameter.trim().startsWith("q="))
        ?.trim()
        .slice(2) ?? 1,
    );
    return { tag, quality: Number.isNaN(quality) ? 0 : quality };
  });
  return ranked
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .flatMap(({ tag }) => canonical(tag));
}

function canonical(tag: string): readonly string[] {
  try {
    return Intl.getCanonicalLocales(tag);
  } catch {
    return [];
  }
}

/** The zone of that name. Undefined if there is none. */
export function zoneOf(given: string | undefined): string | undefined {
  if (given === undefined || given.length > 64) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: given }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** The moment as the person writes it. The zone is named if it is not known to be theirs. */
export function momentText({ locale, zone }: Reader, ms: number): string {
  const style = { day: "numeric", month: "short", year: "numeric", hour: "numeric", minute: "2-digit" } as const;
  return new Intl.DateTimeFormat(
    locale,
    zone === undefined ? { ...style, timeZone: "UTC", timeZoneName: "short" } : { ...style, timeZone: zone },
  ).format(ms);
}

/** The time alone, of a moment of the person's today. Undefined for another day's. */
export function todayText({ locale, zone }: Reader, ms: number, nowMs: number): string | undefined {
  const timeZone = zone ?? "UTC";
  const day = new Intl.DateTimeFormat("en", { timeZone, dateStyle: "short" });
  if (day.format(ms) !== day.format(nowMs)) return undefined;
  const style = { hour: "numeric", minute: "2-digit", timeZone } as const;
  return new Intl.DateTimeFormat(locale, zone === undefined ? { ...style, timeZoneName: "short" } : style).format(ms);
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** "in 2 hours", "3 days ago". In the largest unit of which there are two, because "in 1 day" could be two. */
export function distanceText({ locale }: Reader, ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => Math.abs(ms) >= 2 * each) ?? ["minute", 60_000];
  return new Intl.RelativeTimeFormat(locale, { numeric: "always" }).format(Math.trunc(ms / size), unit);
}

/** "2 hours", "90 seconds". In the largest unit of which there are two, like a distance. */
export function durationText({ locale }: Reader, ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= 2 * each) ?? (["second", 1_000] as const);
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long" }).format(Math.trunc(ms / size));
}

/** "15 minutes", "150 minutes": in the largest unit of which it is a whole number, for what must not be rounded. */
export function exactDurationText({ locale }: Reader, ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms % each === 0) ?? (["second", 1_000] as const);
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "long" }).format(ms / size);
}

/** What the form and the validator say in English, in the reader's language. */
export function inWords(reader: Pick<Reader, "texts" | "locale">, english: string): string {
  return inPhrases(spokenBy(reader), english);
}

/** What is written below a field about it, in the reader's language as far as it is not an author's. */
export function inNotes(reader: Pick<Reader, "texts" | "locale">, description: string | undefined): string | undefined {
  return description === undefined ? undefined : describedIn(spokenBy(reader), description);
}

function spokenBy({ texts: { phrases, notes }, locale }: Pick<Reader, "texts" | "locale">): Spoken {
  return { phrases, notes, locale };
}
