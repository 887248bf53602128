/** Programs by chance, with a leaning towards what people write: a map with steps in it, a race against a patience, a question at the end. */
import { createRandom, type Random } from "../chaos/random.ts";
import { canReject, type Effect, type Group, isEffect, type Node, type Program, type ProgramKind, withChildren } from "./program.ts";

/** Most of what can go wrong does so among few effects. */
const EFFECTS_MAX = [2, 3, 4, 5, 6, 8, 12];
const DEPTH_MAX = 4;
const ROUNDS_MAX = 3;
/** Rounds of loops within maps within loops multiply. */
const NESTED_ROUNDS_MAX = 6;
const SHARED_NAMES = ["a", "b", "c"];
const SHORT_MS = [10, 500, 900];
const LONG_MS = [5_000, 30_000, 100_000];

export function generate(seed: string): Program {
  const random = createRandom(`program ${seed}`);
  const kind = random.weighted<ProgramKind>({ pure: 70, delayed: 8, outside: 14, changed: 8 });
  // By a chance of its own: what other seeds draw stays as it is.
  const isPatched = kind === "changed" && createRandom(`patched ${seed}`).chance(0.5);
  const program = createGenerator(random, isPatched ? "patched" : kind).program();
  const others = createRandom(`others ${seed}`);
  const drawing = createRandom(`drawing ${seed}`);
  const undone = kind !== "changed" && createRandom(`undone ${seed}`).chance(0.2);
  const told = kind === "outside" ? toldApart(program.body) : program.body;
  const body = others.chance(0.3) ? answeredByOthers(told, others) : told;
  return {
    ...program,
    body: drawing.chance(0.2) ? readByDrawing(body, drawing) : body,
    ...(undone && { compensates: true }),
    ...(createRandom(`hurried ${seed}`).chance(0.05) && { hurried: true }),
  };
}

/**
 * The same, but that effects within a `Promise.all` that may fail have names of their own: once it has failed, nothing says any longer which item the
 * others are of (ADR 8).
 */
function toldApart(body: readonly Node[]): readonly Node[] {
  let names = 0;
  const told = (node: Node, inFailing: boolean, inMap: boolean): Node => {
    if (isEffect(node)) {
      if (!inFailing) return node;
      if (node.op === "fact") return { op: "micro", times: 1 };
      names += 1;
      return { ...node, name: `${node.name}-own${names}`, ...(inMap && { each: true }) };
    }
    const isFailing = inFailing || ((node.op === "all" || node.op === "map") && canReject(node));
    return withChildren(node, (child) => told(child, isFailing, inMap || node.op === "map"));
  };
  return body.map((node) => told(node, false, false));
}

/** The same, but that some questions need two people, some answers come from another system, and some steps are done by another tool. */
function answeredByOthers(body: readonly Node[], random: Random): readonly Node[] {
  const drawn = (_key: string, value: unknown): unknown => {
    const node = value as Node;
    if (node?.op === "step" && node.fails === undefined && !node.deaf && random.chance(0.3)) return { ...node, op: "child" };
    if (node?.op !== "ask") return value;
    const way = random.weighted({ alone: 3, quorum: 3, event: 4 });
    return way === "alone" ? node : way === "quorum" ? { ...node, quorum: true } : { ...node, op: "event" };
  };
  return JSON.parse(JSON.stringify(body), drawn) as readonly Node[];
}

/** The same, but that the schemas of some questions and events draw a number. */
function readByDrawing(body: readonly Node[], random: Random): readonly Node[] {
  const drawn = (_key: string, value: unknown): unknown => {
    const node = value as Node;
    return (node?.op === "ask" || node?.op === "event") && random.chance(0.6) ? { ...node, draws: true } : value;
  };
  return JSON.parse(JSON.stringify(body), drawn) as readonly Node[];
}

function createGenerator(random: Random, kind: ProgramKind) {
  const effectsMax = random.pick(EFFECTS_MAX);
  let effects = 0;
  let names = 0;
  let starts = 0;
  let nested = 1;
  let racing = 0;
  let attempts = 1;
  // What is at hand in one run and has to be fetched in the next lets flows overtake each other unseen (ADR 8): such programs use no name twice.
  const caches = kind === "delayed" || (kind === "outside" && random.chance(0.5));
  // A step that was tried and never recorded has used its name: the new way must not use it for something else.
  const sharing = caches || kind === "patched" ? 0 : random.pick([0, 0.5, 0.9]);

  /** A race that is over no longer says which item its losers are of: behind something outside ctx they have names of their own (ADR 8). */
  function isLost(): boolean {
    return kind === "outside" && racing > 0;
  }

  function name(prefix: string, inMap: boolean): { name: string; each?: true } {
    if (isLost()) {
      names += 1;
      return { name: `${prefix}${names}`, ...(inMap && { each: true }) };
    }
    if (random.chance(sharing)) return { name: random.pick(SHARED_NAMES), ...(inMap && random.chance(0.2) && { each: true }) };
    names += 1;
    return { name: `${prefix}${names}`, ...(inMap && (caches || kind === "patched" || random.chance(0.4)) && { each: true }) };
  }

  function effect(inMap: boolean): Effect {
    effects += 1;
    const sharesNames = !caches && kind !== "patched" && !isLost();
    const op = random.weighted({ step: 50, ask: 30, sleep: 12, fact: sharesNames ? 12 : 0 }); // facts share a name
    switch (op) {
      case "fact":
        return { op, fact: random.pick(["now", "random", "uuid"]) };
      case "sleep":
        return { op, ...name("sleep", inMap), ms: random.pick(random.chance(0.4) ? LONG_MS : SHORT_MS) };
      case "ask":
        return { op, ...name("ask", inMap), ...(random.chance(0.3) && { timeoutMs: random.pick(LONG_MS) }) };
      case "step": {
        const fails = kind !== "delayed" && random.chance(0.15) ? random.pick([1, 2, null]) : undefined;
        return {
          op,
          ...name("step", inMap),
          ...(fails !== undefined && { fails }),
          ...(fails !== undefined && random.chance(0.5) && { attempts: random.between(2, 3) }),
          ...(random.chance(0.1) && { deaf: true }),
        };
      }
    }
  }

  function leaf(inMap: boolean): Node {
    if (kind === "pure" || kind === "changed" || kind === "patched") {
      return random.chance(0.06) ? { op: "micro", times: random.between(1, 3) } : effect(inMap);
    }
    // A loser that is still on its way to a name is not known from the next one that comes to it (ADR 8).
    return racing === 0 && random.chance(0.2) ? { op: "outside", ...(caches && random.chance(0.3) && { cached: true }) } : effect(inMap);
  }

  function node(depth: number, inMap: boolean): Node {
    if (depth >= DEPTH_MAX || effects >= effectsMax || random.chance(0.3 + depth * 0.12)) return leaf(inMap);
    return group(depth, inMap);
  }

  function several(depth: number, inMap: boolean, least = 2): Node[] {
    return Array.from({ length: random.between(least, 3) }, () => node(depth + 1, inMap));
  }

  /** A body of more than one thing, as bodies mostly are. */
  function sequence(depth: number, inMap: boolean): Node {
    return random.chance(0.75) ? { op: "seq", body: several(depth, inMap) } : node(depth + 1, inMap);
  }

  function group(depth: number, inMap: boolean): Group {
    // What could decide by time or swallow an error is not for programs that may only be late.
    const free = kind === "delayed" ? 0 : 1;
    const op = random.weighted<Group["op"]>({
      all: 20,
      map: 22,
      race: 20 * free,
      any: 5 * free,
      allSettled: 6 * free,
      seq: 8,
      loop: 6 * free,
      call: 6,
      try: 10 * free,
      if: 6 * free,
      branch: 8,
      patched: kind === "patched" ? 30 : 0,
    });
    switch (op) {
      case "seq":
        return { op, body: several(depth, inMap) };
      case "all":
      case "allSettled":
        return { op, body: Array.from({ length: random.between(2, 3) }, () => sequence(depth, inMap)) };
      case "race":
      case "any": {
        racing += 1;
        const body = Array.from({ length: random.between(2, 3) }, () => (random.chance(0.5) ? leaf(inMap) : sequence(depth, inMap)));
        racing -= 1;
        return { op, body, ...(random.chance(0.5) && { withdraw: true }) };
      }
      case "map":
        return rounds((times) => ({ op, times, body: sequence(depth, true) }));
      case "loop":
        return rounds((times) => {
          const body = sequence(depth, inMap);
          return { op, times, body };
        });
      case "call":
        return { op, body: sequence(depth, inMap) };
      case "branch":
        names += 1;
        return { op, key: `branch${names}`, ...(inMap && { each: true }), body: sequence(depth, inMap) };
      case "try":
        return {
          op,
          body: sequence(depth, inMap),
          ...(random.chance(0.8) && { catch: node(depth + 1, inMap) }),
          ...(random.chance(0.3) && { finally: node(depth + 1, inMap) }),
        };
      case "patched":
        return {
          op,
          patch: `patch${random.between(1, 2)}`,
          body: sequence(depth, inMap),
          ...(random.chance(0.6) && { else: sequence(depth, inMap) }),
        };
      case "if":
        return { op, body: node(depth + 1, inMap), ...(random.chance(0.6) && { else: node(depth + 1, inMap) }) };
    }
  }

  function rounds(make: (times: number) => Group): Group {
    const times = Math.min(random.between(2, ROUNDS_MAX), Math.floor(NESTED_ROUNDS_MAX / nested));
    nested *= times;
    const made = make(times);
    nested /= times;
    return made;
  }

  /** An error of the first tries stands where nothing can swallow it and nothing of its branch comes behind it. */
  function passing(): Node[] {
    const first = random.between(1, 2);
    attempts = first + 1;
    const error: Node = { op: "throw", first };
    if (random.chance(0.4)) return [error];
    const beside: Node[] = [sequence(1, false), { op: "seq", body: [...(random.chance(0.5) ? [node(2, false)] : []), error] }];
    return [{ op: "all", body: random.shuffled(beside) }];
  }

  /** Something that is started now and awaited later, or never. */
  function started(): readonly [Node, ...Node[]] {
    starts += 1;
    racing += 1;
    const body = random.chance(0.6) ? effect(false) : sequence(1, false);
    racing -= 1;
    const start: Node = { op: "start", id: starts, body };
    const last: Node = { op: "await", id: starts };
    const heard: Node = random.chance(0.4) ? { op: "try", body: last } : last;
    return random.chance(0.8) ? [start, heard] : [start];
  }

  return {
    program(): Program {
      const body: Node[] = [];
      const later: Node[] = [];
      const statements = random.between(1, 4);
      for (let index = 0; index < statements; index += 1) {
        if (kind !== "delayed" && random.chance(0.12)) {
          const [start, last] = started();
          body.push(start);
          if (last) later.push(last);
        }
        body.push(node(0, false));
        const last = later.length > 0 && random.chance(0.5) ? later.shift() : undefined;
        if (last) body.push(last);
        if (kind === "pure" && attempts === 1 && random.chance(0.06)) body.push(...passing());
        if (kind !== "delayed" && random.chance(0.05)) body.push({ op: "return" });
      }
      body.push(...later);
      if (kind !== "delayed" && random.chance(0.04)) body.push({ op: "throw" });
      // Nothing of a handler is replayed that ends at once: most end with a question.
      if (random.chance(0.6)) body.push({ op: "ask", ...name("last", false) });
      if (kind !== "delayed" && random.chance(0.06)) body.push({ op: "restart", rounds: random.between(1, 2) });
      if (kind === "changed") body.splice(random.between(0, body.length - 1), 0, { op: "changed" });
      // Drawn last, so that a seed's body is what it was.
      return { kind, attempts, body, ...(random.chance(0.15) && { limited: true }) };
    },
  };
}
