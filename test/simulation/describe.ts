/** A program as the handler that its author would have written. */
import type { Source } from "./library.ts";
import type { Lock } from "./locks.ts";
import { BY_PLACE, type Effect, isCall, type Key, type Node, type Program } from "./program.ts";

export function describeProgram({ kind, attempts, body, locks = [], limited, compensates, hurried }: Program): string {
  const head = `// ${kind}${attempts > 1 ? `, attempts: ${attempts}` : ""}${limited ? ", limit: { concurrency: 1 }" : ""}${compensates ? ", compensates" : ""}${hurried ? ", runTimeout: 3 s" : ""}\nasync (ctx) => {`;
  const made = locks.map((lock, index) => indent(`const lock${index} = createLock(); // ${describeLock(lock)}`));
  return [head, ...made, ...body.map((node, index) => indent(describe(node, `0/${index}`))), "}"].join("\n");
}

/** One statement; `at` is its path. */
function describe(node: Node, at: string): string {
  switch (node.op) {
    case "step":
    case "ask":
    case "event":
    case "child":
    case "sleep":
    case "fact":
      return `await ${describeEffect(node)}; // ${at}`;
    case "micro":
      return Array.from({ length: node.times }, () => "await Promise.resolve();").join(" ");
    case "outside":
      return `await ${node.cached ? "cachedFetch" : "fetch"}();`;
    case "read":
      return `await ${READS[node.source]}(${node.own ? "place" : JSON.stringify(node.row)});`;
    case "seq":
      return node.body.map((each, index) => describe(each, `${at}/${index}`)).join("\n");
    case "all":
    case "allSettled":
      return `await Promise.${node.op}([\n${node.body.map((each, index) => branch(each, `${at}/${index}`)).join("\n")}\n]);`;
    case "race":
    case "any": {
      const branches = node.body.map((each, index) => branch(each, `${at}/${index}`)).join("\n");
      return `await Promise.${node.op}([\n${branches}\n])${node.withdraw ? ".finally(withdraw)" : ""};`;
    }
    case "map":
      return `await Promise.all(range(${node.times}).map(async (i) => {\n${indent(describe(node.body, `${at}/i*`))}\n}));`;
    case "loop":
      return `for (const round of range(${node.times})) {\n${indent(describe(node.body, `${at}/r*`))}\n}`;
    case "call":
      return `await (async () => {\n${indent(describe(node.body, `${at}/c`))}\n})();`;
    case "branch":
      return `await ctx.branch(${node.each ? name({ name: node.key, each: true }) : key(node.key)}, async () => {\n${indent(describe(node.body, `${at}/b`))}\n});`;
    case "ctxMap": {
      const options = [
        ...(node.concurrency === undefined ? [] : [`concurrency: ${node.concurrency}`]),
        ...(node.settle ? [`settle: "${node.settle}"`] : []),
      ];
      return `await ctx.map(range(${node.times}), (i) => ${key(node.key)} + i, async (i) => {\n${indent(describe(node.body, `${at}/i*`))}\n}${options.length === 0 ? "" : `, { ${options.join(", ")} }`});`;
    }
    case "limit": {
      const work = `async (i) => {\n${indent(describe(node.body, `${at}/i*`))}\n}`;
      if (node.limiter === "p-map") return `await pMap(range(${node.times}), ${work}, { concurrency: ${node.concurrency} });`;
      return `await Promise.all(range(${node.times}).map((i) => pLimit(${node.concurrency})(() => (${work})(i))));`;
    }
    case "lock":
      return `await lock${node.lock}(${work(node.body, `${at}/l`)});`;
    case "retry":
      return `await retried(${node.times}, async () => {\n${indent(describe(node.body, `${at}/t*`))}\n});`;
    case "pages":
      return `for await (const page of (async function* () {\n${indent(`for (const i of range(${node.times})) {\n${indent(`${describe(node.within, `${at}/w*`)}\nyield i;`)}\n}`)}\n})()) {\n${indent(describe(node.body, `${at}/r*`))}\n}`;
    case "then":
      return `${node.config ? "await config; " : ""}${awaited(node, reacted(node, at))}`;
    case "once":
      return `await (kept${node.id} ??= ${describeEffect(node.body)}); // 0/once${node.id}`;
    case "try": {
      const caught = node.catch ? ` catch {\n${indent(describe(node.catch, `${at}/1`))}\n}` : " catch {}";
      const last = node.finally ? ` finally {\n${indent(describe(node.finally, `${at}/2`))}\n}` : "";
      return `try {\n${indent(describe(node.body, `${at}/0`))}\n}${caught}${last}`;
    }
    case "if": {
      const other = node.else ? ` else {\n${indent(describe(node.else, `${at}/1`))}\n}` : "";
      return `if (seen % 2 === 0) {\n${indent(describe(node.body, `${at}/0`))}\n}${other}`;
    }
    case "patched": {
      const other = node.else ? ` else {\n${indent(describe(node.else, `${at}/old`))}\n}` : "";
      return `if (codeIsNew && ctx.patched(${JSON.stringify(node.patch)})) {\n${indent(describe(node.body, `${at}/new`))}\n}${other}`;
    }
    case "throw":
      return node.first === undefined ? `throw new Error();` : `if (times++ < ${node.first}) throw new Error();`;
    case "start":
      return `const started${node.id} = ${branch(node.body, at)
        .trim()
        .replace(/,( \/\/.*)?$/, ";$1")}`;
    case "await":
      return `await started${node.id};`;
    case "return":
      return "if (seen % 2 === 1) return;";
    case "changed":
      return "if (codeIsNew) return;";
    case "restart":
      return `if (round < ${node.rounds}) await ctx.restart({ round: round + 1 }); // ${at}`;
  }
}

function work(node: Node, at: string): string {
  return isCall(node) ? `() => ${describeEffect(node)}` : `async () => {\n${indent(describe(node, at))}\n}`;
}

function describeLock({ doneBy, order, queued, letsGo, aside, isAlwaysAsked, capacity, isKeyed }: Lock): string {
  const asked = isAlwaysAsked ? ", even if it is free" : "";
  return `${capacity}${isKeyed ? ", of odd and even items" : ""}; queue of ${queued}${asked}, ${order}; done by: ${doneBy}; lets go: ${letsGo}, after ${aside}`;
}

function awaited({ lazy }: Extract<Node, { op: "then" }>, call: string): string {
  if (!lazy) return `await ${call};`;
  return lazy === "awaited" ? `await lazily(() => ${call});` : `await (async () => lazily(() => ${call}))();`;
}

function reacted({ body, next }: Extract<Node, { op: "then" }>, at: string): string {
  const call = describeEffect(body);
  return next
    ? `${call}.then(async () => { // ${at}/e\n${indent(describe(next, `${at}/n`))}\n})`
    : `${call}.then((seen) => seen) /* ${at}/e */`;
}

/** As an item of a list of promises. */
function branch(node: Node, at: string): string {
  if (node.op === "then" && !node.config && !node.lazy) return indent(`${reacted(node, at)},`);
  if (isCall(node)) return indent(`${describeEffect(node)}, // ${at}`);
  return indent(`(async () => {\n${indent(describe(node, at))}\n})(),`);
}

const READS: Readonly<Record<Source, string>> = {
  cache: "cached",
  layered: "layered",
  client: "(await client()).get",
  memo: "memoised",
  batch: "loader.load",
  retried: "retriedRead",
  failing: "failingCache",
};

function key(text: Key): string {
  return text === BY_PLACE ? "place" : JSON.stringify(text);
}

function describeEffect(node: Effect): string {
  switch (node.op) {
    case "fact":
      return `ctx.${node.fact}()`;
    case "ask":
    case "event":
    case "child": {
      const options = [
        ...(node.op !== "child" && node.draws ? ["schema: drawing"] : []),
        ...(node.op === "ask" && node.quorum ? ["quorum: 2"] : []),
        ...(node.timeoutMs === undefined ? [] : [`timeoutMs: ${node.timeoutMs}`]),
        ...keyed(node),
      ];
      return `ctx.${node.op === "child" ? "call" : node.op}(${name(node)}${options.length === 0 ? "" : `, { ${options.join(", ")} }`})${node.op === "event" ? ".received()" : ""}`;
    }
    case "sleep":
      return `ctx.sleep(${name(node)}, ${node.ms}${node.key === undefined ? "" : `, { ${keyed(node).join()} }`})`;
    case "step": {
      const fails = node.fails === undefined ? "work" : node.fails === null ? "fails" : `failsTimes(${node.fails})`;
      const options = [...(node.attempts === undefined ? [] : [`attempts: ${node.attempts}`]), ...keyed(node)];
      return `ctx.step(${name(node)}, ${node.deaf ? "deaf(" : ""}${fails}${node.deaf ? ")" : ""}${options.length === 0 ? "" : `, { ${options.join(", ")} }`})`;
    }
  }
}

function keyed({ key: text }: { readonly key?: Key }): string[] {
  return text === undefined ? [] : [`key: ${key(text)}`];
}

function name({ name: text, each }: { readonly name: string; readonly each?: true }): string {
  return each ? `\`${text}-\${i}\`` : JSON.stringify(text);
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "  ");
}
