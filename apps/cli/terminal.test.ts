import { describe, expect, test } from "vitest";
import { progressLine } from "./follow.ts";
import { showUrl } from "./show.ts";
import { clean, cleanLine } from "./terminal.ts";

describe("what a terminal is told", () => {
  test("holds nothing that a terminal would obey, and nothing that turns text around", () => {
    expect(clean("a\u001B[2Jb\u001B]0;title\u0007c\u202Ed\rE\nf\tg\u009B1m")).toBe("abcdE\nf\tg");
    expect(cleanLine("two\nlines \u001B[31m red")).toBe("two lines red");
  });

  test("shows the host of a page as it is resolved", () => {
    expect(showUrl("https://раураl.example.com/x?y=1")).toBe("https://xn--l-7sba6dbr.example.com/x?y=1");
    expect(showUrl("no url\u001B[1m")).toBe("no url");
  });

  test("has a bar for progress that has a total, however odd", () => {
    expect(progressLine(1, 4, "kneading\u0007")).toBe("██████░░░░░░░░░░░░░░░░░░ 25 %  kneading");
    expect(progressLine(9, 4, undefined)).toBe(`${"█".repeat(24)} 100 %`);
    expect(progressLine(-1, 4, undefined)).toBe(`${"░".repeat(24)} 0 %`);
    expect(progressLine(3, undefined, "x")).toBe("3  x");
    expect(progressLine(3, 0, undefined)).toBe("3");
  });
});
