/** Makes a failing case small: drops and simplifies nodes, then calms the schedule, as long as the same rule stays broken. */
import { plainerLocks } from "./locks.ts";
import { childrenOf, isCall, isEffect, type Node, type Program } from "./program.ts";
import type { Rule } from "./rules.ts";
import { simulateKept, type Verdict } from "./simulate.ts";

const TRIES_MAX = 3_000;

export interface Shrunk {
  readonly verdict: Verdict;
  readonly tries: number;
}

export async function shrink(failing: Verdict, rule: Rule): Promise<Shrunk> {
  let best = failing;
  let tries = 0;

  async function better(program: Program, choices: readonly number[]): Promise<boolean> {
    // A delayed program is one whose effects cannot be confused; without names of their own it would be another kind.
    if (tries >= TRIES_MAX || (program.kind === "delayed" && !hasOwnNames(program))) return false;
    tries += 1;
    const verdict = await simulateKept(program, choices);
    if (!verdict.violations.some((violation) => violation.rule === rule)) return false;
    best = { ...verdict, choices: withoutCalmEnd(choices) };
    return true;
  }

  for (let changed = true; changed && tries < TRIES_MAX;) {
    changed = false;
    for (let again = true; again;) {
      again = false;
      for (const program of smaller(best.program)) {
        if (await better(program, best.choices)) {
          again = changed = true;
          break;
        }
      }
    }
    if (
      await calm(
        () => best.choices,
        (choices) => better(best.program, choices),
      )
    )
      changed = true;
  }
  return { verdict: best, tries };
}

/** Whether items of maps tell their effects apart. */
function hasOwnNames({ body }: Program): boolean {
  const own = (node: Node, inMap: boolean): boolean =>
    !(inMap && "name" in node && !node.each) && childrenOf(node).every((each) => own(each, inMap || node.op === "map"));
  return body.every((node) => own(node, false));
}

/** Cuts chunks out of the schedule and sets them to the calm choice, large ones first. */
async function calm(current: () => readonly number[], better: (choices: readonly number[]) => Promise<boolean>): Promise<boolean> {
  let changed = false;
  for (let size = Math.ceil(current().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < current().length;) {
      const choices = current();
      const chunk = choices.slice(start, start + size);
      const [before, after] = [choices.slice(0, start), choices.slice(start + size)];
      const zeros = chunk.map(() => 0);
      if (await better([...before, ...after])) changed = true;
      else if (chunk.some((choice) => choice !== 0) && (await better([...before, ...zeros, ...after]))) {
        changed = true;
        start += size;
      } else start += size;
    }
  }
  return changed;
}

function withoutCalmEnd(choices: readonly number[]): readonly number[] {
  return choices.slice(0, choices.findLastIndex((choice) => choice !== 0) + 1);
}

/** Programs with one thing less. */
function* smaller(program: Program): Generator<Program> {
  for (const body of smallerLists(program.body, 0)) yield { ...program, body };
  for (const [index, lock] of (program.locks ?? []).entries()) {
    for (const plainer of plainerLocks(lock)) yield { ...program, locks: (program.locks ?? []).with(index, plainer) };
  }
  if (program.attempts > 1) yield { ...program, attempts: program.attempts - 1 };
  for (const member of ["limited", "compensates", "hurried"] as const) if (program[member]) yield without(program, member);
}

function* smallerLists(nodes: readonly Node[], least: number): Generator<Node[]> {
  if (nodes.length > least) for (let index = 0; index < nodes.length; index += 1) yield nodes.toSpliced(index, 1);
  for (const [index, node] of nodes.entries()) for (const other of smallerNodes(node)) yield nodes.toSpliced(index, 1, other);
}

function* smallerNodes(node: Node): Generator<Node> {
  switch (node.op) {
    case "seq":
    case "all":
    case "allSettled":
      yield* node.body;
      for (const body of smallerLists(node.body, 1)) yield { ...node, body };
      return;
    case "race":
    case "any": {
      yield* node.body;
      const { withdraw, ...rest } = node;
      if (withdraw) yield rest;
      for (const body of smallerLists(node.body, 1)) yield { ...node, body };
      return;
    }
    case "map":
    case "loop":
    case "ctxMap":
    case "limit":
    case "retry":
      yield node.body;
      if (node.times > 1) yield { ...node, times: node.times - 1 };
      for (const body of smallerNodes(node.body)) yield { ...node, body };
      return;
    case "lock":
      yield node.body;
      for (const body of smallerNodes(node.body)) yield { ...node, body };
      return;
    case "pages":
      yield node.within;
      yield node.body;
      if (node.times > 1) yield { ...node, times: node.times - 1 };
      for (const within of smallerNodes(node.within)) yield { ...node, within };
      for (const body of smallerNodes(node.body)) yield { ...node, body };
      return;
    case "then": {
      const { next, ...rest } = node;
      yield node.body;
      if (next) yield next;
      if (next) yield rest;
      for (const member of ["config", "lazy"] as const) if (node[member]) yield without(node, member);
      for (const body of smallerNodes(node.body)) if (isCall(body)) yield { ...node, body };
      if (next) for (const other of smallerNodes(next)) yield { ...node, next: other };
      return;
    }
    case "once":
      yield node.body;
      for (const body of smallerNodes(node.body)) if (isEffect(body)) yield { ...node, body };
      return;
    case "read":
      if (node.source !== "cache") yield { ...node, source: "cache" };
      if (node.own) yield without(node, "own");
      return;
    case "call":
    case "branch":
      yield node.body;
      for (const body of smallerNodes(node.body)) yield { ...node, body };
      return;
    case "start":
      for (const body of smallerNodes(node.body)) yield { ...node, body };
      return;
    case "try": {
      yield node.body;
      const { catch: caught, finally: last, ...rest } = node;
      if (caught) yield { ...rest, ...(last && { finally: last }) };
      if (last) yield { ...rest, ...(caught && { catch: caught }) };
      for (const body of smallerNodes(node.body)) yield { ...node, body };
      if (caught) for (const other of smallerNodes(caught)) yield { ...node, catch: other };
      if (last) for (const other of smallerNodes(last)) yield { ...node, finally: other };
      return;
    }
    case "if": {
      yield node.body;
      if (node.else) yield node.else;
      for (const body of smallerNodes(node.body)) yield { ...node, body };
      if (node.else) for (const other of smallerNodes(node.else)) yield { ...node, else: other };
      return;
    }
    case "step": {
      const { fails, attempts, deaf, each, ...rest } = node;
      if (fails !== undefined || attempts !== undefined || deaf || each) yield rest;
      if (deaf)
        yield { ...rest, ...(fails !== undefined && { fails }), ...(attempts !== undefined && { attempts }), ...(each && { each }) };
      return;
    }
    case "child":
      yield { op: "step", name: node.name, ...(node.each && { each: true }), ...(node.key !== undefined && { key: node.key }) };
      for (const member of ["timeoutMs", "each"] as const) if (node[member] !== undefined) yield without(node, member);
      return;
    case "event":
      yield { ...node, op: "ask" };
      for (const member of ["draws", "timeoutMs", "each"] as const) if (node[member] !== undefined) yield without(node, member);
      return;
    case "ask":
      for (const member of ["draws", "quorum", "timeoutMs", "each"] as const) if (node[member] !== undefined) yield without(node, member);
      return;
    case "sleep":
      if (node.ms > 10) yield { ...node, ms: 10 };
      return;
    case "micro":
      if (node.times > 1) yield { ...node, times: node.times - 1 };
      return;
    case "throw":
      if (node.first !== undefined && node.first > 1) yield { ...node, first: node.first - 1 };
      return;
    default:
      return;
  }
}

function without<T extends object>(node: T, member: keyof T): T {
  const { [member]: _, ...rest } = node;
  return rest as T;
}
