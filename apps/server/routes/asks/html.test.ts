import { describe, expect, test } from "vitest";
import { markup, say } from "./html.ts";

describe("a text of a tool or a person on a page", () => {
  const hostile = "pay\u202E001 $\u202C\u0000\u001B[8m\u009B8m\u2066x\u2069\u200F";
  const plain = "pay001 $[8m8mx";

  test("has no characters that hide it or turn its direction", () => {
    expect(markup`<p title="${hostile}">${hostile}</p>`.text).toBe(`<p title="${plain}">${plain}</p>`);
    expect(say("{who} asks\u202E", { who: hostile }).text).toBe(`${plain} asks`);
    expect(markup`${[markup`<b>${hostile}</b>`]}`.text).toBe(`<b>${plain}</b>`);
  });

  test("keeps its letters, lines and joined emoji, in every script", () => {
    const text = "\u0647\u0644\n\ta\r\n\u05D0 \u{1F468}\u200D\u{1F469} caf\u0065\u0301";
    expect(markup`<p>${text}</p>`.text).toBe(`<p>${text}</p>`);
  });

  test("is sent back as it was offered if it is the value of a choice", () => {
    expect(markup`<input value="${"a\u200F<b"}">${"a\u200F<b"}`.text).toBe('<input value="a\u200F&lt;b">a&lt;b');
  });
});

test("a text ends no attribute and no element, in a value of a form neither", () => {
  const hostile = `"'&<>`;
  const safe = "&quot;&#39;&amp;&lt;&gt;";
  expect(markup`<a title="${hostile}">${hostile}</a><input value="${hostile}">`.text).toBe(
    `<a title="${safe}">${safe}</a><input value="${safe}">`,
  );
});
