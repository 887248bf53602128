/**
 * The keyword `multipleOf` for ajv in decimal digits. ajv divides binary fractions: it refuses 19.99 as a multiple of
 * 0.01, and with 1,363 others of the first 10,000 hundredths.
 */
export const MULTIPLE_OF = {
  keyword: "multipleOf",
  type: "number",
  schemaType: "number",
  validate: isMultipleOf,
} as const;

/** Compares the decimal digits that people write. `step` must be more than 0. */
export function isMultipleOf(step: number, value: number): boolean {
  const [digits, exponent] = decimal(value);
  const [stepDigits, stepExponent] = decimal(step);
  const shared = Math.min(exponent, stepExponent);
  return (digits * 10n ** BigInt(exponent - shared)) % (stepDigits * 10n ** BigInt(stepExponent - shared)) === 0n;
}

/** `19.99` → `[1999n, -2]`. */
function decimal(number: number): readonly [digits: bigint, exponent: number] {
  const [mantissa = "0", power = "0"] = number.toExponential().split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(power) - fraction.length];
}
