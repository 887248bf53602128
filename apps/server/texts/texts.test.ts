import { createValidator } from "@parley/node";
import { contentOf, inputsOf } from "@parley/web/form";
import { expect, test } from "vitest";
import { SENTENCES } from "../../../packages/core/values/violation-texts.fixture.ts";
import { cpuMs } from "../../../test/support/cpu-ms.ts";
import { DE } from "./de.ts";
import { EN } from "./en.ts";
import {
  distanceText,
  durationText,
  exactDurationText,
  ENGLISH,
  filled,
  inNotes,
  inWords,
  momentText,
  readerOf,
  todayText,
} from "./texts.ts";

test.each([
  [undefined, "en", "en-GB"],
  ["de-AT,de;q=0.9,en;q=0.8", "de", "de-AT"],
  ["fr-FR,fr;q=0.9,de;q=0.5,en;q=0.4", "de", "de"],
  ["en-US;q=0.2,de;q=0", "en", "en-US"],
  ["*", "en", "en-GB"],
  [`${"x".repeat(300)},de`, "en", "en-GB"],
  ["de;q=much", "en", "en-GB"],
])("the language for %j is %s", (header, language, locale) => {
  const reader = readerOf({ headers: header === undefined ? {} : { "accept-language": header } });
  expect([reader.texts.language, reader.locale]).toEqual([language, locale]);
});

test("a time is written in the person's own zone if it is known, and names the zone otherwise", () => {
  const at = Date.UTC(2026, 10, 28, 18, 5);
  expect(momentText(ENGLISH, at)).toBe("28 Nov 2026, 18:05 UTC");
  const reader = readerOf({ headers: { "accept-language": "de-DE", cookie: "parley-zone=Europe%2FBerlin" } });
  expect(momentText(reader, at)).toBe("28. Nov. 2026, 19:05");
  for (const zone of ["Nowhere", "x".repeat(100), "%3Cscript%3E"])
    expect(readerOf({ headers: { cookie: `parley-zone=${zone}` } }).zone).toBeUndefined();
});

test("the time alone is of today as the person's clock has it", () => {
  const at = Date.UTC(2026, 10, 28, 22, 30);
  const later = Date.UTC(2026, 10, 28, 23, 30);
  expect(todayText(ENGLISH, at, later)).toBe("22:30 UTC");
  const readIn = (language: string, zone: string) =>
    readerOf({ headers: { "accept-language": language, cookie: `parley-zone=${encodeURIComponent(zone)}` } });
  // There, midnight lies between the two.
  expect(todayText(readIn("de-DE", "Europe/Berlin"), at, later)).toBeUndefined();
  expect(todayText(readIn("de-DE", "Europe/Berlin"), later, later)).toBe("0:30");
  expect(todayText(readIn("en-US", "America/New_York"), at, later)).toMatch(/^5:30\sPM$/);
  expect(todayText(ENGLISH, at - 86_400_000, at)).toBeUndefined();
});

test("a distance is in the largest unit of which there are two", () => {
  expect([2 * 86_400_000, 2 * 86_400_000 - 1, 5_400_000, -120_000, 20_000].map((ms) => distanceText(ENGLISH, ms))).toEqual([
    "in 2 days",
    "in 47 hours",
    "in 90 minutes",
    "2 minutes ago",
    "in 0 minutes",
  ]);
});

test("a duration is in the largest unit of which there are two, in the reader's language", () => {
  expect([0, 1_500, 119_999, 120_000, 2 * 86_400_000].map((ms) => durationText(ENGLISH, ms))).toEqual([
    "0 seconds",
    "1 second",
    "119 seconds",
    "2 minutes",
    "2 days",
  ]);
  expect(durationText(readerOf({ headers: { "accept-language": "de" } }), 7_200_000)).toBe("2 Stunden");
});

test("a duration that must not be rounded is in the largest unit of which it is a whole number", () => {
  expect([60_000, 90_000, 9_000_000, 86_400_000].map((ms) => exactDurationText(ENGLISH, ms))).toEqual([
    "1 minute",
    "90 seconds",
    "150 minutes",
    "1 day",
  ]);
  expect(exactDurationText(readerOf({ headers: { "accept-language": "de" } }), 9_000_000)).toBe("150 Minuten");
});

test("what is filled in is filled in as it is", () => {
  expect(filled("{a} and {b} and {c}", { a: "$&", b: "{a}" })).toBe("$& and {a} and {c}");
});

const GERMAN = readerOf({ headers: { "accept-language": "de" } });

test.each(Object.keys(EN.phrases) as (keyof typeof EN.phrases)[])("the phrase %s is translated with its parts", (name) => {
  const given = { n: 2, m: 1e-7, text: "A-1, and B; C", day: "2026-12-24", last: "2026-12-31T10:00:00Z", json: '"a"', word: "size" };
  const english = { ...given, type: EN.phrases.typeText, other: EN.phrases.typeTruth, phrase: EN.phrases.required };
  const german = { ...given, type: DE.phrases.typeText, other: DE.phrases.typeTruth, phrase: DE.phrases.required };
  expect(inWords(GERMAN, filled(EN.phrases[name], english))).toBe(filled(DE.phrases[name], german));
});

test("phrases beside each other are translated one by one, and an author's words stay", () => {
  expect(inWords(GERMAN, "a whole number, 1 to 20")).toBe("eine ganze Zahl, 1 bis 20");
  expect(inWords(GERMAN, "must be at least 3; must be somebody")).toBe("muss mindestens 3 sein; must be somebody");
  expect(inWords(GERMAN, 'must be {"a":1}; must be [2]')).toBe('muss {"a":1} sein; muss [2] sein');
  for (const words of ["must be somebody", "must be {later}", "must be [A] or [B]", "", "x".repeat(5_000)])
    expect(inWords(GERMAN, words)).toBe(words);
  expect(inWords(ENGLISH, "must be at least 3")).toBe("must be at least 3");
});

test.each([
  ["en", "a whole number, 1 to 10000", "a whole number, 1 to 10,000"],
  ["en-GB", "must be between -20000.5 and 1e+21", "must be between -20,000.5 and 1e+21"],
  // It may be a year.
  ["en", "1900 to 2100", "1900 to 2100"],
  ["en", "at most 1234567890123456789", "at most 1234567890123456789"],
  ["en", "must be [10000]; the 10000 of us", "must be [10000]; the 10000 of us"],
  ["en", "size: entry 10000: must be at most 12345", "size: entry 10,000: must be at most 12,345"],
  ["de", "a whole number, 1 to 10000", "eine ganze Zahl, 1 bis 10.000"],
  ["de", "in steps of 0.5, such as 10000", "in Schritten von 0,5, zum Beispiel 10000"],
  ["de-CH", "at most 0.5", "höchstens 0.5"],
])("limits are numbers as a person of %s writes them: %s", (locale, english, shown) => {
  expect(inWords(readerOf({ headers: { "accept-language": locale } }), english)).toBe(shown);
});

test.each([
  "a: ",
  "entry 1: ",
  "a: b, or ",
  "a: b; c, or ",
  "; a: ",
  "Example: a. ",
  'must be "',
  "must be {",
  "must be [a]; ",
  "must be one of a, or ",
])("the time that a translation takes does not explode, whatever is repeated: %s", async (part) => {
  const ms = await cpuMs(() => {
    for (const text of [part.repeat(1_000 / part.length), part.repeat(9_000 / part.length)]) {
      inWords(GERMAN, text);
      inNotes(GERMAN, text);
    }
  });
  expect(ms).toBeLessThan(500);
});

test("where it is wrong is translated before what is wrong, however deep that is", () => {
  expect(inWords(GERMAN, "a: entry 2: must be a text, or is required; b: must be a list, and so on")).toBe(
    "a: Eintrag 2: muss ein Text sein, oder bitte angeben; b: muss eine Liste sein, and so on",
  );
});

test.each(SENTENCES.map(([, , text]) => text))("what the validator says is translated: %s", (english) => {
  const german = inWords(GERMAN, english);
  expect(german).not.toBe(english);
  expect(german.replaceAll(/"[^"]*"/g, "")).not.toMatch(/\b(must|is|a|an|or|of|such|and)\b/);
});

test.each([
  ["In steps of 25000.", "In Schritten von 25.000."],
  ["In steps of 0.5.", "In Schritten von 0,5."],
  ["How much? In steps of 0.1 from -1.", "How much? In Schritten von 0,1 ab -1."],
  ["Your name. Example: Dr. A. Example: B..", "Your name. Beispiel: Dr. A. Example: B.."],
  ["When. From 2026-12-01 to 2026-12-24.", "When. Von 2026-12-01 bis 2026-12-24."],
  ["2026-12-01 or later.", "Ab 2026-12-01."],
  ["Before 2026-12-01 or later.", "Before 2026-12-01 or later."],
  ["in steps of 2.", "in steps of 2."],
  ["", ""],
])("of a description, what the SDK appended is translated: %s", (english, german) => {
  expect(inNotes(GERMAN, english)).toBe(german);
  expect(inNotes(ENGLISH, english)).toBe(english.replace("25000", "25,000"));
});

test("what the form says about dates, times and objects of any name is translated", () => {
  const inputs = [
    ...inputsOf({ type: "object", properties: { at: { type: "string", format: "date-time" } } }),
    ...inputsOf({ type: "object", additionalProperties: { type: "string" } }),
  ];
  const { problems } = contentOf(inputs, { at: "never", "": "[]" });
  const said = [...inputs.map(({ hint }) => hint), ...inputs.map(({ label, isRest }) => (isRest ? label : "")), ...Object.values(problems)];
  const words = said.filter((each) => each !== "");
  expect(words.length).toBeGreaterThan(3);
  for (const english of words) expect(inWords(GERMAN, english)).not.toBe(english);
  for (const name of ["skipped", "repeated", "incomplete"] as const) expect(inWords(GERMAN, EN.phrases[name])).toBe(DE.phrases[name]);
});

test("what the form and the validator say about ordinary fields is translated", () => {
  const schema = {
    type: "object",
    properties: {
      a: { type: "string", minLength: 2, maxLength: 5 },
      b: { type: "integer", minimum: 1, maximum: 20 },
      c: { type: "string", format: "email" },
      d: { type: "string", pattern: "^A", examples: ["A-1"] },
      e: { type: "array", items: { enum: ["x", "y", "z"] }, maxItems: 2 },
      f: { type: "number", multipleOf: 0.5 },
      g: { type: "string", format: "date" },
    },
    required: ["a", "h"],
  };
  const content = { a: "x", b: 40, c: "x", d: "B", e: ["x", "y", "z"], f: 0.3, g: "2026-02-30" };
  const violations = createValidator()(schema, content).map(({ message }) => message);
  const hints = inputsOf(schema).flatMap(({ hint }) => (hint === "" ? [] : [hint]));
  expect(violations.length).toBe(8);
  expect(hints.length).toBeGreaterThan(4);
  for (const english of [...violations, ...hints]) expect(inWords(GERMAN, english)).not.toBe(english);
});
