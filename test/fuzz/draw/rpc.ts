/** Changes to a JSON-RPC request that apply to every method, and changes that depend on the members of its params. */
import fc from "fast-check";
import type { AnyChange, Due } from "./changes.ts";
import { type Drawn, type Json, type JsonType, largeJson, longText, notOf, oddNames, type Path, someJson } from "./json.ts";

export interface Field {
  /** In the body. */
  readonly path: Path;
  readonly is: JsonType;
  readonly required?: boolean;
  /** What it is refused with. */
  readonly codes?: readonly number[];
  /** null stands for a member that is absent. */
  readonly nullable?: boolean;
  /** What is due where it is missing; for a member that is not required `accepted`. */
  readonly missing?: Due;
}

const INVALID_REQUEST = [-32_600];
const INVALID_PARAMS = [-32_602];

export function set(
  name: string,
  path: Path,
  to: fc.Arbitrary<Drawn>,
  { due, codes }: { readonly due: Due; readonly codes?: readonly number[] },
) {
  return to.map((value): AnyChange => ({ name, set: path, to: value, due, ...(codes && { codes }) }));
}

export function drop(name: string, path: Path, { due, codes }: { readonly due: Due; readonly codes?: readonly number[] }) {
  return fc.constant<AnyChange>({ name, drop: path, due, ...(codes && { codes }) });
}

export function header(name: string, field: string, value: fc.Arbitrary<string | undefined>, due: Due, codes?: readonly number[]) {
  return value.map((each): AnyChange => ({ name, header: field, value: each, due, ...(codes && { codes }) }));
}

/** To the message as JSON-RPC has it. Shape is judged before anything else, so the codes are the same for all methods. */
export function messageChanges(): fc.Arbitrary<AnyChange> {
  const refused = { due: "refused", codes: INVALID_REQUEST } as const;
  return fc.oneof(
    set(
      "jsonrpc",
      ["jsonrpc"],
      someJson().filter((value) => value !== "2.0"),
      refused,
    ),
    drop("no jsonrpc", ["jsonrpc"], refused),
    set(
      "id of another type",
      ["id"],
      fc.oneof(notOf("id"), fc.constantFrom<Json>(1.5, 2 ** 53, null)).filter((value) => !isId(value)),
      refused,
    ),
    set("long id", ["id"], longText(1_025, 100_000, "i"), refused),
    set("id at the limit", ["id"], fc.constant({ large: "text" as const, of: "i", times: 1_024 }), { due: "accepted" }),
    set("odd id", ["id"], fc.oneof(oddNames(), fc.maxSafeInteger()), { due: "accepted" }),
    fc.constant<AnyChange>({ name: "no id", drop: ["id"], due: "any", silences: true }),
    set("method of another type", ["method"], notOf("string"), refused),
    set(
      "params of another type",
      ["params"],
      notOf("object").filter((value) => value !== null),
      refused,
    ),
    // Whether a request is one also when it says what became of it is nowhere said.
    set("a result in it", ["result"], someJson(), { due: "any" }),
    set("an error in it", ["error"], someJson(), { due: "any" }),
    set("unknown member", ["surplus"], someJson(), { due: "accepted" }),
    set("large member", ["surplus"], largeJson(), { due: "accepted" }),
    oddMember([]),
    fc
      .oneof(someJson(), fc.array(fc.constant<Json>({ jsonrpc: "2.0" })))
      .map((to): AnyChange => ({ name: "another body", set: [], to, due: "refused" })),
  );
}

/** Members whose names mean something to JavaScript: to be ignored like any that is not known. */
export function oddMember(path: Path): fc.Arbitrary<AnyChange> {
  const known = ["jsonrpc", "id", "method", "params", "result", "error", "_meta"];
  return fc
    .tuple(
      oddNames().filter((name) => !known.includes(name)),
      someJson(),
    )
    .map(([name, to]): AnyChange => ({ name: "odd member", set: [...path, name], to, due: "accepted" }));
}

/** To members whose types are known. */
export function fieldChanges(fields: readonly Field[]): fc.Arbitrary<AnyChange> | undefined {
  const ways = fields.flatMap(({ path, is, required = false, codes = INVALID_PARAMS, nullable = false, missing = "accepted" }) => {
    const name = path.slice(1).join(".");
    const values = notOf(is).filter((value) => value !== null);
    return [
      set(`${name}: wrong type`, path, values, { due: "refused", codes }),
      ...(nullable ? [set(`${name}: null`, path, fc.constant(null), { due: "accepted" })] : []),
      drop(`${name}: missing`, path, required ? { due: "refused", codes } : { due: missing }),
    ];
  });
  return ways.length === 0 ? undefined : fc.oneof(...ways);
}

export function textChanges(): fc.Arbitrary<AnyChange> {
  const place = fc.double({ min: 0, max: 1, noNaN: true });
  const piece = fc.oneof(
    fc.constantFrom("\u0000", "\ufeff", "\n", " ", "//", "NaN", "1e999", "-", "0", ",", '"', "\\", "\\u", "\\ud800", "{", "}", "[", "]"),
    fc.constantFrom('"__proto__":{"polluted":"yes"},', '"id":7,', '"jsonrpc":"2.0",', "[".repeat(50_000), "\u007f", "\u2028", "'"),
    fc.string({ maxLength: 4 }),
  );
  // What is JSON all the same may mean something else.
  return fc.oneof(
    place.map((each): AnyChange => ({ name: "body cut", text: "cut", place: each, with: "", due: "any" })),
    fc
      .tuple(place, piece)
      .map(([each, text]): AnyChange => ({ name: "text inserted", text: "insert", place: each, with: text, due: "any" })),
    fc
      .tuple(place, piece)
      .map(([each, text]): AnyChange => ({ name: "text replaced", text: "replace", place: each, with: text, due: "any" })),
  );
}

/** Mostly one. Each can be left out when it does not matter. */
export function several<Change>(change: fc.Arbitrary<Change>): fc.Arbitrary<readonly Change[]> {
  // `freq` to one that it is there.
  const maybe = (freq: number) => fc.option(change, { freq, nil: undefined });
  const rarely = fc.tuple(fc.boolean(), fc.boolean(), maybe(4)).map(([one, two, each]) => (one && two ? each : undefined));
  return fc.tuple(maybe(5), rarely, rarely).map((drawn) => drawn.filter((each) => each !== undefined));
}

function isId(value: unknown): boolean {
  return typeof value === "string" || Number.isSafeInteger(value);
}
