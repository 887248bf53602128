/**
 * A lint rule that suggests `ctx.map` for concurrent items that await something outside `ctx`.
 *
 *   await Promise.all(people.map(async (id) => {
 *     await load(id);                          // as fast in one run, slower in the next
 *     await ctx.step("charge", …);             // whose is it?
 *   }));
 *
 * Items that await `ctx` alone are always told apart, and need no key. Reported are awaits of a call that certainly is none of `ctx`: of something
 * global, imported, or defined outside of the handler, which is not given `ctx`. Calls with a `key`, and those in a branch, are told apart as well.
 */
import {
  contextMethodOf,
  definitionsOf,
  handlerOf,
  isContext,
  isFunction,
  keysOf,
  type LintScope,
  nameOf,
  type Node,
  type RuleContext,
} from "./syntax.ts";

const JOINS = new Set(["all", "allSettled", "any", "race"]);
/** Their names begin with a key, or they record nothing. */
const KEYED = new Set("branch map signal log progress status patched deprecatePatch".split(" "));

interface Item {
  readonly reads: { readonly node: Node; readonly read: string }[];
  readonly calls: { readonly node: Node; readonly call: string }[];
}

export const preferMap = {
  meta: {
    type: "suggestion",
    docs: { description: "Concurrent items that await something outside ctx should be worked on by ctx.map." },
    messages: {
      map: "This item awaits {{read}} outside of ctx before {{call}}, and how long that takes differs from run to run. Use ctx.map(items, key, work), or put {{read}} into a ctx.step.",
    },
    schema: [],
  },
  create(context: RuleContext) {
    const items = new Map<Node, Item>();

    function itemOf(node: Node): Item | undefined {
      const callback = functionAround(node);
      if (!callback || !isConcurrentItem(callback)) return undefined;
      const item = items.get(callback) ?? { reads: [], calls: [] };
      items.set(callback, item);
      return item;
    }

    return {
      AwaitExpression(node: Node) {
        const read = outsideCall(node["argument"] as Node, context.sourceCode.getScope(node));
        if (read !== undefined) itemOf(node)?.reads.push({ node, read });
      },
      CallExpression(node: Node) {
        const method = contextMethodOf(node["callee"] as Node, context.sourceCode.getScope(node));
        if (method === undefined || KEYED.has(method) || hasKey(node)) return;
        itemOf(node)?.calls.push({ node, call: `ctx.${method}` });
      },
      "Program:exit"() {
        for (const { reads, calls } of items.values()) {
          const [first] = reads.toSorted((a, b) => a.node.range[0] - b.node.range[0]);
          const after = first && calls.find(({ node }) => node.range[0] > first.node.range[1]);
          if (after) context.report({ node: first.node, messageId: "map", data: { read: first.read, call: after.call } });
        }
      },
    };
  },
};

function functionAround(node: Node): Node | undefined {
  let at = node.parent;
  while (at && !isFunction(at) && at.type !== "FunctionDeclaration") at = at.parent;
  return at;
}

/** `Promise.all(list.map(async (item) => …))` */
function isConcurrentItem(callback: Node): boolean {
  const mapping = callback.parent;
  if (callback["async"] !== true || mapping?.type !== "CallExpression") return false;
  const callee = mapping["callee"] as Node;
  if (callee.type !== "MemberExpression" || nameOf(callee["property"]) !== "map" || isContext(callee["object"] as Node)) return false;
  const spread = mapping.parent?.type === "SpreadElement" ? mapping.parent.parent : mapping;
  const joining = spread?.type === "ArrayExpression" ? spread.parent : mapping.parent;
  if (joining?.type !== "CallExpression") return false;
  const join = joining["callee"] as Node;
  return join.type === "MemberExpression" && nameOf(join["object"]) === "Promise" && JOINS.has(nameOf(join["property"]) ?? "");
}

/** How the call is written, if it certainly is none of ctx. */
function outsideCall(awaited: Node, scope: LintScope): string | undefined {
  if (awaited.type !== "CallExpression") return undefined;
  const path = pathOf(awaited["callee"] as Node);
  if (!path || isContext(path.root)) return undefined;
  const definitions = definitionsOf(scope, nameOf(path.root) ?? "");
  const handler = handlerOf(awaited) ?? outermostFunction(awaited);
  const isOfHandler = definitions.some(({ name }) => handler && name.range[0] >= handler.range[0] && name.range[1] <= handler.range[1]);
  const isOfPromise = nameOf(path.root) === "Promise";
  if (isOfHandler || isOfPromise || (awaited["arguments"] as readonly Node[]).some(mentionsContext)) return undefined;
  return path.text;
}

/** `cache.rows.get`: of names alone. */
function pathOf(callee: Node): { readonly root: Node; readonly text: string } | undefined {
  if (callee.type === "Identifier") return { root: callee, text: nameOf(callee) ?? "" };
  if (callee.type !== "MemberExpression") return undefined;
  const before = pathOf(callee["object"] as Node);
  return before && { root: before.root, text: `${before.text}.${nameOf(callee["property"]) ?? "…"}` };
}

function outermostFunction(node: Node): Node | undefined {
  let found: Node | undefined;
  for (let at: Node | undefined = node; at; at = at.parent) if (isFunction(at) || at.type === "FunctionDeclaration") found = at;
  return found;
}

/** A function that is given ctx, or code that uses it, may do nothing else than call it. */
function mentionsContext(node: Node): boolean {
  if (isContext(node)) return true;
  return Object.entries(node).some(([name, child]) => {
    if (name === "parent") return false;
    const children: readonly unknown[] = Array.isArray(child) ? child : [child];
    return children.some((each) => typeof each === "object" && each !== null && "type" in each && mentionsContext(each as Node));
  });
}

/** `ctx.step("charge", work, { key: id })` */
function hasKey(call: Node): boolean {
  return (call["arguments"] as readonly Node[]).some((each) => each.type === "ObjectExpression" && keysOf(each).includes("key"));
}
