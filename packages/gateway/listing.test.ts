/** What an upstream lists, within bounds. */
import { expect, test } from "vitest";
import { ARGUMENTS_MAX, boundedListing, LISTING_CHARS_MAX, type ListedPrompt, type ListedTool, PROMPTS_MAX, TOOLS_MAX } from "./listing.ts";
import { parseUpstreams } from "./upstreams.ts";

const [UPSTREAM] = parseUpstreams(
  "up.json",
  JSON.stringify({ upstreams: [{ name: "up", url: "https://up.example.com", exclude: ["hidden"] }] }),
);
const tool = (name: string, rest: Partial<ListedTool> = {}): ListedTool => ({ name, inputSchema: { type: "object" }, ...rest });
const listing = (tools: readonly ListedTool[], prompts: readonly ListedPrompt[] = []) => boundedListing({ tools, prompts }, UPSTREAM!);

test("it is kept as it is, without what the file leaves out and what is not of a tool", () => {
  const whole = tool("a", { title: "A", annotations: { readOnlyHint: true }, icons: [{ src: "x" }], _meta: { y: 1 } });
  expect(listing([{ ...whole, execution: {} } as ListedTool, tool("hidden")])).toEqual({ tools: [whole], prompts: [], leftOut: [] });
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
  expect(large(1)).toEqual({ tools: [], prompts: [], leftOut: [expect.stringContaining("a is beyond")] });
});

test("prompts are kept as they are, as many as an upstream may have, and as many arguments as a prompt may have", () => {
  const whole: ListedPrompt = { name: "p", title: "P", description: "Says p.", arguments: [{ name: "x", required: true }] };
  expect(listing([], [{ ...whole, _meta: {} } as ListedPrompt, { name: "hidden" }])).toEqual({ tools: [], prompts: [whole], leftOut: [] });
  const many = Array.from({ length: PROMPTS_MAX + 1 }, (_, index) => ({ name: `p${index}` }));
  const { prompts, leftOut } = listing([], many);
  expect(prompts).toHaveLength(PROMPTS_MAX);
  expect(leftOut).toEqual([expect.stringContaining(`p${PROMPTS_MAX} is beyond`)]);
  const wide = (length: number) => listing([], [{ name: "p", arguments: Array.from({ length }, (_, index) => ({ name: `a${index}` })) }]);
  expect(wide(ARGUMENTS_MAX).prompts[0]?.arguments).toHaveLength(ARGUMENTS_MAX);
  expect(wide(ARGUMENTS_MAX + 1).prompts[0]?.arguments).toHaveLength(ARGUMENTS_MAX);
});
