/**
 * Bounds what one evaluation of a condition looks at, so that no arguments make it take a second. Whoever calls a tool chooses the texts, and some
 * functions look at a text again and again: `contains` with a long text to find, `replace`, `matches`, everything in a loop.
 *
 * Each call of a function is charged before it runs, about one for what takes 10 ns. Evaluations are synchronous, so one counter is enough.
 */
import { type CelEnv, isCelList, isCelMap } from "@bufbuild/cel";

/** About 0.2 s on a machine of 2024. */
const EFFORT_MAX = 20_000_000;
/** As many parts as a condition may loop over. */
export const PARTS_MAX = 2_000;
/** Of any call, with what a loop does around it. */
const CALL = 200;
/** Of each value that is compared. */
const VALUE = 10;
/** Functions that look at each character on its own. */
const SLOW: ReadonlySet<string> = new Set([
  "lowerAscii",
  "upperAscii",
  "strings.quote",
  "format",
  "size",
  "split",
  "bytes",
  "string",
  "trim",
]);
const SEARCHES: ReadonlySet<string> = new Set(["contains", "indexOf", "lastIndexOf", "split", "replace"]);

let left = 0;

/** Call it before each evaluation. */
export function renewEffort(): void {
  left = EFFORT_MAX;
}

export function metered(environment: CelEnv): CelEnv {
  const { funcs } = environment;
  const find: typeof funcs.find = (name) => {
    const group = funcs.find(name);
    if (group === undefined) return undefined;
    const call: typeof group.call = (id, target, args) => {
      left -= effortOf(name, target === undefined ? args : [target, ...args]);
      // Thrown, since an error that is a value does not end an evaluation: `false && …` and a loop go on, which alone takes seconds.
      if (left < 0) throw new Error("it would have to look at too much");
      const result = group.call(id, target, args);
      if (isCelList(result) && result.size > PARTS_MAX) throw new Error(`it makes a list of more than ${PARTS_MAX} parts`);
      return result;
    };
    return Object.create(group, { call: { value: call } }) as typeof group;
  };
  return Object.create(environment, { funcs: { value: Object.create(funcs, { find: { value: find } }) } }) as CelEnv;
}

function effortOf(name: string, values: readonly unknown[]): number {
  const [text, other, third] = values;
  const isDeep = /^(_==_|_!=_|@in|join|format)$/.test(name);
  const read = values.reduce<number>((sum, each) => sum + (isDeep ? weightOf(each) : lengthOf(each)), CALL);
  let effort = SLOW.has(name) ? read * 10 : read;
  // What a loop collects grows one by one, and is walked from its end.
  if (name === "_+_" && isCelList(text)) effort += text.size * 4;
  if (name === "join" && isCelList(text)) effort += text.size * lengthOf(other);
  if (typeof text !== "string" || typeof other !== "string") return effort;
  // In the worst case, a search compares all of what it looks for at each place.
  if (SEARCHES.has(name)) effort += (text.length * other.length) / 64;
  // It copies the text for each place, and what it puts there.
  if (name === "replace" && effort < left) {
    const places = other === "" ? text.length : text.split(other).length - 1;
    effort += (places * (text.length + places * lengthOf(third))) / 32;
  }
  if (name === "matches") effort += text.length * statesOf(other);
  return effort;
}

/** Of the machine that RE2 makes of a pattern, at most: it writes out what is repeated. */
function statesOf(pattern: string): number {
  const repeated = [...pattern.slice(0, 10_000).matchAll(/\d+(?=\})/g)].reduce((sum, [times]) => sum + Number(times), 1);
  return pattern.length * repeated;
}

function lengthOf(value: unknown): number {
  return typeof value === "string" || value instanceof Uint8Array ? value.length : 0;
}

/** Of a value with all that is in it. */
function weightOf(value: unknown): number {
  let sum = VALUE + lengthOf(value);
  const parts = isCelList(value) ? value : isCelMap(value) ? [...value].flat() : [];
  for (const part of parts) {
    sum += weightOf(part);
    if (sum > left) break;
  }
  return sum;
}
