/**
 * Values of metric labels, which come from fixed lists and from the catalogue. Separate from metrics.ts, which takes a tenth of a second to
 * load.
 */

/** The methods of all supported revisions; `batch` for several messages in one request, and `response` for a reply to a question. */
const METHODS = new Set([
  "batch",
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
  "response",
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

/** `none` for a request without a method: a GET, a DELETE, or no valid message. `other` for an unknown method. */
export function methodLabel(method: string | undefined): string {
  return method === undefined ? "none" : METHODS.has(method) ? method : "other";
}

/** `none` for a request without a version, `other` for an unknown one. */
export function dialectLabel(version: string | undefined): string {
  return version === undefined ? "none" : DIALECTS.has(version) ? version : "other";
}

const TOOLS_MAX = 500;
const tools = new Set<string>();

/**
 * The name of a tool, or `prompts/<name>`. Names after the first TOOLS_MAX are `other`, so that a large or ever-changing catalogue does not
 * fill the memory of the process and of the metrics collector.
 */
export function toolLabel({ kind, name }: { readonly kind: "tool" | "prompt"; readonly name: string }): string {
  return firstOf(tools, TOOLS_MAX, kind === "tool" ? name : `prompts/${name}`);
}

const RULES_MAX = 200;
const rules = new Set<string>();

/** The name of a rule for approvals. Names after the first RULES_MAX are `other`. */
export function ruleLabel(name: string): string {
  return firstOf(rules, RULES_MAX, name);
}

function firstOf(known: Set<string>, most: number, label: string): string {
  if (known.has(label)) return label;
  if (known.size >= most) return "other";
  known.add(label);
  return label;
}
