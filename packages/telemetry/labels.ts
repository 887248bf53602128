/** What stands in the labels of metrics: names out of lists and of the catalogue. Apart from the metrics, which take a tenth of a second to load. */

/** The methods of every revision that is spoken; a request that never became a message has none. */
const METHODS = new Set([
  "completion/complete",
  "elicitation/create",
  "initialize",
  "logging/setLevel",
  "notifications/cancelled",
  "notifications/initialized",
  "notifications/progress",
  "notifications/roots/list_changed",
  "ping",
  "prompts/get",
  "prompts/list",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
  "server/discover",
  "subscriptions/listen",
  "tasks/cancel",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tasks/sendInput",
  "tasks/update",
  "tools/call",
  "tools/list",
]);

const DIALECTS = new Set(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);

export function methodLabel(method: string | undefined): string {
  return method === undefined ? "none" : METHODS.has(method) ? method : "other";
}

export function dialectLabel(version: string | undefined): string {
  return version === undefined ? "none" : DIALECTS.has(version) ? version : "other";
}

const TOOLS_MAX = 500;
const tools = new Set<string>();

/** A tool's or prompt's name. A catalogue that is larger than this, or always new, must not fill the collector's memory. */
export function toolLabel({ kind, name }: { readonly kind: "tool" | "prompt"; readonly name: string }): string {
  const label = kind === "tool" ? name : `prompts/${name}`;
  if (tools.has(label)) return label;
  if (tools.size >= TOOLS_MAX) return "other";
  tools.add(label);
  return label;
}
