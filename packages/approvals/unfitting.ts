/**
 * Names in rules that fit no tool and no prompt: misspelt, or of something that is not offered yet. Such a rule stops nothing, which nobody notices, so it
 * is said; but servers behind the gateway may be away, so it is no problem of the file.
 */
import type { Rules } from "./rules.ts";

export interface KnownNames {
  readonly tools: Iterable<string>;
  readonly prompts: Iterable<string>;
  /** How names of what nobody has listed yet begin: those of servers behind the gateway. */
  readonly unlisted: readonly string[];
}

export interface Unfitting {
  readonly rule: string;
  readonly kind: "tool" | "prompt";
  readonly name: string;
  /** How many of its kind are known. */
  readonly known: number;
}

/** A sorted list finds what begins with a text at once: at the bounds of a file and of a gateway, comparing each with each would block the process. */
export function unfittingNames({ names }: Pick<Rules, "names">, { tools, prompts, unlisted }: KnownNames): readonly Unfitting[] {
  const known = { tool: indexed(tools), prompt: indexed(prompts) };
  return names
    .filter(({ kind, name }) => name !== "*" && !known[kind].fits(name) && !unlisted.some((prefix) => couldBegin(name, prefix)))
    .map((each) => ({ ...each, known: known[each.kind].count }));
}

export function unfittingText({ rule, kind, name, known }: Unfitting): string {
  return `rule ${rule}: ${JSON.stringify(name)} fits none of the known ${kind}s (${known})`;
}

function indexed(names: Iterable<string>) {
  const all = [...names];
  const forward = all.toSorted();
  const backward = all.map(reversed).toSorted();
  const exact = new Set(all);
  return {
    count: all.length,
    fits(name: string): boolean {
      if (name.endsWith("*")) return beginsOne(forward, name.slice(0, -1));
      if (name.startsWith("*")) return beginsOne(backward, reversed(name.slice(1)));
      return exact.has(name);
    },
  };
}

/** Whether one of the sorted texts begins with that: the first that does not come before it would. */
function beginsOne(sorted: readonly string[], beginning: string): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) < beginning) low = middle + 1;
    else high = middle;
  }
  return sorted[low]?.startsWith(beginning) ?? false;
}

function reversed(text: string): string {
  return Array.from(text).toReversed().join("");
}

/** Whether something whose name begins with the prefix could fit. */
function couldBegin(name: string, prefix: string): boolean {
  if (name.startsWith("*")) return true;
  const beginning = name.replace("*", "");
  return beginning.startsWith(prefix) || (name.endsWith("*") && prefix.startsWith(beginning));
}
