/**
 * Finds rules that never decide, because one before them, without a condition, fits every call that they fit. Rules are looked up by what they name: to compare
 * each with each would block the process for many seconds at the bounds of a file.
 */

/** The part of a rule that says which calls it is about. */
interface About {
  readonly tools?: readonly string[] | undefined;
  readonly prompts?: readonly string[] | undefined;
  readonly annotations?: Readonly<Record<string, boolean>> | undefined;
  readonly when?: string | undefined;
}

/** What a rule is about: without names, every tool and no prompt. */
export function namesIn({ tools, prompts }: About): { readonly tool: readonly string[]; readonly prompt: readonly string[] } {
  return { tool: tools ?? (prompts ? [] : ["*"]), prompt: prompts ?? [] };
}

/** The places of such rules, each with the first rule that leaves it nothing. */
export function unreached<Rule extends About>(rules: readonly Rule[]): readonly { readonly at: number; readonly by: Rule }[] {
  const before = new Map<string, Known<Rule>[]>();
  return rules.flatMap((rule, at) => {
    const { tool, prompt } = namesIn(rule);
    const names = [...tool.map((name) => `tool ${name}`), ...prompt.map((name) => `prompt ${name}`)];
    const wider = names.map(widerNames);
    const count = (each: readonly string[]) => each.reduce((sum, name) => sum + (before.get(name)?.length ?? 0), 0);
    // A rule that leaves it nothing is among those that fit its rarest name.
    const rarest = wider.reduce((rare, each) => (count(each) < count(rare) ? each : rare));
    const found = rarest
      .flatMap((name) => before.get(name) ?? [])
      .filter((each) => wants(each.rule, rule) && wider.every((some) => some.some((name) => each.names.has(name))));
    const [first] = found.toSorted((one, other) => one.at - other.at);
    if (rule.when === undefined) {
      const known = { rule, at, names: new Set(names) };
      for (const name of known.names) {
        const all = before.get(name);
        if (all) all.push(known);
        else before.set(name, [known]);
      }
    }
    return first ? [{ at, by: first.rule }] : [];
  });
}

interface Known<Rule> {
  readonly rule: Rule;
  readonly at: number;
  readonly names: ReadonlySet<string>;
}

/** Whether a call that has what `other` wants has what `one` wants. */
function wants({ annotations: wanted = {} }: About, other: About): boolean {
  return Object.entries(wanted).every(([key, value]) => other.annotations?.[key] === value);
}

/** The names, each with at most one star, that fit everything that this one fits. */
function widerNames(named: string): readonly string[] {
  const [kind, name] = named.split(" ") as [string, string];
  const bare = name.replace("*", "");
  const lengths = Array.from({ length: bare.length + 1 }, (_, length) => length);
  const begins = name.startsWith("*") ? [] : lengths.map((length) => `${bare.slice(0, length)}*`);
  const ends = name.endsWith("*") ? [] : lengths.map((length) => `*${bare.slice(length)}`);
  return [...new Set([name, "*", ...begins, ...ends])].map((each) => `${kind} ${each}`);
}
