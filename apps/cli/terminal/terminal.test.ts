import { describe, expect, test } from "vitest";
import { progressLine } from "../questions/follow.ts";
import { showUrl } from "../questions/show.ts";
import { clean, cleanLine } from "./terminal.ts";

describe("output to a terminal", () => {
  test("contains no control sequences and no characters that reverse text", () => {
    expect(clean("a\u001B[2Jb\u001B]0;title\u0007c\u202Ed\rE\nf\tg\u009B1m")).toBe("abcdE\nf\tg");
    expect(cleanLine("two\nlines \u001B[31m red")).toBe("two lines red");
  });

  test("shows the host of a page as browsers resolve it", () => {
    expect(showUrl("https://раураl.example.com/x?y=1")).toBe("https://xn--l-7sba6dbr.example.com/x?y=1");
    expect(showUrl("no url\u001B[1m")).toBe("no url");
  });

  test("shows a bar for progress with a total, for any numbers", () => {
    expect(progressLine(1, 4, "kneading\u0007")).toBe("██████░░░░░░░░░░░░░░░░░░ 25 %  kneading");
    expect(progressLine(9, 4, undefined)).toBe(`${"█".repeat(24)} 100 %`);
    expect(progressLine(-1, 4, undefined)).toBe(`${"░".repeat(24)} 0 %`);
    expect(progressLine(3, undefined, "x")).toBe("3  x");
    expect(progressLine(3, 0, undefined)).toBe("3");
  });
});
