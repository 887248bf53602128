import { describe, expect, test } from "vitest";
import { BODY_BYTES_MAX, BODY_DEPTH_MAX, BODY_VALUES_MAX } from "../limits.ts";
import { type AnyChange, finish } from "./changes.ts";
import type { Drawn } from "./json.ts";

const draft = { headers: { accept: "a" }, body: { jsonrpc: "2.0", id: 1, params: { name: "x", deep: { er: 1 } } } };
const finished = (...changes: AnyChange[]) => {
  const { headers, body, ...rest } = finish(draft, changes, { due: "accepted" });
  return { headers, text: body.toString(), ...rest };
};
const surplus = (to: Drawn): AnyChange => ({ name: "surplus", set: ["surplus"], to, due: "accepted" });
const refused = (path: readonly string[], codes: readonly number[]): AnyChange => ({
  name: `no ${path.join(".")}`,
  drop: path,
  due: "refused",
  codes,
});

describe("changes are made", () => {
  test("to members, to headers and to the text", () => {
    const { headers, text } = finished(
      { name: "set", set: ["params", "name"], to: "y", due: "accepted" },
      { name: "drop", drop: ["params", "deep", "er"], due: "accepted" },
      { name: "header", header: "accept", value: undefined, due: "accepted" },
      { name: "text", text: "insert", place: 1, with: " ", due: "any" },
    );
    expect(text).toBe('{"jsonrpc":"2.0","id":1,"params":{"name":"y","deep":{}}} ');
    expect(headers).toEqual({});
  });

  test("once in each place: a second one would change what the first one means", () => {
    const { changes } = finished(refused(["params"], []), { name: "set", set: ["params", "name"], to: "y", due: "accepted" });
    expect(changes).toEqual(["no params"]);
    expect(finished(refused(["id"], []), refused(["params", "name"], [])).changes).toEqual(["no id", "no params.name"]);
  });

  test("not where their path leads nowhere", () => {
    expect(finished(refused(["params", "nowhere"], [])).due).toBe("accepted");
    expect(finished({ name: "set", set: ["nowhere", "x"], to: 1, due: "refused" }).due).toBe("accepted");
  });

  test("with members that JavaScript has names for", () => {
    expect(finished({ name: "odd", set: ["params", "__proto__"], to: { a: 1 }, due: "accepted" }).text).toContain('"__proto__":{"a":1}');
  });
});

describe("what is due", () => {
  test("is an error if any change makes it one, with its code if it is the only one", () => {
    expect(finished(refused(["id"], [-1]))).toMatchObject({ due: "refused", codes: [-1] });
    expect(finished(refused(["id"], [-1]), surplus(1))).toMatchObject({ due: "refused", codes: undefined });
    expect(finished(surplus(1))).toMatchObject({ due: "accepted" });
    expect(finished(surplus(1), { name: "odd", header: "accept", value: "b", due: "any" })).toMatchObject({ due: "any" });
  });

  test("is uncertain if an edit removed the id: the rest is a notification", () => {
    const edit: AnyChange = { name: "text inserted", text: "insert", place: 0.38, with: " ", due: "any" };
    expect(finished(edit, refused(["params", "name"], [-1]))).toMatchObject({ text: expect.stringContaining('"i d":1'), due: "any" });
    const elsewhere: AnyChange = { ...edit, place: 1 };
    expect(finished(elsewhere, refused(["params", "name"], [-1]))).toMatchObject({ due: "refused" });
  });

  test("is an error beyond the limits, and none at them", () => {
    const nested = (times: number): AnyChange => surplus({ large: "depth", of: 1, times });
    expect(finished(nested(BODY_DEPTH_MAX - 1)).due).toBe("accepted");
    expect(finished(nested(BODY_DEPTH_MAX))).toMatchObject({ due: "refused", codes: [-32_600] });
    // Beside those of the request itself: four, and three in its params and in their member.
    const full = (times: number): AnyChange => surplus({ large: "members", of: 0, times });
    expect(finished(full(BODY_VALUES_MAX - 7)).due).toBe("accepted");
    expect(finished(full(BODY_VALUES_MAX - 6))).toMatchObject({ due: "refused", codes: [-32_600] });
    const rest = finished(surplus("")).text.length;
    const long = (times: number): AnyChange => surplus({ large: "text", of: "x", times });
    expect(finished(long(BODY_BYTES_MAX - rest)).due).toBe("accepted");
    expect(finished(long(BODY_BYTES_MAX - rest + 1))).toMatchObject({ due: "refused", codes: [-32_600] });
  });

  test("is a parse error for text that is not JSON, or the error for its depth", () => {
    expect(finished({ name: "cut", text: "cut", place: 0.5, with: "", due: "any" })).toMatchObject({ due: "refused", codes: [-32_700] });
    const inserted = (times: number): AnyChange => ({ name: "inserted", text: "insert", place: 0, with: "[".repeat(times), due: "any" });
    expect(finished(inserted(BODY_DEPTH_MAX - 3)).codes).toEqual([-32_700]);
    expect(finished(inserted(BODY_DEPTH_MAX - 2)).codes).toEqual([-32_700, -32_600]);
  });

  test("is anything if no reply is due", () => {
    const silent: AnyChange = { name: "no id", drop: ["id"], due: "any", silences: true };
    expect(finished(silent, refused(["params"], []))).toMatchObject({ due: "any" });
  });
});
