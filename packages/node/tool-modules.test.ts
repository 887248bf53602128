import { expect, test } from "vitest";
import { toolModules } from "./tool-modules.ts";

const UPSTREAMS = "./parley.upstreams.json";

test.each<[string[] | string | undefined, string | undefined, string[]]>([
  [undefined, undefined, ["@parley/gallery"]],
  ["", "", ["@parley/gallery"]],
  [undefined, UPSTREAMS, []],
  ["", UPSTREAMS, []],
  [["@parley/gallery"], UPSTREAMS, ["@parley/gallery"]],
  ["./a.ts, ./b.ts", UPSTREAMS, ["./a.ts", "./b.ts"]],
  [["./a.ts"], undefined, ["./a.ts"]],
])("the examples are served where nothing is set up, and otherwise only if they are named: %j beside %j", (tools, upstreams, expected) => {
  expect(toolModules(tools, { PARLEY_UPSTREAMS: upstreams })).toEqual(expected);
});
