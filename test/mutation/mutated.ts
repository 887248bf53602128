/** The packages that are mutated, and the projects of vitest.config.ts whose tests can detect mutants. */
export const MUTATED = {
  core: ["unit"],
  sdk: ["unit"],
  protocol: ["unit"],
  redis: ["unit", "redis"],
} as const;

export function isMutated(name: string): name is keyof typeof MUTATED {
  return Object.hasOwn(MUTATED, name);
}
