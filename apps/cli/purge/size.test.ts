import { describe, expect, test } from "vitest";
import { bytesOf, sized } from "./size.ts";
import { createTally } from "./tally.ts";

describe("a size", () => {
  test.each([
    ["0", 0],
    ["500B", 500],
    ["10kB", 10_000],
    ["10KB", 10_000],
    ["1.5 MB", 1_500_000],
    ["2G", 2_000_000_000],
  ])("is read from %j", (text, bytes) => expect(bytesOf(text)).toBe(bytes));

  test.each(["", "kB", "-1kB", "10 kilobytes", "1e3", "10kiB"])("is not %j", (text) =>
    expect(() => bytesOf(text)).toThrow("for example 10kB"),
  );

  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1_000, "1.0 kB"],
    [189_640_000, "190 MB"],
    [2_100_000_000, "2.1 GB"],
    [5e15, "5000 TB"],
  ])("of %d bytes is shown as %j", (bytes, text) => expect(sized(bytes)).toBe(text));
});

describe("a tally", () => {
  test("keeps so many names apart, and counts the rest together", () => {
    const tally = createTally(2);
    for (const [name, bytes] of [
      ["a", 1],
      ["b", 5],
      ["c", 2],
      ["d", 2],
      ["a", 2],
    ] as const)
      tally.add(name, bytes);
    expect(tally.largest(5)).toEqual([
      { name: "b", tasks: 1, bytes: 5 },
      { name: "others", tasks: 2, bytes: 4 },
      { name: "a", tasks: 2, bytes: 3 },
    ]);
    expect(tally.largest(1)).toHaveLength(1);
  });
});
