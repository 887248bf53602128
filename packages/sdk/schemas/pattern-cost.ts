/**
 * The worst-case time of a backtracking engine to reject a string, as a function of the string's length.
 *
 * A pattern is read as an automaton without empty moves (Glushkov's: one state per character class in the pattern). A
 * backtracking engine tries every path, so the number of paths that one string can take is what counts:
 *
 *   exponential   a state can return to itself on two paths with one string:                       (a+)+   (a|a)*   (\w+\s?)*
 *   n² and more   two loops accept the same string, and so does the path from the first to the second: a*a*    .*@.*    \s+$ (it may start anywhere)
 *   n             neither
 *
 * Repetitions that are counted, and alternatives, multiply that by a number that does not depend on the length, but may be just as large: `a{0,64}` six
 * times, `a?` thirty times. These ways are counted apart, in two steps:
 *
 *   each choice is one way more, for every string        exact enough for most patterns: \d{1,3}(\.\d{1,3}){3}
 *   each counted repetition is a loop                    only loops that accept the same string multiply their ways: [a-z]{1,64}(\.[a-z]{1,64}){3}
 *
 * Where the automaton is not exact it overestimates: a counted repetition of more than a few states counts as a loop,
 * lookarounds match nothing and have a cost of their own, a backreference matches every string that its group
 * accepts, modifiers such as `(?i:…)` may be in force anywhere, and a class that contains strings matches every string.
 *
 * Why it is not a library: docs/adr/0025-what-could-be-a-library.md. Source: A. Weber, H. Seidl, "On the degree of ambiguity of finite automata" (1991): criteria EDA and IDA.
 */
import { type AST, RegExpParser } from "@eslint-community/regexpp";

/** `degree` 1 is linear; 0 does not depend on the length. `ways`: the factor by which counted repetitions and alternatives multiply the time. */
export type PatternCost =
  | { readonly type: "polynomial"; readonly degree: number; readonly ways: number }
  | { readonly type: "exponential" }
  /** Not a pattern, or too large to judge. */
  | { readonly type: "unknown"; readonly why: string };

const STATES_MAX = 400;
/** Maximum number of state pairs and triples to examine. */
const STEPS_MAX = 2_000_000;
/** A reference is followed into its group, which takes longer than a pair. */
const STEPS_OF_REFERENCE = 1_000;
const KEPT_MAX = 1_000;
/** So many ways, or fewer, are not counted more exactly: that of host names in zod has 992 by the first step. */
export const WAYS_FEW = 1_000;

/** Least recently used first. Patterns are few, and tools that ask inline use the same ones in every run. */
const known = new Map<string, PatternCost>();

export function patternCost(source: string, flags: string): PatternCost {
  const key = `${flags}/${source}`;
  const cost = known.get(key) ?? judged(source, flags);
  known.delete(key);
  known.set(key, cost);
  const [oldest] = known.keys();
  if (known.size > KEPT_MAX && oldest !== undefined) known.delete(oldest);
  return cost;
}

function judged(source: string, flags: string): PatternCost {
  try {
    const unicode = { unicode: flags.includes("u"), unicodeSets: flags.includes("v") };
    const { alternatives } = new RegExpParser().parsePattern(source, 0, source.length, unicode);
    const modifiers = source.match(MODIFIERS)?.join("") ?? "";
    const hasLines = `${flags}${modifiers}`.includes("m");
    const judging = { flags, modifiers, isAnchored: !hasLines && isAnchored(alternatives), isBackward: false };
    const { degree, ways } = costOf(alternatives, { ...judging, countsAsLoop: false, budget: { steps: STEPS_MAX } });
    if (degree === Infinity) return { type: "exponential" };
    if (ways <= WAYS_FEW) return { type: "polynomial", degree, ways };
    const counted = costOf(alternatives, { ...judging, countsAsLoop: true, budget: { steps: STEPS_MAX } });
    return { type: "polynomial", degree, ways: Math.min(ways, counted.ways) };
  } catch (error) {
    return { type: "unknown", why: error instanceof Error ? error.message : String(error) };
  }
}

/** The start of `(?i:…)` or `(?-s:…)`: parts with flags of their own. */
const MODIFIERS = /\(\?[ims-]+:/g;

interface Judging {
  readonly flags: string;
  /** The modifiers of all groups. */
  readonly modifiers: string;
  /** It can match only at one place of the string. */
  readonly isAnchored: boolean;
  /** The inside of a lookbehind, which the engine matches from its end to its start. */
  readonly isBackward: boolean;
  /** Short counted repetitions are loops too, whose turns count as ways. Otherwise they are unrolled. */
  readonly countsAsLoop: boolean;
  readonly budget: { steps: number };
}

interface Cost {
  /** Of the polynomial; Infinity for faster growth. */
  readonly degree: number;
  readonly ways: number;
}

function costOf(alternatives: readonly AST.Alternative[], judging: Judging): Cost {
  const automaton = build(alternatives, judging);
  const { next, turns, hasManyWays, lookarounds } = automaton;
  const loops = loopsOf(next);
  if (hasManyWays || hasTwoWaysBack(automaton, loops, judging.budget)) return { degree: Infinity, ways: Infinity };
  const own = judging.countsAsLoop
    ? { degree: 0, ways: automaton.ways * Math.round(2 ** longestChain(automaton, loops, judging.budget, (loop) => turnsOf(loop, turns))) }
    : { degree: longestChain(automaton, loops, judging.budget, () => 1), ways: automaton.ways };
  return lookarounds.reduce((worst, { inside, isFirst, isBackward }) => {
    const { degree, ways } = costOf(inside, { ...judging, isAnchored: true, isBackward });
    // At the start of an anchored pattern it is tried once, elsewhere each time the engine reaches it.
    const reached = isFirst && judging.isAnchored ? degree : own.degree + degree;
    return { degree: Math.max(worst.degree, reached), ways: worst.ways * ways };
  }, own);
}

/** As a power of two. */
function turnsOf(loop: readonly number[], turns: ReadonlyMap<number, number>): number {
  return Math.log2(Math.max(...loop.map((state) => turns.get(state) ?? 1)));
}

// ── the automaton ────────────────────────────────────────────────────────────────────────────────────────────────

interface Automaton {
  /** By state: the atoms of the alphabet that it accepts, as bits. Empty without loops. */
  readonly takes: readonly bigint[];
  /** By state: its successors, and the number of ways to reach each. */
  readonly next: readonly ReadonlyMap<number, number>[];
  readonly lookarounds: readonly Lookaround[];
  /** The number of ways through it, the same for every string. Loops count as one: what they add is found by the criteria. */
  readonly ways: number;
  /** By state of a counted repetition that is a loop: how many numbers of turns are possible. */
  readonly turns: ReadonlyMap<number, number>;
  /** (a?){30}: each repetition may match something or nothing, which doubles the number of ways each time. */
  readonly hasManyWays: boolean;
}

interface Lookaround {
  readonly inside: readonly AST.Alternative[];
  /** Nothing of the string has been consumed before it. */
  readonly isFirst: boolean;
  readonly isBackward: boolean;
}

interface Fragment {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly isEmptyToo: boolean;
  readonly ways: number;
}

const EMPTY: Fragment = { first: [], last: [], isEmptyToo: true, ways: 1 };
/**
 * Repetitions of one state up to the first number are unrolled, others up to the second; longer ones count as loops.
 */
const COPIES_OF_ONE_MAX = 64;
const COPIES_MAX = 4;
const EMPTY_REPETITIONS_MAX = 10;

function build(alternatives: readonly AST.Alternative[], judging: Judging): Automaton {
  const { isAnchored, isBackward, countsAsLoop, budget } = judging;
  const classes: string[] = [];
  const next: Map<number, number>[] = [];
  const lookarounds: Lookaround[] = [];
  const turns = new Map<number, number>();
  const copied = new Set<AST.CapturingGroup>();
  let hasManyWays = false;
  /** Whether anything but the start of the string is checked besides the characters. */
  let hasConditions = false;

  function state(raw: string): Fragment {
    if (classes.length >= STATES_MAX) throw new Error(`it is too large to judge: more than ${STATES_MAX} characters and classes`);
    const id = classes.push(raw) - 1;
    next.push(new Map());
    return { first: [id], last: [id], isEmptyToo: false, ways: 1 };
  }

  function link(from: readonly number[], to: readonly number[]): void {
    for (const one of from) for (const other of to) next[one]?.set(other, (next[one].get(other) ?? 0) + 1);
  }

  function inOrder(one: Fragment, other: Fragment): Fragment {
    link(one.last, other.first);
    return {
      first: one.isEmptyToo ? [...one.first, ...other.first] : one.first,
      last: other.isEmptyToo ? [...one.last, ...other.last] : other.last,
      isEmptyToo: one.isEmptyToo && other.isEmptyToo,
      ways: one.ways * other.ways,
    };
  }

  function oneOf(branches: readonly AST.Alternative[], isFirst: boolean): Fragment {
    const fragments = branches.map(({ elements }) => {
      let whole = EMPTY;
      for (const element of elements) whole = inOrder(whole, fragment(element, isFirst && whole.first.length === 0));
      return whole;
    });
    return {
      first: fragments.flatMap(({ first }) => first),
      last: fragments.flatMap(({ last }) => last),
      isEmptyToo: fragments.some(({ isEmptyToo }) => isEmptyToo),
      ways: fragments.reduce((sum, { ways }) => sum + ways, 0),
    };
  }

  function fragment(element: AST.Element, isFirst: boolean): Fragment {
    switch (element.type) {
      case "Character":
      case "CharacterClass":
      case "CharacterSet":
      case "ExpressionCharacterClass":
        return HAS_STRINGS.test(element.raw) ? anything() : state(element.raw);
      case "Group":
      case "CapturingGroup":
        return oneOf(element.alternatives, isFirst);
      case "Quantifier":
        return repeated(element, isFirst);
      case "Backreference":
        // It matches one of the strings that its group accepts, and that is what is checked.
        hasConditions = true;
        return again([element.resolved].flat());
      case "Assertion":
        hasConditions ||= element.kind !== "start";
        if (element.kind === "lookahead" || element.kind === "lookbehind") {
          lookarounds.push({ inside: element.alternatives, isFirst, isBackward: element.kind === "lookbehind" });
        }
        return EMPTY;
    }
  }

  function anything(): Fragment {
    const any = state(ANY);
    link(any.last, any.first);
    return { ...any, isEmptyToo: true };
  }

  /**
   * A backreference matches one of the strings that its group can match, or nothing. Groups that refer to each other
   * may match anything.
   */
  function again(groups: readonly AST.CapturingGroup[]): Fragment {
    // Groups without characters can double with each reference.
    spend(budget, STEPS_OF_REFERENCE);
    if (groups.some((group) => copied.has(group))) return anything();
    groups.forEach((group) => copied.add(group));
    const copy = oneOf(
      groups.flatMap(({ alternatives: branches }) => branches),
      false,
    );
    groups.forEach((group) => copied.delete(group));
    return { ...copy, isEmptyToo: true };
  }

  function repeated({ element, min, max }: AST.Quantifier, isFirst: boolean): Fragment {
    if (max === 0) return EMPTY;
    const before = classes.length;
    const once = fragment(element, isFirst && max === 1);
    const size = classes.length - before;
    const isShort = max <= (size === 1 ? COPIES_OF_ONE_MAX : COPIES_MAX) && (max === 1 || !once.isEmptyToo);
    if (!isShort) {
      hasManyWays ||= once.isEmptyToo && size > 0 && Number.isFinite(max) && max > EMPTY_REPETITIONS_MAX;
      link(once.last, once.first);
      // One way in, and one out.
      return { ...once, isEmptyToo: once.isEmptyToo || min === 0, ways: once.ways ** 2 };
    }
    if (countsAsLoop && max > min && !isLooped(once) && (size === 1 || max > 1)) return counted(element, { once, before, min, max });
    // x{2,4} is x x (x (x)?)?, so each string has one path.
    let whole = { ...once, isEmptyToo: once.isEmptyToo || min === 0 };
    let last = once;
    const lasts = [...once.last];
    for (let copy = 2; copy <= max; copy += 1) {
      const another = fragment(element, false);
      link(last.last, another.first);
      if (copy <= min) lasts.length = 0;
      lasts.push(...another.last);
      last = another;
    }
    let ways = 0;
    for (let turn = min; turn <= max; turn += 1) ways += once.ways ** turn;
    whole = { ...whole, last: lasts, ways };
    return whole;
  }

  interface Counted {
    readonly once: Fragment;
    /** The number of states before it. */
    readonly before: number;
    readonly min: number;
    readonly max: number;
  }

  /** x{2,64} is x x+, with 63 numbers of turns. */
  function counted(element: AST.QuantifiableElement, { once, before, min, max }: Counted): Fragment {
    let [whole, last, from] = [once, once, before];
    for (let copy = 2; copy <= min; copy += 1) {
      from = classes.length;
      last = fragment(element, false);
      whole = inOrder(whole, last);
    }
    link(last.last, last.first);
    for (let id = from; id < classes.length; id += 1) turns.set(id, (turns.get(id) ?? 1) * (max - min + 1));
    return { ...whole, isEmptyToo: whole.isEmptyToo || min === 0 };
  }

  /** A loop of one state that is repeated, such as (a*){1,3}. */
  function isLooped({ first, last }: Fragment): boolean {
    return last.some((from) => first.some((to) => next[from]?.has(to)));
  }

  const own = oneOf(alternatives, true);
  // A match may begin anywhere in the string, as if any prefix preceded it.
  const whole = isAnchored ? own : inOrder(anything(), own);
  // Without a condition on what follows, the engine succeeds as soon as it gets here. A string that does not match
  // never gets here.
  if (!hasConditions) {
    if (isBackward) for (const to of next) for (const id of whole.first) to.delete(id);
    else for (const id of whole.last) next[id]?.clear();
  }
  // Only loops are compared by what they accept. Patterns of dates, times and ids have none, and every process judges
  // some at startup.
  const takes = loopsOf(next).all.length === 0 ? [] : takenBy(classes, judging);
  return { takes, next, lookarounds, ways: own.ways, turns, hasManyWays };
}

const ANY = "[^]";

/** With the flag v, a class may contain strings: `[\q{ab|c}]`, `\p{RGI_Emoji}`. */
const HAS_STRINGS = /\\q\{|\\p\{(?:RGI_|Basic_Emoji|Emoji_Keycap_Sequence)/;

function isAnchored(alternatives: readonly AST.Alternative[]): boolean {
  return alternatives.every(({ elements }) => {
    for (const element of elements) {
      if (element.type === "Assertion" && element.kind === "start") return true;
      if ((element.type === "Group" || element.type === "CapturingGroup") && isAnchored(element.alternatives)) return true;
      if (element.type !== "Assertion") return false;
    }
    return false;
  });
}

// ── the alphabet ─────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Asks the engine itself which classes share a character, so that escapes, properties and flags have their real
 * meaning: tests all of Latin, the start of every range, the first character after it, and a few of each other kind of
 * character. Properties are tested with nearly all characters of small scripts.
 */
function takenBy(classes: readonly string[], { flags, modifiers }: Judging): bigint[] {
  const kinds = [...new Set(classes)];
  const own = flags.replaceAll(/[^isuv]/g, "");
  const fixed = own.replaceAll(/[is]/g, "");
  // What a class accepts with one of the two, it accepts with both or with neither.
  const used = modifiers === "" ? [own] : [fixed, `${fixed}is`];
  const tests = kinds.map((raw) => used.map((each) => new RegExp(`^(?:${raw})$`, each)));
  const atoms = new Map<string, bigint>();
  const taken: bigint[] = [];
  for (const sample of samplesFor(kinds.join(""))) {
    const isIn = tests.map((variants) => variants.some((each) => each.test(sample)));
    const signature = isIn.join();
    let atom = atoms.get(signature);
    if (atom === undefined) atoms.set(signature, (atom = 1n << BigInt(atoms.size)));
    for (const [index, isTaken] of isIn.entries()) if (isTaken) taken[index] = (taken[index] ?? 0n) | atom;
  }
  const all = (1n << BigInt(atoms.size)) - 1n;
  // A class that contains none of the samples may share characters with any other.
  return classes.map((raw) => taken[kinds.indexOf(raw)] ?? all);
}

const LATIN = between(0, 0x17f);
const BEYOND = `
  1e9e 17f 212a 2028 2029 feff a0 1680 3000 301 20dd 200d fe0f 20e3 ad 200b 391 3b1 3c2 410 430 5d0 627 661 905 966 e01
  e34 10d0 1100 3042 30a2 30fc 4e00 ac00 d55c ff21 ff10 2160 b2 bd 20ac 2190 221e 2018 ab 203f 2014 2122 2764 e000 1f600
  1f1e6 1f3fb 1f9b0 1d400 20000 e0061 10ffff`
  .trim()
  .split(/\s+/)
  .map((code) => Number.parseInt(code, 16));

/** All but the large blocks of Chinese, Hangul, rare scripts and private use, in which characters hardly differ. */
function small(): readonly number[] {
  return [between(0, 0x33ff), between(0xa000, 0xabff), between(0xf900, 0x11fff), between(0x1d000, 0x1faff)].flat();
}

function between(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function samplesFor(text: string): string[] {
  // Without the flags u and v, halves of a character are characters.
  const named = Array.from(text).flatMap((character) => [
    character.codePointAt(0) ?? 0,
    ...character.split("").map((half) => half.charCodeAt(0)),
  ]);
  const escaped = [...text.matchAll(/\\u(?:\{([0-9a-f]+)\}|([0-9a-f]{4}))/gi)].map(([, long, short]) =>
    Number.parseInt(long ?? short ?? "", 16),
  );
  // What two classes share begins at the start of a range, or after the end of an excluded one.
  const starts = [...named, ...escaped].flatMap((code) => [code, code + 1]);
  const properties = /\\p/i.test(text) ? small() : [];
  return [...new Set([...LATIN, ...BEYOND, ...starts, ...properties])]
    .filter((code) => code <= 0x10ffff)
    .map((code) => String.fromCodePoint(code));
}

// ── the criteria ─────────────────────────────────────────────────────────────────────────────────────────────────

/** EDA: one string can leave some state and return to it in two ways. */
function hasTwoWaysBack({ takes, next }: Automaton, loops: Components, budget: Judging["budget"]): boolean {
  if (loops.all.length === 0) return false;
  const size = next.length;
  const pairs = components(size * size, (pair) => {
    const [one, other] = [Math.floor(pair / size), pair % size];
    // A path that leaves a loop does not return to it.
    if (loops.of(one) === undefined || loops.of(other) === undefined) return [];
    const found: number[] = [];
    for (const one2 of next[one]?.keys() ?? []) {
      for (const other2 of next[other]?.keys() ?? []) {
        spend(budget);
        if (share(takes[one2], takes[other2])) found.push(one2 * size + other2);
      }
    }
    return found;
  });
  for (let at = 0; at < size; at += 1) {
    const home = pairs.of(at * size + at);
    if (home === undefined) continue;
    // Two different states at once on the way …
    if (home.some((pair) => Math.floor(pair / size) !== pair % size)) return true;
    // … or two ways from one state to the next.
    const together = new Set(home);
    for (const pair of home) {
      const from = pair % size;
      for (const [to, ways] of next[from] ?? []) if (ways > 1 && together.has(to * size + to)) return true;
    }
  }
  return false;
}

/**
 * IDA: the longest chain of loops that accept, each with the path that leads there, the same string as the one
 * before. Its length is the sum of the lengths of its loops.
 */
function longestChain(
  { takes, next }: Pick<Automaton, "takes" | "next">,
  { all }: Components,
  budget: Judging["budget"],
  lengthOf: (loop: readonly number[]) => number,
): number {
  const size = next.length;
  const behind = all.map((one) => all.map((other) => one !== other && isChained(one, other)));
  const depths = new Map<number, number>();
  const depth = (index: number): number => {
    const found = depths.get(index);
    if (found !== undefined) return found;
    const deepest = lengthOf(all[index] ?? []) + Math.max(0, ...all.map((_, other) => (behind[index]?.[other] ? depth(other) : 0)));
    depths.set(index, deepest);
    return deepest;
  };
  return Math.max(0, ...all.map((_, index) => depth(index)));

  function isChained(one: readonly number[], other: readonly number[]): boolean {
    const inOne = new Set(one);
    const inOther = new Set(other);
    return one.some((p) => other.some((q) => meets(p, q, inOne, inOther)));
  }

  /** Whether one string leads from p to p, from p to q and from q to q. */
  function meets(p: number, q: number, inOne: ReadonlySet<number>, inOther: ReadonlySet<number>): boolean {
    const goal = (p * size + q) * size + q;
    const seen = new Set<number>();
    const open = [[p, p, q] as const];
    for (let at = open.pop(); at; at = open.pop()) {
      for (const a of next[at[0]]?.keys() ?? []) {
        if (!inOne.has(a)) continue;
        for (const c of next[at[2]]?.keys() ?? []) {
          if (!inOther.has(c)) continue;
          const both = (takes[a] ?? 0n) & (takes[c] ?? 0n);
          if (both === 0n) continue;
          for (const b of next[at[1]]?.keys() ?? []) {
            spend(budget);
            if (!share(both, takes[b])) continue;
            const id = (a * size + b) * size + c;
            if (id === goal) return true;
            if (seen.has(id)) continue;
            seen.add(id);
            open.push([a, b, c]);
          }
        }
      }
    }
    return false;
  }
}

/** The states that can return to themselves, grouped by the paths that they share. */
function loopsOf(next: Automaton["next"]): Components {
  const { all, of } = components(next.length, (from) => [...(next[from]?.keys() ?? [])]);
  return { all: all.filter(([state = 0]) => of(state) !== undefined), of };
}

function share(one: bigint | undefined, other: bigint | undefined): boolean {
  return ((one ?? 0n) & (other ?? 0n)) !== 0n;
}

function spend(budget: Judging["budget"], steps = 1): void {
  budget.steps -= steps;
  if (budget.steps < 0) throw new Error("it is too large to judge");
}

interface Components {
  readonly all: readonly (readonly number[])[];
  /** The nodes that are reachable from the node and reach it; undefined if it is on no loop. */
  of(node: number): readonly number[] | undefined;
}

/** Tarjan's strongly connected components, without recursion, because patterns may be deep. */
function components(count: number, edges: (node: number) => readonly number[]): Components {
  const index = new Map<number, number>();
  const low = new Map<number, number>();
  const onStack = new Set<number>();
  const stack: number[] = [];
  const all: number[][] = [];
  const home = new Map<number, number[]>();
  const isLooped = new Set<number>();
  for (let root = 0; root < count; root += 1) {
    if (index.has(root)) continue;
    const work: { readonly node: number; readonly rest: readonly number[]; at: number }[] = [];
    const enter = (node: number) => {
      index.set(node, index.size);
      low.set(node, index.get(node) ?? 0);
      stack.push(node);
      onStack.add(node);
      const rest = edges(node);
      if (rest.includes(node)) isLooped.add(node);
      work.push({ node, rest, at: 0 });
    };
    enter(root);
    for (let frame = work.at(-1); frame; frame = work.at(-1)) {
      const { node, rest } = frame;
      const to = rest[frame.at];
      if (to !== undefined) {
        frame.at += 1;
        if (!index.has(to)) enter(to);
        else if (onStack.has(to)) low.set(node, Math.min(low.get(node) ?? 0, index.get(to) ?? 0));
        continue;
      }
      work.pop();
      const parent = work.at(-1)?.node;
      if (parent !== undefined) low.set(parent, Math.min(low.get(parent) ?? 0, low.get(node) ?? 0));
      if (low.get(node) !== index.get(node)) continue;
      const component = stack.splice(stack.lastIndexOf(node));
      for (const each of component) {
        onStack.delete(each);
        home.set(each, component);
      }
      all.push(component);
    }
  }
  return {
    all,
    of(node) {
      const component = home.get(node);
      return component !== undefined && (component.length > 1 || isLooped.has(node)) ? component : undefined;
    },
  };
}
