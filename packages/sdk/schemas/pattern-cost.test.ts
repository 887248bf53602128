import { describe, expect, test } from "vitest";
import { patternCost } from "./pattern-cost.ts";

const shown = (source: string, flags = "") => {
  const cost = patternCost(source, flags);
  return cost.type === "polynomial" ? cost.degree : cost.type;
};

/** So many different characters, as alternatives. */
const characters = (count: number) => Array.from({ length: count }, (_, index) => String.fromCodePoint(0x4e00 + index)).join("|");

describe("the cost of a pattern", () => {
  test.each([
    // No unbounded repetition.
    ["foo", 1],
    ["^foo$", 0],
    ["^[a-z0-9-]{1,40}$", 0],
    ["^([01]\\d|2[0-3]):[0-5]\\d$", 0],
    ["^(\\d{1,3}\\.){3}\\d{1,3}$", 0],
    ["\\d{5}", 1],
    ["", 0],
    ["^(a?)?$", 0],
    ["^a{1,64}$", 0],
    ["^ba{1,10}$", 0],
    ["^(?:ab){1,4}$", 0],
    ["^(?:a*a*){0}$", 0],
    ["^(?:){20}$", 0],
    ["^(ab)\\1\\1$", 0],
    // One path.
    ["^a+$", 1],
    ["\\d+", 1],
    ["^\\d+\\.\\d+\\.\\d+$", 1],
    ["^([a-z]+\\.)+[a-z]+$", 1],
    ["^(a|b)*$", 1],
    ["^(([^,]*),)*$", 1],
    ["^.*\\.pdf$", 1],
    ["^.+@.+", 1],
    ["^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$", 1],
    ["^(?=.*[A-Z])(?=.*\\d).{8,}$", 1],
    ["^([a-z]{1,63}\\.){1,10}$", 1],
    ["^[a-z]+[A-Z]+$", 1],
    ["^([A-Z][a-z]+)+$", 1],
    ["^(a?)*$", 1],
    ["^(a*)?$", 1],
    ["^(?:a?){10}$", 1],
    ["^([a-z]{1,63}\\.){1,11}$", 1],
    ["^(?:b|a{2}c|ac)*$", 1],
    ["^a{1,65}$", 1],
    ["^(?:ab){1,5}$", 1],
    ["(?:^a+)$", 1],
    ["(^a+)$", 1],
    ["(?!x)^a+$", 1],
    ["^(?:(?=.*b)a)?c+$", 1],
    ["^(?:abcde)*$", 1],
    ["^a+(?<=b+)$", 1],
    ["(?<=\\s+)x", 1],
    ["c(?<=(a+)+b)$", 1],
    ["$", 1],
    ["^(?<q>['\"])[^'\"]*\\k<q>$", 1],
    // Two loops, or a match that may begin anywhere.
    ["\\s+$", 2],
    ["a+b", 2],
    ["^[^@]+@[^@]+\\.[^@]+$", 2],
    ["^(.*)\\1$", 2],
    ["^.*.*$", 2],
    ["(?=.*a)x", 2],
    ["(?=.*a)", 2],
    ["(?<=b\\s+)x", 2],
    ["^a+$|b+$", 2],
    ["^a+$|", 2],
    ["(?:a|^)b+$", 2],
    ["x?^a+$", 2],
    ["^a+(?=.*b)c", 2],
    ["^(?:(?=.*b)a)+c", 2],
    ["^a*(?:b|)a*$", 2],
    ["^a*(?:bc)*a*$", 2],
    ["^(b)?a*\\1a*$", 2],
    ["^(?:a|bc)*a*$", 2],
    ["^a*(?:a|bc)*$", 2],
    ["^\\S+@\\S+\\.\\S+$", 3],
    ["^\\s*(.*?)\\s*$", 3],
    ["^((?=.*b)a+)\\1$", 3],
    ["^a*a*a*a*$", 4],
    // A loop within a loop, or two paths around one.
    ["^(a+)+$", "exponential"],
    ["(x+x+)+y", "exponential"],
    ["^(a*)*$", "exponential"],
    ["^(a|a)*$", "exponential"],
    ["^(a|aa)+$", "exponential"],
    ["^(?:a|b|ab)*c$", "exponential"],
    ["^(a?b?)*$", "exponential"],
    ["^(\\w+\\s?)*$", "exponential"],
    ["^(\\d+,?)+$", "exponential"],
    ["^(([a-z])+.)+[A-Z]([a-z])+$", "exponential"],
    ["^\\w+([.-]?\\w+)*@\\w+$", "exponential"],
    ["^(?=(a+)+b)c", "exponential"],
    ["(?<=b(a+)+)c", "exponential"],
    ["^(ab)(c+)+\\1", "exponential"],
    ["^(a\\1)*$", "exponential"],
    ["^(?:b|(?:a|a)*)$", "exponential"],
    ["^(?:abcde|abcde)*$", "exponential"],
    ["^(?:ab{1,2}|ab)*$", "exponential"],
    ["^(?:a?){11}$", "exponential"],
    ["^(?:[\\u1200-\\u1210]|[^\\u1200\\u1210])*$", "exponential"],
    ["^(?:a?){30}a{30}$", "exponential"],
    ["^(a|a){1,32}$", "exponential"],
  ])("%s: %s", (source, cost) => {
    expect(shown(source)).toBe(cost);
  });

  test.each([
    // Few, by any count.
    ["^(\\d{1,3}\\.){3}\\d{1,3}$", 81],
    ["^(?:ab)?(?:cd)?$", 4],
    ["^(?:a|b|c){4}$", 81],
    ["^(?:[0-9a-f]|[A-F]){40}$", 4],
    ["^x(?=a{0,2}b)(?<=c?d)", 6],
    // Only repetitions that share characters multiply them.
    ["^[a-z]{1,64}@[a-z]{1,64}\\.[a-z]{2,64}$", 64],
    ["^([a-z]{1,63}\\.){1,4}[a-z]{2,63}$", 4 * 63],
    ["^[A-Z]{1,10}[A-Z0-9]{0,500}$", 10],
    ["^[A-Z]{1,40}[A-Z0-9]{0,50}$", 40 * 51],
    ["^a{3,64}ba{64}ba{0,40}a{2,40}$", 41 * 39],
    ["^(?:a+){1,3}(?:b+){1,3}(?:c+){1,3}(?:d+){1,3}(?:e+){1,3}(?:f+){1,3}(?:g+){1,3}$", 3 ** 7],
    // Each of these took seconds or hours for a few dozen characters.
    ["^a{0,64}a{0,64}a{0,64}a{0,64}b", 65 ** 4],
    [`^${"a{0,64}".repeat(6)}b`, 65 ** 6],
    [`^${"a?".repeat(30)}b`, 2 ** 30],
    [`^${"(a|a)".repeat(30)}b`, 2 ** 30],
    [`^(?=${"a?".repeat(30)}b)`, 2 ** 30],
  ])("has a factor, the ways in which a text may match: %s: %d", (source, ways) => {
    const cost = patternCost(source, "");
    expect(cost.type === "polynomial" && cost.ways / ways).toBeCloseTo(1, 6);
  });

  test("has a factor without practical limit where counted repetitions are in each other", () => {
    expect(patternCost("^(?:(?:(?:a{1,4}){1,4}){1,4}){1,4}b", "")).toMatchObject({ ways: expect.toSatisfy((ways: number) => ways > 1e30) });
  });

  test("is that of a match that fails: an engine stops at the first success", () => {
    expect([shown("^(a+)+"), shown("^(a+)+$"), shown("^(a+)+b")]).toEqual([0, "exponential", "exponential"]);
    expect([shown("^.*@.*"), shown("^.*@.*$")]).toEqual([1, 2]);
  });

  test("depends on the flags", () => {
    expect([shown("^(a|A)*$"), shown("^(a|A)*$", "i")]).toEqual([1, "exponential"]);
    expect([shown("^([A-Z][a-z]+)+$"), shown("^([A-Z][a-z]+)+$", "i")]).toEqual([1, "exponential"]);
    expect([shown("^(.|\\n)*$"), shown("^(.|\\n)*$", "s")]).toEqual([1, "exponential"]);
    // A line may begin anywhere.
    expect([shown("^a+$"), shown("^a+$", "m")]).toEqual([1, 2]);
    expect(shown("^(\\p{Extended_Pictographic}|\\p{Emoji_Component})+$", "u")).toBe("exponential");
    expect(shown("^(\\p{Lu}|\\p{Ll})+$", "u")).toBe(1);
    expect(shown("^(k|\\u212a)+$", "iu")).toBe("exponential");
    expect(shown("^[\\p{L}--[a-z]]+[a-z]+$", "v")).toBe(1);
  });

  test("depends on the modifiers of groups", () => {
    expect([shown("^(?i:a|A)*$"), shown("^(?s:(?:.|\\n)*)$"), shown("^(?i:a|B)*$"), shown("^(?-i:a|A)*$", "i")]).toEqual([
      "exponential",
      "exponential",
      1,
      "exponential",
    ]);
    expect([shown("(?i:^)a+$"), shown("(?m:^)a+$"), shown("(?-m:^)a+$")]).toEqual([1, 2, 2]);
  });

  test("depends on the strings that classes contain with the flag v", () => {
    expect([shown("^(?:[\\q{aa|b}]|a)+$", "v"), shown("^\\p{RGI_Emoji}+$", "v"), shown("^\\p{RGI_Emoji}$", "v")]).toEqual([
      "exponential",
      "exponential",
      1,
    ]);
  });

  test("depends on what the engine takes for a character: halves of characters without the flag u", () => {
    expect([shown("^(?:[😀a]|[😁b])*$"), shown("^(?:[😀a]|[😁b])*$", "u")]).toEqual(["exponential", 1]);
  });

  test.each([
    ["[ሀ-ሐ]", "[ሠ-ቀ]", ""],
    ["[𪜀-𪜐]", "[𪜠-𪜰]", "u"],
    ["[\\u1200-\\u1210]", "[\\u1220-\\u1230]", ""],
    ["[\\u{2a700}-\\u{2a710}]", "[\\u{2a720}-\\u{2a730}]", "u"],
    ["[\\u{20001}-\\u{10ffff}]", "a", "u"],
    ["\\p{Script=Hebrew}", "\\p{Script=Arabic}", "u"],
  ])("is linear if %s and %s share no character, and exponential with one that they share", (one, other, flags) => {
    expect(shown(`^(?:${one}|${other})*$`, flags)).toBe(1);
    expect(shown(`^(?:${one}|${other}|${one})*$`, flags)).toBe("exponential");
  });

  test("knows that a mark can belong to a script, and that a class beyond its samples may share any character", () => {
    expect(shown("^(?:\\p{Script=Hebrew}|\\p{M})*$", "u")).toBe("exponential");
    expect(shown("^(?:\\ud869\\udf00|\\p{Lo})*$", "u")).toBe("exponential");
  });

  test("is unknown for what is not a pattern, and for what is too large to judge", () => {
    expect(patternCost("(", "")).toMatchObject({ type: "unknown", why: expect.stringContaining("Unterminated") });
    expect(patternCost("[\\w-.]", "u")).toMatchObject({ type: "unknown" });
    expect(patternCost(`^${"a".repeat(400)}$`, "")).toMatchObject({ type: "polynomial" });
    expect(patternCost(`^${"a".repeat(401)}$`, "")).toMatchObject({ type: "unknown", why: expect.stringContaining("too large") });
  });

  test.each([
    ["a loop in which any of 200 characters can follow any other", `^(?:${characters(200)})*$`],
    ["two such loops in a row", `^(?:${characters(120)})*x(?:${characters(120)})*$`],
    ["references that double with each group", `^${Array.from({ length: 40 }, (_, n) => `(\\${n + 2}\\${n + 2})`).join("")}()$`],
  ])("is unknown for %s, without a long search", (_, source) => {
    const before = process.threadCpuUsage();
    expect(patternCost(source, "")).toEqual({ type: "unknown", why: "it is too large to judge" });
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(5_000);
  });
});

test("is judged once for each pattern and its flags", () => {
  const first = patternCost("^once$", "");
  expect(patternCost("^once$", "")).toBe(first);
  expect(patternCost("^once$", "i")).not.toBe(first);
});

test("is forgotten after a thousand other patterns, the one least recently used first", () => {
  const pattern = (index: number) => `^forgotten${index}$`;
  const [first, second] = [patternCost(pattern(0), ""), patternCost(pattern(1), "")];
  for (let index = 2; index < 1_000; index += 1) patternCost(pattern(index), "");
  expect(patternCost(pattern(0), "")).toBe(first);
  patternCost(pattern(1_000), "");
  expect(patternCost(pattern(0), "")).toBe(first);
  expect(patternCost(pattern(1), "")).not.toBe(second);
});

describe("on this engine", () => {
  /** Milliseconds of CPU time for strings that repeat a part of the pattern's alphabet and do not match. */
  function worstMs(source: string, length: number): number {
    const pattern = new RegExp(source);
    return Math.max(
      ...["a", "1", "@.", "a.", "ab", ",", " ", "aA", "@"].map((part) => {
        const text = `${part.repeat(length / part.length)}\n!`;
        const before = process.threadCpuUsage();
        pattern.test(text);
        const { user, system } = process.threadCpuUsage(before);
        return (user + system) / 1_000;
      }),
    );
  }

  test.each(["^.*\\.pdf$", "^([a-z]+\\.)+[a-z]+$", "^(([^,]*),)*$", "^(?=.*[A-Z])(?=.*\\d).{8,}$", "^\\d+\\.\\d+$"])(
    "%s is quick with a megabyte",
    (source) => {
      expect(shown(source)).toBe(1);
      expect(worstMs(source, 1_000_000)).toBeLessThan(1_000);
    },
  );

  test.each([
    ["^[^@]+@[^@]+\\.[^@]+$", 2, 2_000],
    ["\\s+$", 2, 2_000],
    ["^\\S+@\\S+\\.\\S+$", 3, 158],
  ])("%s is fast within what its degree allows", (source, degree, length) => {
    expect(shown(source)).toBe(degree);
    expect(worstMs(source, 2 * length)).toBeLessThan(1_000);
  });
});
