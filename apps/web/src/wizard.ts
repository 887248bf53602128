/** Where the page of a wizard leads, by the hints of its question. */

interface Asked {
  readonly hints?: Readonly<Record<string, unknown>>;
}

/** A page of a wizard that has one before it: declining it goes there. */
export function isWayBack({ hints }: Asked): boolean {
  return hints?.["back"] === true;
}

/** A page of a wizard other than the last. */
export function hasNextPage({ hints }: Asked): boolean {
  const { number, count } = (hints?.["step"] ?? {}) as { readonly number?: unknown; readonly count?: unknown };
  return typeof number === "number" && typeof count === "number" && number < count;
}
