/** Changes to a text that only the server can make: an id, a signature, a sealed state. */
import fc from "fast-check";
import { oddNames } from "./json.ts";

export type Alteration =
  | { readonly how: "none" }
  /** Another character of the same alphabet at a place between its beginning (0) and its end (1). */
  | { readonly how: "character"; readonly place: number; readonly by: number }
  | { readonly how: "cut"; readonly place: number }
  | { readonly how: "without"; readonly place: number }
  | { readonly how: "before" | "behind"; readonly text: string }
  | {
      readonly how:
        | "twice"
        | "upper case"
        | "lower case"
        | "reversed"
        | "encoded"
        | "parts swapped"
        | "parts emptied"
        | "last part dropped";
    }
  | { readonly how: "another"; readonly text: string };

export const alterations = (): fc.Arbitrary<Alteration> => {
  const place = fc.double({ min: 0, max: 0.9999, noNaN: true });
  // What a header can carry: the same texts go there.
  const texts = fc.oneof(
    fc.constantFrom("x", ".", ":", "-", "0", "=", ":0", ".x", "%00", "*", "?", "/", "__proto__"),
    oddNames().filter((name) => /^[\x21-\x7e]+$/.test(name)),
  );
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant({ how: "none" as const }) },
    { weight: 4, arbitrary: fc.record({ how: fc.constant("character" as const), place, by: fc.integer({ min: 1, max: 61 }) }) },
    { weight: 1, arbitrary: fc.record({ how: fc.constant("cut" as const), place }) },
    { weight: 1, arbitrary: fc.record({ how: fc.constant("without" as const), place }) },
    { weight: 2, arbitrary: fc.record({ how: fc.constantFrom("before" as const, "behind" as const), text: texts }) },
    {
      weight: 2,
      arbitrary: fc.record({
        how: fc.constantFrom(
          "twice" as const,
          "upper case",
          "lower case",
          "reversed",
          "encoded",
          "parts swapped",
          "parts emptied",
          "last part dropped",
        ),
      }) as fc.Arbitrary<Alteration>,
    },
    {
      weight: 1,
      arbitrary: fc.record({
        how: fc.constant("another" as const),
        text: fc.oneof(texts, fc.constantFrom("x".repeat(8_193), "a.".repeat(4_000))),
      }),
    },
  );
};

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

export function altered(text: string, alteration: Alteration): string {
  const index = "place" in alteration ? Math.floor(alteration.place * text.length) : 0;
  const separator = text.includes(".") ? "." : ":";
  const parts = text.split(separator);
  switch (alteration.how) {
    case "none":
      return text;
    case "character": {
      const was = ALPHABET.indexOf(text[index] ?? "");
      const becomes = ALPHABET[(was + alteration.by) % ALPHABET.length] ?? "A";
      return text.slice(0, index) + becomes + text.slice(index + 1);
    }
    case "cut":
      return text.slice(0, index);
    case "without":
      return text.slice(0, index) + text.slice(index + 1);
    case "before":
      return alteration.text + text;
    case "behind":
      return text + alteration.text;
    case "twice":
      return text + text;
    case "upper case":
      return text.toUpperCase();
    case "lower case":
      return text.toLowerCase();
    case "reversed":
      return text.split("").toReversed().join("");
    case "encoded":
      return Buffer.from(text).toString("base64url");
    case "parts swapped":
      return parts.toReversed().join(separator);
    case "parts emptied":
      return parts.map(() => "").join(separator);
    case "last part dropped":
      return parts.slice(0, -1).join(separator);
    case "another":
      return alteration.text;
  }
}

/** The same octets in base64url: the last character of a long part may have bits that mean nothing. */
export function meansTheSame(one: string, other: string): boolean {
  return one.length === other.length && octetsOf(one) === octetsOf(other);
}

function octetsOf(text: string): string {
  const parts = text.split(/([.:])/);
  return parts.map((part) => (/^[\w-]{16,}$/.test(part) ? Buffer.from(part, "base64url").toString("hex") : part)).join("");
}
