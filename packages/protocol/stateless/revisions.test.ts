import { describe, expect, test } from "vitest";
import { SUPPORTED_VERSIONS } from "../versions.ts";
import { STATELESS_DIALECTS, statelessDialect } from "./index.ts";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const naming = (version: unknown) => ({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: { [VERSION]: version } } });
const silent = { jsonrpc: "2.0", id: 1, method: "tools/list" };

test("each version without sessions has its dialect", () => {
  expect(STATELESS_DIALECTS.map(({ version }) => version)).toStrictEqual(SUPPORTED_VERSIONS.filter((version) => version > "2026"));
});

describe("a request is of a revision without sessions", () => {
  test.each([
    ["its header names one", { "mcp-protocol-version": "2026-07-28" }, silent],
    ["its header names one and it has no body that could be read", { "mcp-protocol-version": " 2026-07-28 " }, undefined],
    ["its _meta names one", {}, naming("2026-07-28")],
    ["its _meta names one and its header another", { "mcp-protocol-version": "2025-11-25" }, naming("2026-07-28")],
    ["its _meta names a version that is not served, which the newest says", {}, naming("2026-07-29")],
    ["its _meta has a version that is none", {}, naming(5)],
  ])("when %s", (_why, headers, body) => {
    expect(statelessDialect({ headers, body })?.version).toBe("2026-07-28");
  });

  test.each([
    ["nothing names a version", {}, silent],
    ["its header names one with sessions", { "mcp-protocol-version": "2025-11-25" }, silent],
    ["its header names one that is not served", { "mcp-protocol-version": "2026-07-29" }, silent],
    ["its params and its _meta are something else", {}, { params: [{ _meta: { [VERSION]: "2026-07-28" } }] }],
    ["its _meta is not an object", {}, { params: { _meta: "2026-07-28" } }],
    ["the version is only inherited", {}, { params: { _meta: Object.create({ [VERSION]: "2026-07-28" }) as object } }],
  ])("and not when %s", (_why, headers, body) => {
    expect(statelessDialect({ headers, body })).toBeUndefined();
  });
});
