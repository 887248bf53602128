/** Where an error came from, without its message: that can hold what a person answered. */
export function framesOf(error: Error): string[] {
  return (error.stack ?? "")
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .map((line) => line.trim());
}
