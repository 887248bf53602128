import { describe, expect, test } from "vitest";
import { childId, isChildId } from "./child-id.ts";

const OWN = "YuagbDh7XfhieSlD0dvNkQ";
const call = { tool: "book", arguments: { b: 1, a: 2 } };

describe("the id of a child", () => {
  test("is recognised by its end", () => {
    expect([isChildId(`0-${OWN}~`), isChildId(`0-${OWN}`), isChildId(`~0-${OWN}`)]).toStrictEqual([true, false, false]);
  });

  test("is derived from the secret, the parent, the key and the call, in any order of arguments", () => {
    const texts: string[] = [];
    const digest = (text: string) => (texts.push(text), "d".repeat(43));
    const id = childId(digest, { id: `0-${OWN}`, seed: "seed" }, "hotel", call);
    expect(id).toBe(`0-${"d".repeat(22)}~`);
    expect(texts).toStrictEqual([`seed child {"arguments":{"a":2,"b":1},"key":"hotel","parent":"0-${OWN}","tool":"book"}`]);
    expect(childId(digest, { id: `0-${OWN}`, seed: "seed" }, "hotel", { ...call, arguments: { a: 2, b: 1 } })).toBe(id);
    expect(texts[1]).toBe(texts[0]);
  });

  test.each([
    ["a task", `7-${OWN}`, "7-"],
    ["a child", `7-${OWN}~`, "7-"],
    ["a task whose content is sealed", `7-word-${OWN}`, "7-word-"],
    ["a child of such a task", `7-word-${OWN}~`, "7-word-"],
    ["a task with a short id", "7-x", "7-"],
    ["one with as many characters as its own part has", OWN.replace("u", "-"), "Y-"],
  ])("keeps the partition and the key word of %s", (_what, parent, head) => {
    expect(childId(() => "d".repeat(22), { id: parent, seed: "s" }, "k", call)).toBe(`${head}${"d".repeat(22)}~`);
  });
});
