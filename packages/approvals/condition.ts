/**
 * Conditions of rules, in CEL (https://cel.dev), by @bufbuild/cel. A condition sees three variables:
 *
 *   args    the arguments of the call, as the tool gets them
 *   tool    { name, version, annotations, meta }
 *   caller  { id, person, tenant }, each "" if it is unknown, and { groups, roles }, which are absent if they are unknown
 *
 * A condition that fails, that is no yes or no, or that would look at too much (effort.ts), does not say no: whoever evaluates it stops the call.
 * Regular expressions are RE2's, which are linear in the text.
 */
import { type CelResult, celEnv, isCelError, parse, plan } from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";
import { type JsonObject, jsonExceeds } from "@parley/core";
import { metered, PARTS_MAX, renewEffort } from "./effort.ts";

export interface ConditionInput {
  readonly args: JsonObject;
  readonly tool: { readonly name: string; readonly version: string; readonly annotations: JsonObject; readonly meta: JsonObject };
  readonly caller: {
    readonly id: string;
    readonly person: string;
    readonly tenant: string;
    /** Absent, so that a condition that asks for them fails, instead of taking nothing known for no groups. */
    readonly groups?: readonly string[];
    readonly roles?: readonly string[];
  };
}

export interface Condition {
  (input: ConditionInput): boolean | { readonly problem: string };
  /** Whether it may ask for groups or roles of the caller. */
  readonly asksForMembership: boolean;
}

export const CONDITION_CHARS_MAX = 2_000;

const environment = metered(celEnv({ funcs: strings }));

/** Throws an Error with one sentence if the text is no condition. */
export function readCondition(text: string): Condition {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(text);
  } catch (error) {
    throw new Error(`is not CEL: ${error instanceof Error ? error.message.replaceAll("<input>:", "line ") : "unreadable"}`, {
      cause: error,
    });
  }
  const used = usesOf(parsed.expr);
  for (const name of used.variables) {
    if (name !== "args" && name !== "tool" && name !== "caller")
      throw new Error(`uses ${JSON.stringify(name)}; there are args, tool and caller`);
  }
  for (const [variable, field] of used.fields) {
    const known = Object.keys(TRIAL[variable]);
    if (!known.includes(field))
      throw new Error(`uses ${variable}.${field}; there are ${known.map((name) => `${variable}.${name}`).join(", ")}`);
  }
  if (used.loops > 1) throw new Error("has a loop within a loop, which could take minutes");
  const evaluate = plan(environment, parsed) as (bindings: object) => CelResult;
  // A function that CEL does not have is found when it is called. Nothing else fails in the same way.
  renewEffort();
  const tried = evaluate(TRIAL);
  if (isCelError(tried) && /unbound function/.test(tried.message)) throw new Error(tried.message);
  // A server behind the gateway chooses what it says of its tools. By the words, as below, and in a loop over all that is said.
  const readsListing = used.variables.has("tool") && (used.loops > 0 || /annotations|meta/.test(text));
  const condition = (input: ConditionInput) => {
    // A loop over a thousand values takes about 25 ms.
    if (used.loops > 0 && hasTooManyValues(input.args))
      return { problem: `the arguments have more than ${PARTS_MAX} values, too many for a condition with a loop` };
    if (readsListing && [input.tool.annotations, input.tool.meta].some(isListedTooLarge))
      return { problem: `the tool says more than ${PARTS_MAX} values of itself, too many for a condition` };
    renewEffort();
    const result = evaluate(input);
    if (isCelError(result)) return { problem: result.message };
    return typeof result === "boolean" ? result : { problem: "it is neither true nor false" };
  };
  // By the words, not by what is parsed: a condition may reach them in other ways than `caller.groups`.
  return Object.assign(condition, { asksForMembership: /groups|roles/.test(text) });
}

function hasTooManyValues(content: JsonObject): boolean {
  return jsonExceeds(JSON.stringify(content), { depthMax: Infinity, valuesMax: PARTS_MAX }) !== undefined;
}

/** Counted once for each listing of a tool, since it is the same in every call. */
const counted = new WeakMap<JsonObject, boolean>();
function isListedTooLarge(content: JsonObject): boolean {
  const known = counted.get(content) ?? hasTooManyValues(content);
  counted.set(content, known);
  return known;
}

const TRIAL: ConditionInput = {
  args: {},
  tool: { name: "", version: "", annotations: {}, meta: {} },
  caller: { id: "", person: "", tenant: "", groups: [], roles: [] },
};

/** The variables whose fields are the same in every call. */
type Known = "tool" | "caller";

interface Uses {
  readonly variables: ReadonlySet<string>;
  readonly fields: readonly (readonly [Known, string])[];
  /** How deep loops (`all`, `exists`, `map`, `filter`) stand within each other. */
  readonly loops: number;
}

type Expr = ReturnType<typeof parse>["expr"] | undefined;

/** What an expression reads. The variables of its own loops are not counted. */
function usesOf(expr: Expr, own: ReadonlySet<string> = new Set()): Uses {
  const { case: kind, value } = expr?.exprKind ?? { case: undefined };
  switch (kind) {
    case "identExpr":
      return { variables: new Set(own.has(value.name) ? [] : [value.name]), fields: [], loops: 0 };
    case "selectExpr":
      return together([usesOf(value.operand, own), fieldOf(value.operand, value.field, own)]);
    case "callExpr": {
      const [operand, index] = value.args;
      const isIndex = /^_\[\??_\]$/.test(value.function);
      return together([
        ...[value.target, ...value.args].map((each) => usesOf(each, own)),
        ...(isIndex ? [fieldOf(operand, textOf(index), own)] : []),
      ]);
    }
    case "listExpr":
      return together(value.elements.map((each) => usesOf(each, own)));
    case "structExpr":
      return together(
        value.entries.flatMap((each) => [
          usesOf(each.value, own),
          ...(each.keyKind.case === "mapKey" ? [usesOf(each.keyKind.value, own)] : []),
        ]),
      );
    case "comprehensionExpr": {
      const within = new Set([...own, value.iterVar, value.iterVar2, value.accuVar]);
      const range = usesOf(value.iterRange, own);
      const inner = together([value.accuInit, value.loopCondition, value.loopStep, value.result].map((each) => usesOf(each, within)));
      return { ...together([range, inner]), loops: Math.max(range.loops, inner.loops + 1) };
    }
    default:
      return NOTHING;
  }
}

const NOTHING: Uses = { variables: new Set(), fields: [], loops: 0 };

/** `caller.tenant` and `caller["tenant"]`. */
function fieldOf(operand: Expr, field: string | undefined, own: ReadonlySet<string>): Uses {
  const { case: kind, value } = operand?.exprKind ?? { case: undefined };
  if (field === undefined || kind !== "identExpr" || own.has(value.name)) return NOTHING;
  return value.name === "tool" || value.name === "caller" ? { ...NOTHING, fields: [[value.name, field]] } : NOTHING;
}

function textOf(expr: Expr): string | undefined {
  if (expr?.exprKind.case !== "constExpr") return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === "stringValue" ? constantKind.value : undefined;
}

function together(uses: readonly Uses[]): Uses {
  return {
    variables: new Set(uses.flatMap(({ variables }) => [...variables])),
    fields: uses.flatMap(({ fields }) => fields),
    loops: Math.max(0, ...uses.map(({ loops }) => loops)),
  };
}
