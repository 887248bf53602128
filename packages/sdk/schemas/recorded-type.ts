/**
 * The type of a step's result after its round trip through the journal, which is JSON: a Date becomes a string, a
 * function disappears. The first run returns the same as a replay, and the type says so.
 */
export type Recorded<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined | void
    ? T
    : T extends { toJSON(...args: never[]): infer J }
      ? Recorded<J>
      : T extends bigint | symbol | ((...args: never[]) => unknown)
        ? never
        : T extends readonly unknown[]
          ? { -readonly [K in keyof T]: Recorded<T[K]> }
          : T extends object
            ? { [K in keyof T]: Recorded<T[K]> }
            : never;
