/** Programs by chance, with a leaning towards what people write: a map with steps in it, a race against a patience, a question at the end. */
import { createRandom, type Random } from "../chaos/random.ts";
import { SOURCES } from "./library.ts";
import { LIMITERS } from "./limiters.ts";
import { drawLock, type Lock } from "./locks.ts";
import {
  BY_PLACE,
  type Called,
  canReject,
  type Effect,
  type Group,
  isCall,
  isEffect,
  type Node,
  type Program,
  type ProgramKind,
  some,
  withChildren,
} from "./program.ts";

/** Most of what can go wrong does so among few effects. */
const EFFECTS_MAX = [2, 3, 4, 5, 6, 8, 12];
const DEPTH_MAX = 4;
const ROUNDS_MAX = 3;
/** Rounds of loops within maps within loops multiply. */
const NESTED_ROUNDS_MAX = 6;
const SHARED_NAMES = ["a", "b", "c"];
const SHORT_MS = [10, 500, 900];
const LONG_MS = [5_000, 30_000, 100_000];

/** The share of programs that read. */
const READING = 0.25;
/** The share of programs that are all about locks. */
const LOCKING = 0.04;

export function generate(seed: string): Program {
  const program = drawn(seed);
  const others = createRandom(`others ${seed}`);
  const drawing = createRandom(`drawing ${seed}`);
  const undone = program.kind !== "changed" && program.kind !== "patched" && createRandom(`undone ${seed}`).chance(0.2);
  const told = program.kind === "outside" ? toldApart(program.body) : program.body;
  const body = others.chance(0.3) ? answeredByOthers(told, others) : told;
  const read = drawing.chance(0.2) ? readByDrawing(body, drawing) : body;
  const chain = createRandom(`chained ${seed}`);
  return {
    ...program,
    body: chain.chance(0.25) ? chained({ ...program, body: read }, chain) : read,
    ...(undone && { compensates: true }),
    ...(createRandom(`hurried ${seed}`).chance(0.05) && { hurried: true }),
  };
}

function drawn(seed: string): Program {
  // These chances are drawn apart: what other seeds draw stays as it is.
  const reading = createRandom(`reading ${seed}`);
  const locking = createRandom(`locking ${seed}`);
  if (locking.chance(LOCKING)) return lockingProgram(locking);
  if (reading.chance(READING)) return readingProgram(reading, createRandom(`locks ${seed}`));
  const random = createRandom(`program ${seed}`);
  const kind = random.weighted<ProgramKind>({ pure: 70, delayed: 8, outside: 14, changed: 8 });
  const isPatched = kind === "changed" && createRandom(`patched ${seed}`).chance(0.5);
  return createGenerator(random, isPatched ? "patched" : kind).program();
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
    return (node?.op === "ask" || node?.op === "event") && node.key === undefined && random.chance(0.6) ? { ...node, draws: true } : value;
  };
  return JSON.parse(JSON.stringify(body), drawn) as readonly Node[];
}

/** The same, but that some calls are given a reaction in place of an `await`, which does what comes next or hands on what was seen. */
function chained({ kind, body }: Program, random: Random): readonly Node[] {
  const reads = kind === "reading" || kind === "outside";
  const react = (call: Called, next?: Node): Node => ({
    op: "then",
    ...(reads && random.chance(0.3) && { config: true }),
    ...(random.chance(0.2) && { lazy: random.pick(["awaited", "returned"] as const) }),
    body: call,
    ...(next && { next }),
  });
  const change = (node: Node): Node => {
    // What is started, kept or run by a lock is the promise of ctx itself.
    if (node.op === "start" || node.op === "once" || node.op === "lock") return node;
    if (isCall(node)) return random.chance(0.3) ? react(node) : node;
    if (node.op !== "seq") return withChildren(node, change);
    const changed: Node[] = [];
    for (let index = 0; index < node.body.length; index += 1) {
      const [each, next] = node.body.slice(index, index + 2) as [Node, Node | undefined];
      if (next && isCall(each) && random.chance(0.3)) {
        changed.push(react(each, change(next)));
        index += 1;
      } else changed.push(change(each));
    }
    return { ...node, body: changed };
  };
  return body.map(change);
}

/** Groups of all kinds but `reading`. */
type Plain = Exclude<Group, { readonly op: "ctxMap" | "limit" | "lock" | "retry" | "pages" | "once" | "then" }>;

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
    const op = random.weighted<Plain["op"]>({
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

/**
 * How far a program goes with what has no certain order: nothing runs beside anything but in `ctx.map`; what does has a key; or some of it has none,
 * and may be refused.
 */
type Style = "line" | "keyed" | "free";

/** Where a node stands. */
interface Place {
  readonly depth: number;
  /** Runs beside other code of its flow. */
  readonly isBeside: boolean;
  /** In a loop, where a fixed key may be in use when it comes again. */
  readonly isRepeated: boolean;
  /** In items of which one may fail. By when that is, what is not of ctx must not decide. */
  readonly isJoint: boolean;
  readonly inMap: boolean;
}

const TOP: Place = { depth: 0, isBeside: false, isRepeated: false, isJoint: false, inMap: false };

/**
 * Programs that read from caches, clients and batches, and await each read. What they decide never rests on how long a read takes: branches of a race
 * read before their one effect and not after it, and what may fail beside others fails by an effect.
 */
function readingProgram(random: Random, designing: Random): Program {
  const style = random.weighted<Style>({ line: 35, keyed: 30, free: 35 });
  const sharing = random.pick([0, 0.5, 0.9]);
  const effectsMax = random.pick(EFFECTS_MAX);
  let effects = 0;
  let names = 0;
  let nested = 1;
  const kept: Extract<Node, { op: "once" }>[] = [];
  const made: Lock[] = [drawLock(designing), drawLock(designing)];

  function fresh(prefix: string): string {
    names += 1;
    return `${prefix}${names}`;
  }

  function called(prefix: string, { isBeside, inMap }: Place) {
    const isKeyed = isBeside ? style === "keyed" || random.chance(0.2) : random.chance(0.06);
    const isShared = random.chance(sharing);
    return {
      name: isShared ? random.pick(SHARED_NAMES) : fresh(prefix),
      ...(inMap && random.chance(isShared ? 0.2 : 0.4) && { each: true as const }),
      ...(isKeyed && { key: isBeside || random.chance(0.5) ? BY_PLACE : fresh("key") }),
    };
  }

  function effect(place: Place, mayFail = true): Effect {
    effects += 1;
    const mayBeFact = !place.isBeside;
    const op = random.weighted({ step: 60, ask: 18, sleep: 8, fact: mayBeFact ? 8 : 0 });
    switch (op) {
      case "fact":
        return { op, fact: random.pick(["now", "random", "uuid"]) };
      case "sleep":
        return { op, ...called("sleep", place), ms: random.pick(SHORT_MS) };
      case "ask":
        return { op, ...called("ask", place), ...(random.chance(0.2) && { timeoutMs: random.pick(LONG_MS) }) };
      case "step": {
        const fails = mayFail && random.chance(0.12) ? random.pick([1, 2, null]) : undefined;
        return {
          op,
          ...called("step", place),
          ...(fails !== undefined && { fails }),
          ...(fails !== undefined && random.chance(0.5) && { attempts: random.between(2, 3) }),
          ...(random.chance(0.05) && { deaf: true as const }),
        };
      }
    }
  }

  function locked(body: Node, lock = made.push(drawLock(designing)) - 1): Node {
    return { op: "lock", lock, body };
  }

  function read(): Node {
    return { op: "read", source: random.pick(SOURCES), row: random.pick(["x", "y", "z"]), ...(random.chance(0.4) && { own: true }) };
  }

  function leaf(place: Place): Node {
    if (random.chance(0.35)) return read();
    if (kept.length > 0 && random.chance(0.3)) return random.pick(kept);
    const own = effect(place);
    return locks && isCall(own) && random.chance(0.4) ? locked(own, random.between(0, 1)) : own;
  }

  function node(place: Place): Node {
    if (place.depth >= DEPTH_MAX || effects >= effectsMax || random.chance(0.25 + place.depth * 0.12)) return leaf(place);
    return group({ ...place, depth: place.depth + 1 });
  }

  /** As people write it: what is read is needed for what comes then. */
  function sequence(place: Place): Node {
    const body = Array.from({ length: random.between(1, 3) }, () => node({ ...place, depth: place.depth + 1 }));
    return { op: "seq", body: random.chance(0.5) ? [read(), ...body] : body };
  }

  /** A branch of a race. */
  function runner(place: Place): Node {
    const own = effect(place);
    return own.op !== "fact" && random.chance(0.5) ? { op: "seq", body: [read(), own] } : own;
  }

  /** A few items at once. In a loop, with other names or the same, they come one after another. */
  function chunk(place: Place): Node {
    const own = effect({ ...place, isBeside: true, isJoint: true, inMap: true }, false);
    return rounds((times) => ({ op: "map", times, body: { op: "seq", body: [read(), ...(random.chance(0.3) ? [read()] : []), own] } }));
  }

  function key(place: Place, ...inside: readonly Node[]): string {
    return place.isBeside || (place.isRepeated && canRun(inside)) || random.chance(0.3) ? BY_PLACE : fresh("flow");
  }

  function group(place: Place): Node {
    const beside = style === "line" ? 0 : 1;
    const also = { ...place, isBeside: true, isJoint: true };
    const again = { ...place, isRepeated: true };
    const op = random.weighted({
      seq: 8,
      loop: 10,
      call: 12,
      try: 8,
      if: 6,
      branch: 8,
      ctxMap: 18,
      retry: 8,
      pages: 10,
      all: 10 * beside,
      map: 16 * beside,
      allSettled: 4 * beside,
      race: 8 * beside,
      any: 3 * beside,
      limit: 14 * beside,
      chunks: place.isBeside ? 0 : 12,
    });
    switch (op) {
      case "seq":
        return sequence(place);
      case "loop":
        return rounds((times) => ({ op, times, body: sequence(again) }));
      case "call":
        return { op, body: sequence(place) };
      case "try":
        return {
          op,
          body: sequence(place),
          ...(random.chance(0.8) && { catch: node(place) }),
          ...(!place.isJoint && random.chance(0.3) && { finally: node(place) }),
        };
      case "if":
        return { op, body: node(place), ...(random.chance(0.6) && { else: node(place) }) };
      case "branch": {
        const body = sequence({ ...place, isBeside: false });
        return { op, key: key(place, body), body };
      }
      case "ctxMap":
        return rounds((times) => {
          const body = sequence({ ...place, isBeside: false, isJoint: true, inMap: true });
          return {
            op,
            key: key(place, body),
            times,
            ...(random.chance(0.5) && { concurrency: random.between(1, 2) }),
            ...(random.chance(0.2) && { settle: "allSettled" as const }),
            body,
          };
        });
      case "retry":
        return { op, times: random.between(1, 2), body: sequence(again) };
      case "pages":
        return rounds((times) => ({ op, times, within: random.chance(0.6) ? read() : sequence(again), body: sequence(again) }));
      case "all":
      case "allSettled":
        return { op, body: Array.from({ length: random.between(2, 3) }, () => sequence(also)) };
      case "map":
        return rounds((times) => ({ op, times, body: sequence({ ...also, inMap: true }) }));
      case "chunks":
        return rounds((times) => ({ op: "loop", times, body: chunk(place) }));
      case "race":
      case "any":
        return {
          op,
          body: Array.from({ length: random.between(2, 3) }, () => runner(also)),
          ...(random.chance(0.5) && { withdraw: true }),
        };
      case "limit":
        return rounds((times) => {
          const limiter = random.pick([...LIMITERS, undefined, undefined]);
          const concurrency = random.between(1, 2);
          const body = sequence({ ...also, inMap: true });
          if (limiter) return { op, limiter, concurrency, times, body };
          return { op: "map", times, body: locked(body) };
        });
    }
  }

  function rounds(make: (times: number) => Group): Group {
    const times = Math.min(random.between(2, ROUNDS_MAX), Math.floor(NESTED_ROUNDS_MAX / nested));
    nested *= times;
    const made = make(times);
    nested /= times;
    return made;
  }

  const body: Node[] = [];
  const locks = random.chance(0.12);
  const statements = random.between(1, 4);
  for (let index = 0; index < statements; index += 1) {
    if (random.chance(0.1)) {
      const own = effect(TOP, false);
      if (own.op !== "fact") kept.push({ op: "once", id: kept.length + 1, body: own });
      body.push(own.op === "fact" ? own : (kept.at(-1) as Node));
    }
    if (style !== "line" && random.chance(0.1)) {
      const id = index + 1;
      body.push({ op: "start", id, body: { op: "seq", body: [read(), effect({ ...TOP, isBeside: true }, false)] } });
    }
    body.push(node(TOP));
    if (random.chance(0.05)) body.push({ op: "return" });
  }
  if (random.chance(0.04)) body.push({ op: "throw" });
  if (random.chance(0.6)) body.push({ op: "ask", ...called("last", TOP) });
  if (random.chance(0.05)) body.push({ op: "restart", rounds: random.between(1, 2) });
  const takes = some(body, ({ op }) => op === "lock");
  return { kind: "reading", attempts: 1, body, ...(takes && { locks: made }), ...(random.chance(0.1) && { limited: true }) };
}

/**
 * Items of all kinds that read and then take one lock or two, in the same order each. Nothing fails, so whatever is different from run to run is who
 * comes first.
 */
function lockingProgram(random: Random): Program {
  const locks = [drawLock(random), drawLock(random)];
  const sharing = random.pick([0.5, 0.8, 1]);
  const reading = random.pick([0.4, 0.8, 1]);
  const nesting = random.pick([0, 0, 0.5]);
  let names = 0;

  const called = (): { readonly name: string; readonly each?: true } => {
    names += 1;
    return { name: random.chance(sharing) ? random.pick(["a", "a", "b"]) : `step${names}`, ...(random.chance(0.1) && { each: true }) };
  };
  const call = (): Called => {
    return { op: random.weighted({ step: 80, ask: 20 }), ...called() };
  };
  const read = (): Node => ({
    op: "read",
    source: random.pick(["cache", "cache", ...SOURCES]),
    row: random.pick(["x", "y", "z"]),
    ...(random.chance(0.7) && { own: true }),
  });

  function work(depth: number): Node {
    const way = random.weighted({
      call: 30,
      awaited: 30,
      read: 12,
      readBefore: 10,
      two: 8,
      later: 10,
      nested: depth === 0 ? nesting * 60 : 0,
    });
    switch (way) {
      case "call":
        return call();
      case "awaited":
        return { op: "seq", body: [call()] };
      case "read":
        return { op: "seq", body: [call(), read()] };
      case "readBefore":
        return { op: "seq", body: [read(), call()] };
      case "two":
        return { op: "seq", body: [call(), call()] };
      case "later":
        return { op: "all", body: [call(), call()] };
      case "nested":
        return { op: "seq", body: [...(random.chance(0.5) ? [call()] : []), taken(1)] };
    }
  }

  function taken(depth: 0 | 1): Node {
    return { op: "lock", lock: depth, body: work(depth) };
  }

  function item(): Node {
    const lock = taken(random.chance(nesting) ? 0 : random.chance(0.2) ? 1 : 0);
    return {
      op: "seq",
      body: [
        ...(random.chance(reading) ? [read()] : []),
        ...(random.chance(0.15) ? [call()] : []),
        lock,
        ...(random.chance(0.2) ? [call()] : []),
      ],
    };
  }

  function items(): readonly Node[] {
    const times = random.between(2, 3);
    const several = () => Array.from({ length: times }, item);
    const key = `flow${(names += 1)}`;
    const how = random.weighted({ map: 35, ctxMap: 25, all: 10, branches: 10, started: 10, loop: 10 });
    switch (how) {
      case "map":
      case "loop":
        return [{ op: how, times, body: item() }];
      case "ctxMap":
        return [{ op: how, key, times, ...(random.chance(0.2) && { concurrency: 2 }), body: item() }];
      case "all":
        return [{ op: how, body: several() }];
      case "branches":
        return [{ op: "all", body: several().map((body, index) => ({ op: "branch", key: `${key}-${index}`, body })) }];
      case "started": {
        const started = several().map((body) => ({ id: (names += 1), body }));
        return [...started.map((each): Node => ({ op: "start", ...each })), ...started.map(({ id }): Node => ({ op: "await", id }))];
      }
    }
  }

  const body = [...(random.chance(0.3) ? [call()] : []), ...items(), ...(random.chance(0.25) ? items() : [])];
  if (random.chance(0.85)) body.push({ op: "ask", name: "last" });
  return { kind: "reading", attempts: 1, body, locks, ...(random.chance(0.1) && { compensates: true }) };
}

/** Whether something of these may still run when the code that began it goes on. */
function canRun(nodes: readonly Node[]): boolean {
  return (
    canReject({ op: "seq", body: nodes }) || some(nodes, ({ op }) => op === "race" || op === "any" || op === "start" || op === "ctxMap")
  );
}
