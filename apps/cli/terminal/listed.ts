/** The entries of a list that is separated by commas. */
export function listed(text = ""): string[] {
  return text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}
