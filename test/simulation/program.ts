/**
 * A handler as data: small enough to be drawn by chance, shrunk and printed. `interpret.ts` runs it, `describe.ts` writes it as TypeScript.
 *
 * A node's place in the tree, with the rounds of loops and the items of maps, is its *path*: who called an effect.
 */
import type { Source } from "./library.ts";
import type { Limiter } from "./limiters.ts";
import type { Lock } from "./locks.ts";

/**
 * What may be expected of a program, by what it awaits besides `ctx`.
 *
 *   pure      nothing: every run must see what the runs before it saw, in the same order.
 *   delayed   outside waits that only take time, and names of its own for each effect: nothing can be confused, so nothing may fail.
 *   outside   outside waits of any kind: right, or a loud failure.
 *   changed   new code under a waiting task, which returns earlier: right, or a loud failure.
 *   reading   reads of caches, clients and batches, each awaited: nothing may diverge, and what has an order is not refused (`mayBeRefused`).
 *   patched   new code under a waiting task, which goes another way where `patched` says so, with a name of its own for each effect: every rule but
 *             those for what an earlier run had seen and nothing recorded rests on.
 */
export const KINDS = ["pure", "delayed", "outside", "reading", "changed", "patched"] as const;
export type ProgramKind = (typeof KINDS)[number];

export interface Program {
  readonly kind: ProgramKind;
  /** Tries of the handler. */
  readonly attempts: number;
  readonly body: readonly Node[];
  /** What the handler makes before it does anything else (locks.ts). */
  readonly locks?: readonly Lock[];
  /** Its tool has a limit, whose one slot a worker holds that died as the task was made. */
  readonly limited?: true;
  /** Its tool undoes each recorded step once the task has ended without its result. */
  readonly compensates?: true;
  /** Its runs have little time: a step may outlast it. */
  readonly hurried?: true;
}

/** With `each` an item of a map adds its number to the name. */
interface Named {
  readonly name: string;
  readonly each?: true;
  /** The `key` of a call. */
  readonly key?: Key;
}

/** The same text each time, or one that is made of the place in the program, with its items and rounds. */
export type Key = string | "by place";
export const BY_PLACE = "by place";

interface Answered extends Named {
  readonly timeoutMs?: number;
  /** Its schema draws a number, another one each time it reads the answer. */
  readonly draws?: true;
}

export type Node = Effect | Wait | Group | Statement;

export type Effect =
  | (Named & {
      readonly op: "step";
      /** How many tries fail before one succeeds; `Infinity` is written as null, since a program is JSON. */
      readonly fails?: number | null;
      /** Tries within one run. */
      readonly attempts?: number;
      /** Its work does not look at the abort signal. */
      readonly deaf?: true;
    })
  /** With `quorum` two people must accept. */
  | (Answered & { readonly op: "ask"; readonly quorum?: true })
  | (Answered & { readonly op: "event" })
  /** `ctx.call`: another tool, which does a step. */
  | (Named & { readonly op: "child"; readonly timeoutMs?: number })
  | (Named & { readonly op: "sleep"; readonly ms: number })
  /** `patched` is drawn as a group of its own. */
  | { readonly op: "fact"; readonly fact: "now" | "random" | "uuid" | "patched" };

/** An effect that is a promise. */
export type Called = Exclude<Effect, { readonly op: "fact" }>;

export type Wait =
  /** Microtasks only: `await Promise.resolve()`, so often. */
  | { readonly op: "micro"; readonly times: number }
  /** Something that is not of ctx. Takes a time of its own in each run, or, when `cached`, none once the worker has seen it. */
  | { readonly op: "outside"; readonly cached?: true }
  /** A read of something that other tasks use too (library.ts). `own`: each item and round reads a row of its own. */
  | { readonly op: "read"; readonly source: Source; readonly row: string; readonly own?: true };

export type Group =
  | { readonly op: "seq" | "all" | "allSettled"; readonly body: readonly Node[] }
  /** With `withdraw`, asks and sleeps directly in it are withdrawn by a signal once it is decided. */
  | { readonly op: "race" | "any"; readonly body: readonly Node[]; readonly withdraw?: true }
  /** `Promise.all` over items. */
  | { readonly op: "map"; readonly times: number; readonly body: Node }
  | { readonly op: "loop"; readonly times: number; readonly body: Node }
  /** A helper: an async function of its own. */
  | { readonly op: "call"; readonly body: Node }
  | { readonly op: "branch"; readonly key: Key; readonly each?: true; readonly body: Node }
  /** `ctx.map`. With `key` the keys of its items begin. */
  | {
      readonly op: "ctxMap";
      readonly key: Key;
      readonly times: number;
      readonly concurrency?: number;
      readonly settle?: "allSettled";
      readonly body: Node;
    }
  /** Items that a library does a few at a time (limiters.ts). */
  | { readonly op: "limit"; readonly limiter: Limiter; readonly concurrency: number; readonly times: number; readonly body: Node }
  /** Has its turn at one of the program's locks. */
  | { readonly op: "lock"; readonly lock: number; readonly body: Node }
  /** Until it succeeds, with pauses that are not of ctx. */
  | { readonly op: "retry"; readonly times: number; readonly body: Node }
  /** `for await` over an async generator that does `within` before each item; the loop does `body` with it. */
  | { readonly op: "pages"; readonly times: number; readonly within: Node; readonly body: Node }
  /**
   * A call whose promise is given a reaction, which does `next`: `ctx.step(…).then(() => next)`. With `config`, behind a promise that the module has
   * made, and no run. With `lazy`, all of it happens only once an object is awaited that is no promise, or is returned by a function.
   */
  | { readonly op: "then"; readonly config?: true; readonly lazy?: "awaited" | "returned"; readonly body: Called; readonly next?: Node }
  /** A call of ctx whose promise is kept: the first who comes makes it, all others await the same. */
  | { readonly op: "once"; readonly id: number; readonly body: Effect }
  | { readonly op: "try"; readonly body: Node; readonly catch?: Node; readonly finally?: Node }
  /** By what the branch has seen so far. */
  | { readonly op: "if"; readonly body: Node; readonly else?: Node }
  /** `if (ctx.patched(patch)) body; else else`, and in the old code `else` alone. */
  | { readonly op: "patched"; readonly patch: string; readonly body: Node; readonly else?: Node };

export type Statement =
  /** Without `first` always; else so often, which is what a handler's `attempts` are for. */
  | { readonly op: "throw"; readonly first?: number }
  /** Starts something without awaiting it. */
  | { readonly op: "start"; readonly id: number; readonly body: Node }
  | { readonly op: "await"; readonly id: number }
  /** These three stand in the body of the program only. `return`: by what was seen. `changed`: returns, in the new code. */
  | { readonly op: "return" }
  | { readonly op: "changed" }
  | { readonly op: "restart"; readonly rounds: number };

/** Where a node has its children, in the order in which they run. */
const BRANCHES = ["within", "body", "next", "catch", "finally", "else"] as const;
type Branches = { readonly [branch in (typeof BRANCHES)[number]]?: Node | readonly Node[] };

export function childrenOf(node: Node): readonly Node[] {
  const branches = node as Branches;
  return BRANCHES.flatMap((branch) => branches[branch] ?? []);
}

/** The same node with other children. */
export function withChildren(node: Node, change: (child: Node) => Node): Node {
  const changed: Record<string, unknown> = { ...node };
  for (const branch of BRANCHES) {
    const children = (node as Branches)[branch];
    if (children) changed[branch] = "op" in children ? change(children) : children.map(change);
  }
  return changed as Node;
}

export function some(nodes: readonly Node[], test: (node: Node) => boolean): boolean {
  return nodes.some((node) => test(node) || some(childrenOf(node), test));
}

/** Whether a promise of this program may reject with nobody listening: its task may then fail, with its own code. */
export function mayRejectUnheard({ body }: Program): boolean {
  const awaited = new Set<number>();
  some(body, (node) => {
    if (node.op === "await") awaited.add(node.id);
    return false;
  });
  // A direct effect that is awaited later is the engine's to hold; an async function around it is the author's.
  // A handler that returns early may not come to its await.
  const endsEarly = some(body, (node) => node.op === "return");
  return some(body, (node) => node.op === "start" && canReject(node.body) && (endsEarly || !awaited.has(node.id) || !isEffect(node.body)));
}

const EFFECTS: ReadonlySet<string> = new Set<Effect["op"]>(["step", "ask", "event", "child", "sleep", "fact"]);

export function isEffect(node: Node): node is Effect {
  return EFFECTS.has(node.op);
}

export function canReject(node: Node): boolean {
  return some([node], (each) => (each.op === "step" && each.fails !== undefined) || each.op === "throw" || each.op === "any");
}

/** Whether a failing effect is started here and heard only later: nobody can tell, without listening, when it settled. */
export function settlesUnseen({ body }: Program): boolean {
  return some(body, (node) => node.op === "start" && isEffect(node.body) && canReject(node.body));
}

/** What runs its children beside each other, or beside the code that follows. */
const BESIDE: ReadonlySet<Node["op"]> = new Set<Node["op"]>(["all", "allSettled", "any", "race", "map", "limit", "start"]);

export function isCall(node: Node): node is Called {
  return isEffect(node) && node.op !== "fact";
}

/** Whether it is a chunk: a `Promise.all` in whose items a read comes first, and then the only call. */
function isChunk(node: Node): boolean {
  if (node.op !== "map" || node.body.op !== "seq") return false;
  const [last, ...reads] = node.body.body.toReversed();
  const call = last?.op === "then" && !last.next ? last.body : last;
  return call !== undefined && isEffect(call) && call.op !== "fact" && reads.length > 0 && reads.every(({ op }) => op === "read");
}

/**
 * Whether a call of this program may be refused because its order is not certain: one that has no key, and runs beside other code of its flow. What
 * runs one after another, what has a key, and the items of `ctx.map` are always told apart. So are chunks that come one after another, as long as no
 * Promise.all can fail and leave items behind.
 */
export function mayBeRefused({ body }: Program): boolean {
  const mayFail = body.some(canReject);
  const uncertain = (node: Node, isBeside: boolean): boolean => {
    if (!isBeside && !mayFail && isChunk(node)) return false;
    if (isEffect(node)) return isBeside && (node.op === "fact" || node.key === undefined);
    const within = node.op === "ctxMap" || node.op === "branch" ? false : isBeside || BESIDE.has(node.op);
    return childrenOf(node).some((child) => uncertain(child, within));
  };
  return body.some((node) => uncertain(node, false)) || hasContention({ body });
}

/**
 * Whether a lock is taken by code beside other code: who comes first is decided by what they have read. Items that take it before anything else come in
 * their order.
 */
export function hasContention({ body }: Pick<Program, "body">): boolean {
  const contends = (node: Node, isBeside: boolean): boolean => {
    if (node.op === "lock" && isBeside) return true;
    const within = isBeside || BESIDE.has(node.op) || node.op === "ctxMap";
    const children = node.op === "map" && !isBeside && node.body.op === "lock" ? childrenOf(node.body) : childrenOf(node);
    return children.some((child) => contends(child, within));
  };
  return body.some((node) => contends(node, false));
}

/** Whether all runs see the same values, in whatever order: nothing is decided by who is first. */
export function seesTheSame({ kind, body }: Program): boolean {
  if (kind === "pure") return true;
  return kind === "reading" && !some(body, (node) => node.op === "race" || node.op === "any" || canReject(node));
}
