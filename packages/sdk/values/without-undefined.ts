/** The object without keys whose value is undefined: with `exactOptionalPropertyTypes`, absent and undefined differ. */
export function present<T extends object>(facts: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
