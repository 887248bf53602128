/** The offer made from lists that other processes have stored. */
import type { Announcement, Catalogue } from "@parley/core";
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { until } from "../../../test/support/until.ts";
import type { Listings } from "../lists/listings.ts";
import { createOffer } from "./offer.ts";
import { parseUpstreams } from "../config/upstreams.ts";

const upstreams = parseUpstreams(
  "up.json",
  JSON.stringify({
    upstreams: [
      { name: "a", url: "https://a.example.com", exclude: ["hidden"] },
      { name: "b", url: "https://b.example.com" },
      { name: "c", url: "https://c.example.com", include: ["*"] },
    ],
  }),
);
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const own = catalogue(defineTool({ name: "a_mine", run: () => "mine" }));

async function offerOf(warned: object[] = []) {
  const stored = new Map<string, { revision: string; text: string }>();
  const listings: Listings = {
    read: async (known) =>
      new Map(
        [...stored]
          .filter(([name]) => known.has(name))
          .map(([name, { revision, text }]) => [name, { revision, ...(known.get(name) !== revision && { text }) }]),
      ),
    write: async (name, text) => void stored.set(name, { revision: `${Math.random()}`, text }),
  };
  let tell: (announcement: Announcement) => void = () => undefined;
  const list = async (name: string, tools: readonly string[], rest: object = {}) => {
    await listings.write(
      name,
      JSON.stringify({ tools: tools.map((tool) => ({ name: tool, inputSchema: { type: "object" } })), leftOut: [], atMs: 0, ...rest }),
    );
    tell({ type: "tools" });
  };
  const onAnnouncement = async (listener: typeof tell) => {
    tell = listener;
    return () => undefined;
  };
  const poll = async () => ({ events: [] });
  const offer = await createOffer({
    own,
    upstreams,
    deployment: "d",
    listings,
    onAnnouncement,
    reads: { read: async (_upstream, uri) => [{ uri, text: "" }], complete: async () => [], poll, pollWithOthers: poll },
    log: { ...log, warn: (fields) => void warned.push(fields) },
  });
  return { offer, list };
}

const names = ({ tools }: Catalogue) => [...tools.keys()];
const current = (offer: Awaited<ReturnType<typeof offerOf>>["offer"]) => offer.current({} as never) as Catalogue;

test("the deployment's own catalogue is offered first; an upstream's list follows under its name as soon as it is announced", async () => {
  const { offer, list } = await offerOf();
  expect(names(current(offer))).toEqual(["a_mine"]);
  await list("b", ["x"]);
  await until(() => names(current(offer)).includes("b_x"));
  await list("a", ["x", "hidden"]);
  await until(() => names(current(offer)).includes("a_x"));
  expect(names(current(offer))).toEqual(["a_mine", "a_x", "b_x"]);
  expect(offer.isUpstreams("tool", "a_x")).toBe(true);
  expect(offer.isUpstreams("tool", "a_mine")).toBe(false);
  offer.close();
});

test("prompts, resources and what an upstream says of itself are offered to those who may use them, as tools are", async () => {
  const { offer, list } = await offerOf();
  const access = [{ include: ["open*"] }, { groups: ["staff"] }];
  await offer.replace(parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "b", url: "https://b.example.com", access }] })));
  const named = (name: string) => ({ name, uri: `x:${name}`, uriTemplate: `y:{${name}}` });
  const both = [named("open"), named("kept")];
  const rest = { prompts: both, resources: both, templates: both, readsResources: true, instructions: "Hello." };
  await list("b", ["kept"], rest);
  const of = (groups: readonly string[]) =>
    offer.current({ scopes: [], names: [], roles: [], authenticatedBy: "test", groups } as never) as Catalogue;
  await until(() => of(["staff"]).tools.has("b_kept"));
  const seen = ({ tools, prompts, resources, templates, unlisted, instructions, isPrivate }: Catalogue) => [
    [...tools.keys()],
    [...prompts.keys()],
    [...resources.keys()],
    templates.map(({ name }) => name),
    unlisted?.length,
    instructions?.includes("Hello."),
    isPrivate,
  ];
  expect(seen(of(["staff"]))).toEqual([
    ["a_mine", "b_kept"],
    ["b_open", "b_kept"],
    ["b+x:open", "b+x:kept"],
    ["b_open", "b_kept"],
    1,
    true,
    true,
  ]);
  expect(seen(of([]))).toEqual([["a_mine"], ["b_open"], ["b+x:open"], ["b_open"], 0, true, true]);
  // Callers whom the same rules are for get the same catalogue, until the lists change.
  expect(of([])).toBe(of(["others"]));
  await list("b", ["kept", "open"], rest);
  await until(() => of([]).tools.has("b_open"));
  offer.close();
});

test("rules of access that have replaced others hold at once, before any list is read again", async () => {
  const { offer, list } = await offerOf();
  const allowing = (...include: string[]) => {
    const access = [{ include, people: ["ann"] }];
    return parseUpstreams("up.json", JSON.stringify({ upstreams: [{ name: "b", url: "https://b.example.com", access }] }));
  };
  const toAnn = () =>
    names(offer.current({ scopes: [], names: ["ann"], groups: [], roles: [], authenticatedBy: "test" } as never) as Catalogue);
  await offer.replace(allowing("get_*"));
  await list("b", ["get_a", "set_a"]);
  await until(() => toAnn().includes("b_get_a"));
  const replaced = offer.replace(allowing("set_*"));
  expect(toAnn()).toEqual(["a_mine"]);
  await replaced;
  expect(toAnn()).toEqual(["a_mine", "b_set_a"]);
  offer.close();
});

test("a tool of the deployment itself takes precedence over an upstream's tool of the same name, which is logged", async () => {
  const warned: object[] = [];
  const { offer, list } = await offerOf(warned);
  await list("a", ["mine", "other"]);
  await until(() => names(current(offer)).includes("a_other"));
  expect(current(offer).tools.get("a_mine")).toBe(own.tools.get("a_mine"));
  expect(warned).toEqual([{ upstream: "a", tool: "a_mine" }]);
  offer.close();
});

test("a tool that is no longer listed is not offered, but still runs for its tasks", async () => {
  const { offer, list } = await offerOf();
  await list("a", ["old"]);
  await until(() => names(current(offer)).includes("a_old"));
  await list("a", ["new"]);
  await until(() => names(current(offer)).includes("a_new"));
  expect(names(current(offer))).not.toContain("a_old");
  expect(names(offer.runnable())).toEqual(expect.arrayContaining(["a_old", "a_new"]));
  expect([names(offer.listed()).includes("a_new"), names(offer.listed()).includes("a_old")]).toEqual([true, false]);
  offer.close();
});

test("listed items name the deployments that they came through, this one first", async () => {
  const { offer, list } = await offerOf();
  await list("a", ["x"]);
  await until(() => names(current(offer)).includes("a_x"));
  expect(current(offer).tools.get("a_x")?.meta).toEqual({ "parley/via": ["d"] });
  expect(current(offer).tools.get("a_mine")?.meta).toBeUndefined();
  offer.close();
});

test("resources that are not listed can be read where the upstream has resources and the file leaves nothing out", async () => {
  const { offer, list } = await offerOf();
  for (const name of ["a", "b", "c"]) await list(name, ["x"], { readsResources: true });
  await until(() => names(current(offer)).includes("c_x"));
  const readable = (uri: string) => current(offer).unlisted?.some(({ match }) => match(uri) !== undefined);
  expect(["a+x:1", "b+x:1", "c+x:1"].map(readable)).toEqual([false, true, false]);
  await list("b", ["y"], { readsResources: false });
  await until(() => names(current(offer)).includes("b_y"));
  expect(readable("b+x:1")).toBe(false);
  offer.close();
});

describe("the instructions of upstreams", () => {
  const long = "x".repeat(9_000);

  test("are passed on with the name of their server, as long as something of it is offered", async () => {
    const { offer, list } = await offerOf();
    expect(current(offer).instructions).toBeUndefined();
    await list("a", ["x"], { instructions: "Ask first." });
    await list("b", [], { instructions: "Nothing is here." });
    await list("c", ["x"]);
    await until(() => names(current(offer)).includes("c_x"));
    expect(current(offer).instructions).toBe("The server a, whose tools begin with a_, says:\nAsk first.");
    await list("b", ["x"], { instructions: "Now something is." });
    await until(() => names(current(offer)).includes("b_x"));
    expect(current(offer).instructions).toBe(
      "The server a, whose tools begin with a_, says:\nAsk first.\n\nThe server b, whose tools begin with b_, says:\nNow something is.",
    );
    await list("a", ["y"]);
    await until(() => names(current(offer)).includes("a_y"));
    expect(current(offer).instructions).not.toContain("Ask first.");
    offer.close();
  });

  test("have a limit together: those that do not fit are left out, which is logged, and shorter ones after them are not", async () => {
    const warned: object[] = [];
    const { offer, list } = await offerOf(warned);
    await list("a", ["x"], { instructions: long });
    await list("b", ["x"], { instructions: long });
    await list("c", ["x"], { instructions: "Short." });
    await until(() => names(current(offer)).includes("c_x"));
    const said = current(offer).instructions ?? "";
    expect([said.length < 16_001, said.includes("server a"), said.includes("server b"), said.endsWith("Short.")]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(warned).toContainEqual({ upstream: "b" });
    offer.close();
  });
});

test("tools are promised from the start, before any upstream was listed", async () => {
  const { offer } = await offerOf();
  expect(current(offer).grows).toBe(true);
  offer.close();
});
