const CAUSES_MAX = 5;

/** Describes an error of the client by its kind and the kinds of its causes. Their messages may contain what the upstream sent, or its address. */
export function wordFor(error: unknown): string {
  const words: string[] = [];
  let at: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && typeof at === "object" && at !== null; depth += 1) {
    const { code, name, status, cause } = at as { code?: unknown; name?: unknown; status?: unknown; cause?: unknown };
    const parts = [name, code, typeof status === "number" ? `HTTP ${status}` : undefined];
    words.push(parts.filter((part) => typeof part === "string" || typeof part === "number").join(" "));
    at = cause;
  }
  return words.filter((word) => word !== "").join(", ") || "unknown";
}
