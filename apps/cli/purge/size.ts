/** Sizes of stored data, as people write and read them: `10kB`, `1.5 MB`. Units are decimal. */
const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;
const SIZE = /^(\d+(?:\.\d+)?) ?([kKMGT]?B?)$/;

/** Throws an Error that says how a size is written. */
export function bytesOf(text: string): number {
  const [, number = "", unit = ""] = SIZE.exec(text) ?? [];
  if (number === "") throw new Error(`not a size: ${JSON.stringify(text)}. Write a number and B, kB, MB or GB, for example 10kB`);
  const power = "kMGT".indexOf(unit.charAt(0).replace("K", "k")) + 1;
  return Math.round(Number(number) * 1_000 ** (unit === "" || unit === "B" ? 0 : power));
}

export function sized(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1_000 ** power;
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power]}`;
}
