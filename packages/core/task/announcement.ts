/** A list that has changed for all clients, or a resource, by its URI. */
export type Announcement = { readonly type: "tools" | "prompts" | "resources" } | { readonly type: "resource"; readonly uri: string };
const LISTS: ReadonlySet<unknown> = new Set(["tools", "prompts", "resources"]);

/** Whether a value is an announcement: authors may have no types, and every process reads what others have published. */
export function isAnnouncement(value: unknown): value is Announcement {
  if (typeof value !== "object" || value === null) return false;
  const { type, uri } = value as { readonly type?: unknown; readonly uri?: unknown };
  return type === "resource" ? typeof uri === "string" : LISTS.has(type);
}
