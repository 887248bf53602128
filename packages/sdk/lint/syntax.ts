/** What the rules of this plugin know of syntax trees. Written for ESLint's plugin interface, and typed by the part of it that is used. */

export interface Node {
  readonly type: string;
  readonly parent?: Node;
  readonly range: readonly [number, number];
  readonly [key: string]: unknown;
}

export interface Variable {
  readonly defs: readonly { readonly type: string; readonly name: Node }[];
  readonly references: readonly { readonly identifier: Node; isRead(): boolean }[];
}

export interface LintScope {
  readonly set: ReadonlyMap<string, Variable>;
  readonly upper: LintScope | null;
}

export interface RuleContext {
  readonly sourceCode: { getScope(node: Node): LintScope };
  report(problem: { readonly node: Node; readonly messageId: string; readonly data: Readonly<Record<string, string>> }): void;
}

const DEFINITIONS = new Set(["defineTool", "definePrompt"]);

/** The `run` of a definition that the node belongs to; undefined outside of handlers, and within a step. */
export function handlerOf(node: Node): Node | undefined {
  for (let at: Node | undefined = node; at; at = at.parent) {
    if (!isFunction(at)) continue;
    const around: Node | undefined = at.parent;
    if (around && isStep(around, at)) return undefined;
    if (around?.type !== "Property" || nameOf(around["key"]) !== "run") continue;
    const call: Node | undefined = around.parent?.parent;
    if (call?.type === "CallExpression" && DEFINITIONS.has(nameOf(call["callee"]) ?? "")) return at;
  }
  return undefined;
}

/** The work of the step that the node belongs to. */
export function stepOf(node: Node): Node | undefined {
  for (let at: Node | undefined = node; at; at = at.parent) if (isFunction(at) && at.parent && isStep(at.parent, at)) return at;
  return undefined;
}

export function keysOf(object: Node): readonly string[] {
  return (object["properties"] as readonly Node[]).map(({ key }) => nameOf(key) ?? "");
}

/** `ctx.step(…, work)`, `yield* step(…, work)`, `yield { step: …, run: work }`. */
export function isStep(around: Node, work: Node): boolean {
  if (around.type === "CallExpression" && around["callee"] !== work) {
    const callee = around["callee"] as Node;
    return (nameOf(callee) ?? nameOf(callee["property"])) === "step";
  }
  return (
    around.type === "Property" && nameOf(around["key"]) === "run" && around.parent !== undefined && keysOf(around.parent).includes("step")
  );
}

/** The method of ctx that is called: `ctx.text(…)`, or `text(…)` after `const { text } = ctx`. */
export function contextMethodOf(callee: Node, scope: LintScope): string | undefined {
  if (callee.type === "MemberExpression") return isContext(callee["object"] as Node) ? nameOf(callee["property"]) : undefined;
  const name = nameOf(callee);
  const isOfContext = definitionsOf(scope, name ?? "").some(({ name: at }) => {
    const pattern = at.parent?.type === "Property" && nameOf(at.parent["key"]) === name ? at.parent.parent : undefined;
    const around = pattern?.type === "ObjectPattern" ? pattern.parent : undefined;
    if (around?.type === "VariableDeclarator") return isContext(around["init"] as Node);
    return around !== undefined && isFunction(around) && around === handlerOf(around) && parametersOf(around)[1] === pattern;
  });
  return isOfContext ? name : undefined;
}

export function isContext(object: Node): boolean {
  const name = nameOf(object);
  if (name === undefined) return false;
  const handler = handlerOf(object);
  return name === "ctx" || (handler !== undefined && nameOf(parametersOf(handler)[1]) === name);
}

function parametersOf(handler: Node): readonly Node[] {
  return handler["params"] as readonly Node[];
}

/** `elicit`, where it comes from `const { elicit } = ctx` or `run(args, { elicit })`. */
export function destructuredName(callee: Node, scope: LintScope): string | undefined {
  const name = nameOf(callee);
  if (name === undefined) return undefined;
  const isDestructured = definitionsOf(scope, name).some((def) => {
    const property = def.name.parent;
    return property?.type === "Property" && property.parent?.type === "ObjectPattern" && nameOf(property["key"]) === name;
  });
  return isDestructured ? name : undefined;
}

export function definitionsOf(scope: LintScope, name: string): Variable["defs"] {
  return variableOf(scope, name)?.defs ?? [];
}

export function variableOf(scope: LintScope, name: string): Variable | undefined {
  for (let at: LintScope | null = scope; at; at = at.upper) {
    const variable = at.set.get(name);
    if (variable && variable.defs.length > 0) return variable;
  }
  return undefined;
}

export function isFunction({ type }: Node): boolean {
  return type === "FunctionExpression" || type === "ArrowFunctionExpression";
}

export function nameOf(node: unknown): string | undefined {
  const { type, name } = (node ?? {}) as { type?: string; name?: string };
  return type === "Identifier" ? name : undefined;
}
