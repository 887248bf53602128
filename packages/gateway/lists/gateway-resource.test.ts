/** Resources of upstreams under uris of their own. */
import type { ResourceContents } from "@parley/core";
import { expect, test } from "vitest";
import { cpuMs } from "../../../test/support/cpu-ms.ts";
import {
  gatewayResource,
  gatewayTemplate,
  promptCompletion,
  type ReadThrough,
  unlistedResources,
  withOwnUris,
} from "./gateway-resource.ts";
import { URI_CHARS_MAX } from "./listing.ts";
import { parseUpstreams } from "../config/upstreams.ts";
import { HOPS_MAX } from "./passed-gateways.ts";

const [upstream, other] = parseUpstreams(
  "up.json",
  JSON.stringify({
    upstreams: [
      { name: "crm", url: "https://crm.example.com" },
      { name: "1st", url: "https://first.example.com", prefix: "one_" },
    ],
  }),
);

function reading() {
  const wanted: unknown[] = [];
  const reads: ReadThrough = {
    async read({ name }, uri) {
      wanted.push([name, uri]);
      return [{ uri, text: "content" } satisfies ResourceContents];
    },
    async complete({ name }, completion) {
      wanted.push([name, completion]);
      return ["completed"];
    },
  };
  return { wanted, reads };
}

test("a uri begins with its upstream's name as the scheme, and the upstream reads its own uri", async () => {
  const { wanted, reads } = reading();
  const resource = gatewayResource(
    { uri: "file:///a", name: "a", mimeType: "text/plain", _meta: { y: 1 } },
    { upstream: upstream!, reads },
  );
  expect(resource).toMatchObject({ uri: "crm+file:///a", name: "crm_a", mimeType: "text/plain", meta: { y: 1 } });
  expect(await resource.read()).toEqual([{ uri: "crm+file:///a", text: "content" }]);
  expect(wanted).toEqual([["crm", "file:///a"]]);
  expect(gatewayResource({ uri: "file:///a", name: "a" }, { upstream: other!, reads }).uri).toBe("up-1st+file:///a");
});

test("a resource of an MCP App keeps the scheme without which hosts refuse it", async () => {
  const { wanted, reads } = reading();
  const here = { upstream: upstream!, reads };
  const app = gatewayResource({ uri: "ui://clock/app.html", name: "clock" }, here);
  expect(app.uri).toBe("ui://crm+clock/app.html");
  expect(await app.read()).toEqual([{ uri: "ui://crm+clock/app.html", text: "content" }]);
  const template = gatewayTemplate({ uriTemplate: "ui://clock/{zone}", name: "zones" }, { ...here, completes: false });
  expect([template.uriTemplate, template.match("ui://crm+clock/utc"), template.match("ui://clock/utc")]).toEqual([
    "ui://crm+clock/{zone}",
    {},
    undefined,
  ]);
  const { match, read } = unlistedResources(here);
  // The second is in results of earlier versions.
  for (const uri of ["ui://crm+clock/app.html", "crm+ui://clock/app.html"]) {
    expect(match(uri)).toEqual({});
    await read(uri, {});
  }
  for (const uri of ["ui://clock/app.html", "ui://crm/app.html", "ui://up-1st+clock/app.html"]) expect(match(uri)).toBeUndefined();
  const through = (gateways: number) => `ui://crm+${"b+".repeat(gateways - 1)}clock/a+b`;
  expect([match(through(HOPS_MAX)), match(through(HOPS_MAX + 1))]).toEqual([{}, undefined]);
  expect(wanted).toEqual(Array.from({ length: 3 }, () => ["crm", "ui://clock/app.html"]));
});

test("uris in _meta are rewritten like links, and nothing else in it", () => {
  const given = {
    ui: { resourceUri: "ui://clock/app.html", visibility: ["app"], csp: { connectDomains: ["https://a.example.com"] } },
    "ui/resourceUri": "ui://clock/app.html",
    links: [{ uri: "file:///a", page_uri: "https://example.com/a", text: "file:///a", uri_count: 2 }],
    security: "x:y",
    uri: "no uri",
  };
  const owned = {
    ui: { ...given.ui, resourceUri: "ui://crm+clock/app.html" },
    "ui/resourceUri": "ui://crm+clock/app.html",
    links: [{ ...given.links[0], uri: "crm+file:///a" }],
    security: "x:y",
    uri: "no uri",
  };
  const text = { type: "text", text: "t" };
  const resource = { uri: "x:y", text: "t" };
  expect(
    withOwnUris(
      {
        _meta: given,
        content: [
          { ...text, _meta: given },
          { type: "resource", resource: { ...resource, _meta: given } },
        ],
      },
      upstream!,
    ),
  ).toEqual({
    _meta: owned,
    content: [
      { ...text, _meta: owned },
      { type: "resource", resource: { ...resource, uri: "crm+x:y", _meta: owned } },
    ],
  });
  const { reads } = reading();
  expect(gatewayResource({ uri: "ui://clock/app.html", name: "a", _meta: given }, { upstream: upstream!, reads }).meta).toEqual(owned);
});

test("a resource that is not listed is read by its uri at the upstream that the uri names", async () => {
  const { wanted, reads } = reading();
  const { match, read } = unlistedResources({ upstream: upstream!, reads });
  expect(match("crm+report://1")).toEqual({});
  for (const uri of ["report://1", "up-1st+report://1", "crm:report://1"]) expect(match(uri)).toBeUndefined();
  const through = (gateways: number) => `crm+${"b+".repeat(gateways - 1)}report://1+2`;
  expect([match(through(HOPS_MAX)), match(through(HOPS_MAX + 1))]).toEqual([{}, undefined]);
  const long = (chars: number) => `crm+${"report://".padEnd(chars, "1")}`;
  expect([match(long(URI_CHARS_MAX)), match(long(URI_CHARS_MAX + 1))]).toEqual([{}, undefined]);
  expect(await read("crm+report://1", {})).toEqual([{ uri: "crm+report://1", text: "content" }]);
  expect(wanted).toEqual([["crm", "report://1"]]);
});

test.each([
  ["file:///{path}", "crm+file:///a/b", true],
  ["file:///{path}", "crm+file:///", true],
  ["file:///{path}", "file:///a", false],
  ["file:///{path}", "crm+http:///a", false],
  ["x://{a}/items/{b}.json", "crm+x://1/items/2.json", true],
  ["x://{a}/items/{b}.json", "crm+x://1/items/2.xml", false],
  ["x://{a}/items/{b}.json", "crm+x://1/2.json", false],
  ["x://{a}bc", "crm+x://bc", true],
  ["x://ab{a}ba", "crm+x://aba", false],
  ["x://a{v}b{w}b", "crm+x://ab", false],
  ["x://a{v}b{w}b", "crm+x://abb", true],
  ["x://fixed", "crm+x://fixed", true],
  ["x://fixed", "crm+x://fixed/not", false],
  ["x://s{?q}", "crm+x://s?q=1", true],
])("the template %s matches %s: %s", (uriTemplate, uri, fits) => {
  const template = gatewayTemplate({ uriTemplate, name: "t" }, { upstream: upstream!, reads: reading().reads, completes: false });
  expect(template.match(uri) !== undefined).toBe(fits);
});

test("a template of many variables is compared in time that grows with the uri alone", async () => {
  const template = gatewayTemplate(
    { uriTemplate: `x://${"{a}b".repeat(500)}c`, name: "t" },
    { upstream: upstream!, reads: reading().reads, completes: false },
  );
  const uri = `crm+x://${"b".repeat(2_000)}`;
  expect(await cpuMs(() => expect(template.match(uri)).toBeUndefined())).toBeLessThan(500);
});

test("arguments are completed where the upstream does so", async () => {
  const { wanted, reads } = reading();
  const of = { uriTemplate: "x://{a}/{b}", name: "t" };
  expect(gatewayTemplate(of, { upstream: upstream!, reads, completes: false }).complete).toBeUndefined();
  const template = gatewayTemplate(of, { upstream: upstream!, reads, completes: true });
  expect(await template.complete?.("b", "1", { a: "2" })).toEqual(["completed"]);
  expect(await promptCompletion("p", "x", { upstream: upstream!, reads })("v", {})).toEqual(["completed"]);
  expect(wanted).toEqual([
    ["crm", { ref: { type: "ref/resource", uri: "x://{a}/{b}" }, argument: { name: "b", value: "1" }, context: { arguments: { a: "2" } } }],
    ["crm", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "x", value: "v" } }],
  ]);
});

test("links in results use the uris that are listed here; web addresses stay unchanged", () => {
  const link = (uri: string) => ({ type: "resource_link", uri, name: "a" });
  const content = [
    link("file:///a"),
    link("HTTPS://example.com/a"),
    { type: "resource", resource: { uri: "x:y", text: "t" } },
    { type: "text", text: "x:y" },
  ];
  const owned = [
    link("crm+file:///a"),
    link("HTTPS://example.com/a"),
    { type: "resource", resource: { uri: "crm+x:y", text: "t" } },
    { type: "text", text: "x:y" },
  ];
  expect(withOwnUris({ content, isError: false }, upstream!)).toEqual({ content: owned, isError: false });
  expect(withOwnUris({ messages: content.map((each) => ({ role: "user", content: each })) }, upstream!)).toEqual({
    messages: owned.map((each) => ({ role: "user", content: each })),
  });
});
