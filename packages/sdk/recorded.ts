/**
 * What a step's result is after its trip through the journal: JSON. A Date comes back as its text, a function not at all; the type says so,
 * so that replay and first run look alike to the compiler as they do to the tool.
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
