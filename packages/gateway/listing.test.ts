/** What an upstream lists, within bounds. */
import { expect, test } from "vitest";
import { boundedListing, LISTING_CHARS_MAX, type ListedTool, TOOLS_MAX } from "./listing.ts";
import { parseUpstreams } from "./upstreams.ts";

const [UPSTREAM] = parseUpstreams(
  "up.json",
  JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", exclude: ["hidden"] }] }),
);
const tool = (name: string, rest: Partial<ListedTool> = {}): ListedTool => ({ name, inputSchema: { type: "object" }, ...rest });
const listing = (tools: readonly ListedTool[]) => boundedListing(tools, UPSTREAM!);

test("it is kept as it is, without what the file leaves out and what is not of a tool", () => {
  const whole = tool("a", { title: "A", annotations: { readOnlyHint: true }, icons: [{ src: "x" }], _meta: { y: 1 } });
  expect(listing([{ ...whole, execution: {} } as ListedTool, tool("hidden")])).toEqual({ tools: [whole], leftOut: [] });
});

test("tools of one name, or without a name that a tool may have, are left out and told", () => {
  const { tools, leftOut } = listing([tool("a"), tool("a"), tool("b c"), tool("x".repeat(125)), tool("x".repeat(126))]);
  expect(tools.map(({ name }) => name)).toEqual(["a", "x".repeat(125)]);
  expect(leftOut).toEqual(["a is listed twice", expect.stringMatching(/^b c has/), expect.stringMatching(/^x{126} has/)]);
});

test("there are as many tools as an upstream may have, and one more is left out", () => {
  const { tools, leftOut } = listing(Array.from({ length: TOOLS_MAX + 1 }, (_, index) => tool(`t${index}`)));
  expect(tools).toHaveLength(TOOLS_MAX);
  expect(leftOut).toEqual([expect.stringContaining(`t${TOOLS_MAX} is beyond`)]);
});

test("they have as many characters as a listing may have, and one more is left out", () => {
  const empty = JSON.stringify(tool("a", { description: "" })).length;
  const large = (extra: number) => listing([tool("a", { description: "x".repeat(LISTING_CHARS_MAX - empty + extra) })]);
  expect(large(0).tools).toHaveLength(1);
  expect(large(1)).toEqual({ tools: [], leftOut: [expect.stringContaining("a is beyond")] });
});
