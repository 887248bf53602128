import { expect, test } from "vitest";
import { lineReader } from "./lines.ts";

function reading(bytesMax: number) {
  const lines: string[] = [];
  const bad: string[] = [];
  const reader = lineReader({ bytesMax, onLine: (line) => lines.push(line), onBad: (problem) => bad.push(problem) });
  return { lines, bad, read: reader.add, end: reader.end };
}

test("lines are found wherever chunks split them, also within a character", () => {
  const bytes = Buffer.from('{"a":"é"}\r\n\n  \n{"b":1}\n{"unfinished"');
  for (let size = 1; size <= bytes.length; size += 1) {
    const { lines, bad, read } = reading(100);
    for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
    expect(lines.map((line) => line.trim())).toEqual(['{"a":"é"}', '{"b":1}']);
    expect(bad).toEqual([]);
  }
});

test("a line at the limit is read; a line one byte longer is reported once and skipped, and the next is read", () => {
  const { lines, bad, read } = reading(8);
  read(Buffer.from("12345678\n123456789"));
  read(Buffer.from("012345678901234567890"));
  read(Buffer.from("\nnext\n"));
  expect(lines).toEqual(["12345678", "next"]);
  expect(bad).toEqual(["the line is longer than 8 bytes"]);
});

test("the last line needs no newline", () => {
  const { lines, bad, read, end } = reading(100);
  read(Buffer.from("one\ntw"));
  read(Buffer.from("o"));
  end();
  end();
  expect({ lines, bad }).toEqual({ lines: ["one", "two"], bad: [] });
});

test("a line that is not UTF-8 is reported", () => {
  const { lines, bad, read } = reading(8);
  read(Buffer.from([0xff, 0xfe, 0x0a, 0x61, 0x0a]));
  expect({ lines, bad }).toEqual({ lines: ["a"], bad: ["the line is not UTF-8"] });
});
