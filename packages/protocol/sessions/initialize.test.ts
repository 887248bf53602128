import { InitializeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { readInitialize } from "./index.ts";

const initialize = (params: unknown, id: unknown = 0): unknown => ({ jsonrpc: "2.0", id, method: "initialize", params });
const clientInfo = { name: "c", version: "1", title: "C" };
const asking = (protocolVersion: string, capabilities: object = {}): unknown => initialize({ protocolVersion, capabilities, clientInfo });

describe("initialize", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26"])("of a revision that is served is answered by it: %s", (version) => {
    InitializeRequestSchema.parse(asking(version));
    expect(readInitialize(asking(version))).toStrictEqual({
      type: "initialize",
      initialize: { id: 0, version, capabilities: {}, clientInfo: { name: "c", version: "1" } },
    });
  });

  test.each(["2024-11-05", "2026-07-28", "2099-01-01", "", "__proto__"])(
    "of any other is offered the newest that has sessions: %s",
    (version) => {
      expect(readInitialize(asking(version))).toMatchObject({ type: "initialize", initialize: { version: "2025-11-25" } });
    },
  );

  test("says what the client can be asked", () => {
    const capabilities = (declared: object) => {
      const read = readInitialize(asking("2025-11-25", declared));
      return read?.type === "initialize" ? read.initialize.capabilities : undefined;
    };
    expect(capabilities({ elicitation: {}, sampling: {}, roots: { listChanged: true } })).toStrictEqual({
      elicitation: { form: true, url: false },
      sampling: { tools: false },
      roots: true,
    });
    expect(capabilities({ elicitation: { form: {}, url: {} }, sampling: { tools: {} } })).toStrictEqual({
      elicitation: { form: true, url: true },
      sampling: { tools: true },
    });
    expect(capabilities({ elicitation: { url: {} } })).toStrictEqual({ elicitation: { form: false, url: true } });
    expect(capabilities({ elicitation: { voice: {} } })).toStrictEqual({ elicitation: { form: false, url: false } });
    expect(capabilities({ elicitation: null, sampling: null, roots: null })).toStrictEqual({});
    expect(capabilities({ elicitation: { form: null, url: null } })).toStrictEqual({ elicitation: { form: true, url: false } });
    expect(capabilities({ experimental: { x: 1 }, tasks: {}, extensions: 5 })).toStrictEqual({});
  });

  test.each([
    ["no params", initialize({}), "protocolVersion is required"],
    ["a version that is no text", initialize({ protocolVersion: 1, capabilities: {} }), "protocolVersion must be a string"],
    ["no capabilities", initialize({ protocolVersion: "2025-11-25" }), "capabilities is required"],
    ["a list of capabilities", initialize({ protocolVersion: "2025-11-25", capabilities: [] }), "capabilities must be an object"],
    ["a capability that is not an object", asking("2025-11-25", { elicitation: true }), "capabilities.elicitation must be an object"],
    ["a model that is not an object", asking("2025-11-25", { sampling: "yes" }), "capabilities.sampling must be an object"],
    ["roots that are a list", asking("2025-11-25", { roots: [] }), "capabilities.roots must be an object"],
  ])("with %s is refused", (_, message, text) => {
    expect(readInitialize(message)).toStrictEqual({
      type: "rejected",
      httpStatus: 200,
      message: { jsonrpc: "2.0", id: 0, error: { code: -32602, message: text } },
    });
  });

  test("needs no client name, and cuts long ones", () => {
    for (const info of [undefined, "c", { name: "c" }, { name: 1, version: "1" }]) {
      const read = readInitialize(
        initialize({ protocolVersion: "2025-11-25", capabilities: {}, ...(info === undefined ? {} : { clientInfo: info }) }),
      );
      expect(read).toStrictEqual({ type: "initialize", initialize: { id: 0, version: "2025-11-25", capabilities: {} } });
    }
    const long = { name: "n".repeat(1_000), version: "v".repeat(1_000) };
    expect(readInitialize(initialize({ protocolVersion: "2025-11-25", capabilities: {}, clientInfo: long }))).toMatchObject({
      initialize: { clientInfo: { name: "n".repeat(100), version: "v".repeat(100) } },
    });
  });

  test.each([
    ["another request", { jsonrpc: "2.0", id: 1, method: "ping" }],
    ["a notification of that name", { jsonrpc: "2.0", method: "initialize", params: {} }],
    ["a batch", [asking("2025-03-26")]],
    ["a message without a version", { id: 1, method: "initialize", params: {} }],
    ["nothing", null],
  ])("is not seen in %s", (_, message) => {
    expect(readInitialize(message)).toBeUndefined();
  });
});
