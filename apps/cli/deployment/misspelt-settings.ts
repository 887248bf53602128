/** Variables that are no settings but nearly have the name of one. Processes ignore them. */
export function misspelt(names: readonly string[], settings: readonly string[]): { readonly name: string; readonly meant: string }[] {
  const known = new Set(settings);
  return names.flatMap((name) => {
    const base = name.replace(/_FILE$/, "");
    if (!name.startsWith("PARLEY_") || known.has(base) || known.has(name)) return [];
    const [meant] = settings.filter((setting) => areNear(base, setting));
    return meant === undefined ? [] : [{ name, meant }];
  });
}

const EDITS_MAX = 2;

/** Whether at most two letters are missing, added or different (Levenshtein). */
function areNear(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > EDITS_MAX) return false;
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let line = 0; line < one.length; line += 1) {
    const next = [line + 1];
    for (let column = 0; column < other.length; column += 1) {
      const replaced = (row[column] ?? 0) + (one[line] === other[column] ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return (row[other.length] ?? 0) <= EDITS_MAX;
}
