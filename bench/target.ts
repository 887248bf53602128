/** The targets of the figures. Targets and the peers' figures were set before Parley was written. */
export interface Target {
  readonly text: string;
  /** Undefined where there is nothing to compare with. */
  isReached(value: number, floor: number | undefined): boolean | undefined;
}

export function atMost(limit: number, unit: string): Target {
  return { text: `≤ ${limit.toLocaleString("en")}${spaced(unit)}`, isReached: (value) => value <= limit };
}

export function atLeast(limit: number, unit: string): Target {
  return { text: `≥ ${limit.toLocaleString("en")}${spaced(unit)}`, isReached: (value) => value >= limit };
}

export function atLeastOfFloor(share: number): Target {
  return {
    text: `≥ ${share * 100} % of the floor`,
    isReached: (value, floor) => (floor === undefined ? undefined : value >= share * floor),
  };
}

export function atMostOfFloor(ratio: number): Target {
  return {
    text: `≤ ${ratio.toFixed(2)} × the floor`,
    isReached: (value, floor) => (floor === undefined ? undefined : value <= ratio * floor),
  };
}

function spaced(unit: string): string {
  return unit === "" || unit.startsWith("/") ? unit : ` ${unit}`;
}
