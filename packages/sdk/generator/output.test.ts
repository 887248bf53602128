import { describe, expect, test } from "vitest";
import { createOutput, generatorResult, STREAM_CHARS_MAX } from "./output.ts";

const text = (value: string) => [{ type: "text", text: value }];

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    return { code, message };
  }
}

function tooMuch(how: string) {
  const message = `tool draw has ${how} more than 4194304 characters, which is too much for a result: return a summary, or a link`;
  return { code: "TOO_LARGE", message };
}

describe("streamed content", () => {
  test.each<[string, unknown[], string]>([
    ["texts as they are", ["a", "b\n", "c"], "ab\nc"],
    ["data on lines of its own, behind a text", ["a", 1, { b: 2 }], 'a\n1\n{"b":2}\n'],
    ["data first, and data behind a whole line", [1, "a\n", [2]], "1\na\n[2]\n"],
    ["one empty text", [""], ""],
  ])("is %s", (_what, chunks, streamed) => {
    const output = createOutput("draw");
    for (const chunk of chunks) output.chunk(chunk);
    expect(output.streamed()).toStrictEqual(text(streamed));
  });

  test("is empty if nothing was streamed", () => {
    expect(createOutput("draw").streamed()).toStrictEqual([]);
  });

  test("may reach its limit, and one character more is too much, even if less follows", () => {
    const output = createOutput("draw");
    output.chunk("x".repeat(STREAM_CHARS_MAX - 1));
    output.chunk("y");
    expect(output.streamed()).toStrictEqual(text(`${"x".repeat(STREAM_CHARS_MAX - 1)}y`));
    output.chunk("z");
    output.chunk("");
    expect(thrownBy(() => output.streamed())).toStrictEqual(tooMuch("streamed"));
  });
});

describe("artifacts", () => {
  const picture = { type: "image", data: "AA==", mimeType: "image/png" } as const;

  test("follow the content of a result, even if that is empty", () => {
    const output = createOutput("draw");
    expect(output.artifacts()).toBe(0);
    const result = { content: text("done"), isError: true };
    expect(output.withArtifacts(result)).toBe(result);
    output.artifact(picture);
    expect(output.artifacts()).toBe(1);
    expect(output.withArtifacts(result)).toStrictEqual({ content: [...text("done"), picture], isError: true });
    expect(output.withArtifacts({ structuredContent: 1 })).toStrictEqual({ structuredContent: 1, content: [picture] });
  });

  test("that are not plain data are refused by name", () => {
    const output = createOutput("draw");
    output.artifact({ ...picture, data: Number.NaN as never });
    expect(thrownBy(() => output.withArtifacts({}))).toStrictEqual({
      code: "NOT_SERIALIZABLE",
      message: "the artifacts of tool draw is not plain data: /0/data is NaN",
    });
  });

  test("may reach their limit together, and one character more is too large, even if a small one follows", () => {
    const output = createOutput("draw");
    const size = JSON.stringify(picture).length;
    output.artifact({ ...picture, data: `AA==${"A".repeat(STREAM_CHARS_MAX - 2 * size)}` });
    output.artifact(picture);
    expect((output.withArtifacts({})["content"] as unknown[]).length).toBe(2);

    const beyond = createOutput("draw");
    beyond.artifact(picture);
    beyond.artifact({ ...picture, data: `AA==${"A".repeat(STREAM_CHARS_MAX - 2 * size + 1)}` });
    beyond.artifact(picture);
    expect(beyond.artifacts()).toBe(1);
    expect(thrownBy(() => beyond.withArtifacts({}))).toStrictEqual(tooMuch("emitted as artifacts"));
  });
});

describe("the result of a generator", () => {
  const block = { type: "text", text: "x" };
  const kinds = [
    { type: "text", text: "x" },
    { type: "image", data: "", mimeType: "image/png" },
    { type: "audio", data: "", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "a:b", text: "" } },
    { type: "resource_link", uri: "a:b", name: "b" },
  ];
  const data = (value: unknown) => ({ content: text(JSON.stringify(value)) });

  test.each<[string, unknown, object]>([
    ["a text", "x", { content: [block] }],
    ["content of every kind", kinds, { content: kinds }],
    ["a whole result", { content: [block], _meta: { a: 1 } }, { content: [block], _meta: { a: 1 } }],
    ["an object", { a: 1 }, { ...data({ a: 1 }), structuredContent: { a: 1 } }],
    ["an object with content of its own", { content: "x" }, { ...data({ content: "x" }), structuredContent: { content: "x" } }],
    ["an object with no content at all", { content: [] }, { ...data({ content: [] }), structuredContent: { content: [] } }],
    ["a list", [1], data([1])],
    ["an empty list", [], data([])],
    ["a list with more than content", [block, 1], data([block, 1])],
    ["a list of other kinds", [{ type: "movie" }], data([{ type: "movie" }])],
    ["a list of what has no kind", [{}], data([{}])],
    ["a list of nothing", [null], data([null])],
    ["null", null, data(null)],
    ["a number", 7, data(7)],
  ])("is %s", (_what, returned, result) => {
    expect(generatorResult("draw", returned, createOutput("draw"))).toStrictEqual(result);
  });

  test("is what was streamed if it returns nothing", () => {
    const output = createOutput("draw");
    output.chunk("x");
    expect(generatorResult("draw", undefined, output)).toStrictEqual({ content: [block] });
  });

  test("that is not plain data is refused by name", () => {
    expect(thrownBy(() => generatorResult("draw", { at: new Map() }, createOutput("draw")))).toStrictEqual({
      code: "NOT_SERIALIZABLE",
      message: "the return value of tool draw is not plain data: /at is a Map",
    });
  });
});
