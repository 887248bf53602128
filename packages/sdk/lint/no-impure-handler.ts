/**
 * A lint rule against handlers that read the clock, draw random values or reach outside without `ctx` and outside a
 * step, and wait afterwards; and against steps that change a variable of the handler.
 *
 * The next run of the handler starts from the top and reads something else. Reads after the last wait are harmless
 * and not reported. Nor does the next run do the step again, so the variable keeps its first value. The rule sees only
 * the handler's own code; the test kit also covers what its helpers read, see purity.ts.
 */
import {
  definitionsOf,
  destructuredName,
  handlerOf,
  keysOf,
  type LintScope,
  nameOf,
  type Node,
  type RuleContext,
  stepOf,
  variableOf,
} from "./syntax.ts";

const INSTEAD: Readonly<Record<string, string>> = {
  "Date.now": "ctx.now()",
  "new Date": "ctx.now()",
  "performance.now": "ctx.now()",
  "Math.random": "ctx.random()",
  "crypto.randomUUID": "ctx.uuid()",
  randomUUID: "ctx.uuid()",
  fetch: "a ctx.step around it",
  setTimeout: "ctx.sleep",
};

const WAITS = new Set(["elicit", "ask", "sleep", "sleepUntil", "sample", "roots"]);
/** Counted as waits only where they are awaited or delegated to, because schemas and functions have methods of these names. */
const SHORTHANDS = new Set("text number confirm select date form url secret file oauth call received".split(" "));
/** Keys of the yielded objects that a generator tool waits for. */
const YIELDED_WAITS = new Set(["ask", "all"]);

interface Impure {
  readonly node: Node;
  readonly name: string;
}

interface Handler {
  readonly impure: Impure[];
  readonly waits: Node[];
}

export const noImpureHandler = {
  meta: {
    type: "problem",
    docs: { description: "Handlers must read the time, random values and the outside world through ctx or in steps." },
    messages: {
      impure: "{{name}} outside of a step, in a handler that then waits: the next run reads something else. Use {{instead}}.",
      changed: "A step changes {{name}}. The next run does not do the step again and sees {{name}} unchanged: return it from the step.",
    },
    schema: [],
  },
  create(context: RuleContext) {
    const handlers = new Map<Node, Handler>();

    function noted(node: Node): Handler | undefined {
      const found = handlerOf(node);
      if (!found) return undefined;
      const handler = handlers.get(found) ?? { impure: [], waits: [] };
      handlers.set(found, handler);
      return handler;
    }

    function note(node: Node): void {
      const callee = node["callee"] as Node;
      const scope = context.sourceCode.getScope(node);
      const method = callee.type === "MemberExpression" ? nameOf(callee["property"]) : destructuredName(callee, scope);
      if (isWait(method ?? "", node)) noted(node)?.waits.push(node);
      const name = impureName(node, callee);
      if (name === undefined || isShadowed(scope, name)) return;
      noted(node)?.impure.push({ node, name });
    }

    function noteChange(node: Node, target: unknown): void {
      const step = stepOf(node);
      const handler = step?.parent && handlerOf(step.parent);
      if (!handler) return;
      for (const name of changedNames(target)) {
        const variable = variableOf(context.sourceCode.getScope(node), name);
        const isOfHandler = variable?.defs.some(({ name: at }) => isIn(at, handler) && !isIn(at, step)) === true;
        const isReadOutside = variable?.references.some((each) => each.isRead() && !stepOf(each.identifier)) === true;
        if (isOfHandler && isReadOutside) context.report({ node, messageId: "changed", data: { name } });
      }
    }

    return {
      AssignmentExpression: (node: Node) => noteChange(node, node["left"]),
      UpdateExpression: (node: Node) => noteChange(node, node["argument"]),
      CallExpression: note,
      NewExpression: note,
      YieldExpression(node: Node) {
        if (isYieldedWait(node)) noted(node)?.waits.push(node);
      },
      "Program:exit"() {
        for (const [handler, { impure, waits }] of handlers) {
          for (const { node, name } of impure) {
            const loop = outermostLoop(node, handler);
            // In a loop, code after a wait precedes the wait of the next round.
            const from = loop?.range[0] ?? node.range[0];
            if (!waits.some((wait) => wait.range[1] > from)) continue;
            context.report({ node, messageId: "impure", data: { name, instead: INSTEAD[name] ?? "" } });
          }
        }
      },
    };
  },
};

function isWait(method: string, { parent }: Node): boolean {
  return WAITS.has(method) || (SHORTHANDS.has(method) && (parent?.type === "AwaitExpression" || parent?.type === "YieldExpression"));
}

/** `yield { ask: … }`, `yield [ … ]`, and `yield*`, which may ask. */
function isYieldedWait(node: Node): boolean {
  const yielded = node["argument"] as Node | null;
  if (node["delegate"] === true || yielded?.type === "ArrayExpression") return true;
  return yielded?.type === "ObjectExpression" && keysOf(yielded).some((key) => YIELDED_WAITS.has(key));
}

/** Variables that an assignment to this target changes: `a`, `a.b`, `[a, b]`, `{ a }`. */
function changedNames(target: unknown): readonly string[] {
  const node = (target ?? {}) as Node;
  switch (node.type) {
    case "Identifier":
      return [nameOf(node) ?? ""];
    case "MemberExpression":
      return changedNames(node["object"]);
    case "ArrayPattern":
      return (node["elements"] as readonly unknown[]).flatMap(changedNames);
    case "ObjectPattern":
      return (node["properties"] as readonly Node[]).flatMap((each) => changedNames(each["value"] ?? each["argument"]));
    default:
      return [];
  }
}

function isIn(node: Node, outer: Node): boolean {
  return node.range[0] >= outer.range[0] && node.range[1] <= outer.range[1];
}

function impureName(node: Node, callee: Node): string | undefined {
  if (node.type === "NewExpression") {
    return nameOf(callee) === "Date" && (node["arguments"] as readonly unknown[]).length === 0 ? "new Date" : undefined;
  }
  const name =
    callee.type === "MemberExpression"
      ? `${nameOf(callee["object"]) ?? ""}.${nameOf(callee["property"]) ?? ""}`.replace(/^globalThis\./, "")
      : nameOf(callee);
  return name !== undefined && name !== "new Date" && Object.hasOwn(INSTEAD, name) ? name : undefined;
}

/**
 * Whether the name refers to something of the author's own. Imports, such as `randomUUID` of node:crypto, do not
 * count.
 */
function isShadowed(scope: LintScope, name: string): boolean {
  const root = name.replace(/^new /, "").split(".")[0] ?? "";
  const defs = definitionsOf(scope, root);
  return defs.length > 0 && defs.every(({ type }) => type !== "ImportBinding");
}

function outermostLoop(node: Node, handler: Node): Node | undefined {
  let loop: Node | undefined;
  for (let at = node.parent; at && at !== handler; at = at.parent) if (/^(For|While|DoWhile)/.test(at.type)) loop = at;
  return loop;
}
