/**
 * A lint rule against calls of ctx that nothing awaits, and helpers of generator tools that nothing yields.
 *
 * `if (ctx.confirm(…))` is always true, and no one is asked. The run fails with NOT_AWAITED, but only once the handler has ended. The rule sees calls
 * of something named `ctx`, of the second parameter of a handler, and of what is destructured from either. The callback of `forEach` is
 * reported as well: nothing waits for it, and the run cannot see that.
 */
import {
  contextMethodOf,
  definitionsOf,
  isFunction,
  type LintScope,
  nameOf,
  type Node,
  type RuleContext,
  stepOf,
  variableOf,
} from "./syntax.ts";

const METHODS = new Set(
  "elicit ask text number confirm select date form wizard url secret oauth file sample roots step call sleep sleepUntil branch restart".split(
    " ",
  ),
);
const HELPERS = new Set("step event call received sleep patched".split(" "));
const REACTIONS = new Set(["then", "catch", "finally"]);

export const noDroppedCall = {
  meta: {
    type: "problem",
    docs: { description: "Calls of ctx must be awaited, and helpers of generator tools yielded." },
    messages: {
      dropped: "Nothing awaits {{call}}, so the handler goes on without its result. Write await before it.",
      forEach: "forEach does not wait for {{call}}. Use for … of, or await Promise.all with map.",
      event: "ctx.event returns at once. Await received() of what it returns.",
      helper: "{{call}} does nothing without yield*.",
    },
    schema: [],
  },
  create(context: RuleContext) {
    const reported = new Set<Node>();

    function report(node: Node, messageId: string, call: string): void {
      if (reported.has(node)) return;
      reported.add(node);
      context.report({ node, messageId, data: { call } });
    }

    return {
      CallExpression(node: Node) {
        const scope = context.sourceCode.getScope(node);
        const helper = helperOf(node["callee"] as Node, scope);
        if (helper !== undefined && isDropped(node, scope)) return report(node, "helper", helper);
        const method = contextMethodOf(node["callee"] as Node, scope);
        if (method === undefined || stepOf(node)) return;
        if (method === "event" && node.parent?.type === "AwaitExpression") return report(node, "event", "");
        if (!METHODS.has(method)) return;
        const each = callbackOfForEach(node);
        if (each) return report(each, "forEach", `ctx.${method}`);
        if (isDropped(node, scope)) report(node, "dropped", `ctx.${method}`);
      },
    };
  },
};

/** `ask.text`, `step` … as imported from @parley/sdk. */
function helperOf(callee: Node, scope: LintScope): string | undefined {
  const isMember = callee.type === "MemberExpression";
  const name = nameOf(isMember ? callee["object"] : callee) ?? "";
  if (isMember ? name !== "ask" : !HELPERS.has(name)) return undefined;
  const isImported = definitionsOf(scope, name).some(({ type, name: at }) => {
    const source = at.parent?.parent?.["source"] as { readonly value?: unknown } | undefined;
    return type === "ImportBinding" && source?.value === "@parley/sdk";
  });
  if (!isImported) return undefined;
  return isMember ? `ask.${nameOf(callee["property"]) ?? ""}` : name;
}

/** The function around the call, if it is what a `forEach` is given. */
function callbackOfForEach(node: Node): Node | undefined {
  let at = node.parent;
  while (at && !isFunction(at)) at = at.parent;
  const call = at?.parent;
  if (call?.type !== "CallExpression") return undefined;
  const callee = call["callee"] as Node;
  return callee.type === "MemberExpression" && nameOf(callee["property"]) === "forEach" ? call : undefined;
}

/** Whether the promise at this place, or in this variable, is used as if it was its result. */
function isDropped(node: Node, scope: LintScope): boolean {
  const { parent } = node;
  switch (parent?.type) {
    case "ExpressionStatement":
    case "TemplateLiteral":
    case "BinaryExpression":
    case "UnaryExpression":
      return true;
    case "IfStatement":
    case "ConditionalExpression":
    case "WhileStatement":
    case "DoWhileStatement":
      return parent["test"] === node || isDropped(parent, scope);
    case "YieldExpression":
      // An async generator awaits it by itself, and yields the value as if it was to be streamed.
      return parent["delegate"] !== true;
    case "LogicalExpression":
      return parent["left"] === node || isDropped(parent, scope);
    case "ChainExpression":
    case "TSAsExpression":
    case "TSNonNullExpression":
      return isDropped(parent, scope);
    case "MemberExpression":
      return parent["object"] === node && !REACTIONS.has(nameOf(parent["property"]) ?? "");
    case "VariableDeclarator":
      return parent["init"] === node && isNeverAwaited(parent["id"] as Node, scope);
    default:
      return false;
  }
}

/** A pattern takes fields of the promise itself. */
function isNeverAwaited(target: Node, scope: LintScope): boolean {
  if (target.type !== "Identifier") return target.type === "ObjectPattern";
  const reads = variableOf(scope, nameOf(target) ?? "")?.references.filter((each) => each.isRead()) ?? [];
  return reads.every(({ identifier }) => identifier.parent?.type !== "VariableDeclarator" && isDropped(identifier, scope));
}
