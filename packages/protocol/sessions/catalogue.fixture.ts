/** A catalogue with every member that an entry can have. */
import type { Catalogue, JsonObject, Prompt, Tool } from "@parley/core";

const run = {
  earlyReplies: false,
  settings: { attempts: 1, backoffMs: 0, runTimeoutMs: 0, retentionMs: 0 },
  readArguments: (args: JsonObject) => ({ ok: true as const, args }),
  run: () => Promise.resolve({}),
};
const contents = [{ uri: "test://a", mimeType: "text/plain", text: "text" }];

export function tool(name: string, more: Partial<Tool> = {}): Tool {
  return { kind: "tool", name, inputSchema: { type: "object" }, task: "never", askFirst: false, needs: {}, ...run, ...more };
}

const full = {
  title: "Alpha",
  description: "First.",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { to: { $anchor: "a", type: "string" } },
  },
  outputSchema: { type: "object", properties: { n: { type: "number" } } },
  annotations: { readOnlyHint: true },
  icons: [{ src: "https://example.com/a.png" }],
  meta: { "com.example/x": 1 },
};

export const brief: Prompt = {
  kind: "prompt",
  name: "brief",
  title: "Brief",
  description: "A brief.",
  arguments: [{ name: "topic", title: "Topic", description: "About what.", required: true, complete: () => ["rain"] }],
  ...run,
};

const annotations = { audience: ["user"], priority: 0.5, lastModified: "2025-01-12T15:00:58Z" };

export const served: Catalogue = {
  tools: new Map(
    [tool("plain"), tool("alpha", { ...full, task: "required" }), tool("omega", { task: "optional" })].map((one) => [one.name, one]),
  ),
  prompts: new Map([["brief", brief]]),
  resources: new Map([
    [
      "test://a",
      {
        uri: "test://a",
        name: "a",
        title: "The a",
        description: "All of it.",
        mimeType: "text/plain",
        size: 4,
        annotations,
        read: () => Promise.resolve(contents),
      },
    ],
  ]),
  templates: [
    {
      uriTemplate: "test://{id}",
      name: "data",
      title: "Data",
      description: "Data.",
      mimeType: "text/plain",
      annotations,
      match: () => undefined,
      read: () => Promise.resolve(contents),
    },
  ],
};

export const nothing: Catalogue = { tools: new Map(), prompts: new Map(), resources: new Map(), templates: [] };
