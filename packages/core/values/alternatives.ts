/**
 * What a value lacks that fits none of several alternatives, said once. Validators report the problem of each alternative and then that none fits, which
 * tells a person to write both a whole number and "auto".
 *
 *   { anyOf: [{ type: "integer" }, { const: "auto" }] }              "x"  →  must be a whole number or "auto"
 *   { anyOf: [{ type: "string", minLength: 3 }, { type: "null" }] }  "x"  →  must have at least 3 characters
 */
import { schemaViolation, type Violation, VIOLATIONS_WANTED } from "./schema-violation.ts";
import { ENGLISH, listOf, type SchemaProblem, type ViolationTexts } from "./violation-texts.ts";

/** More alternatives that a value might have meant are not told in one sentence. */
const NAMED_MAX = 3;

/** As ajv reports it. */
export interface ReportedProblem extends SchemaProblem {
  /** Where in the schema, such as `#/properties/f/anyOf/0/type`. */
  readonly schemaPath: string;
}

/** What would do instead, where a value is of another kind. */
interface Kinds {
  readonly types: readonly string[];
  /** Lists as they stand in the schema, which may be long: they are read only for what is reported. */
  readonly choices: readonly (readonly unknown[])[];
}

interface Said {
  readonly schemaPath: string;
  readonly path: string;
  readonly message: () => string;
  readonly kinds?: Kinds;
}

/** The first violations, in the order of the problems, which is the schema's. Looks at each problem a few times, however many there are. */
export function violationsIn(problems: readonly ReportedProblem[], texts: ViolationTexts = ENGLISH): readonly Violation[] {
  const said: Said[] = [];
  for (const problem of problems) {
    const { schemaPath, instancePath: path, keyword, params } = problem;
    const violation = schemaViolation(problem, texts);
    const one: Said = { schemaPath, path: violation.path, message: () => violation.message, ...kindsIn(problem) };
    if ((keyword !== "anyOf" && keyword !== "oneOf") || Array.isArray(params["passingSchemas"])) {
      said.push(one);
      continue;
    }
    const { count, numberAt } = numbered(problem);
    // The problems of the alternatives stand directly before.
    let first = said.length;
    for (; first > 0; first -= 1) {
      const before = said[first - 1] as Said;
      if (numberAt(before.schemaPath) === undefined || (before.path !== path && !isBelow(before.path, path))) break;
    }
    const parts = said.splice(first);
    const alternatives = [...Map.groupBy(parts, (each) => numberAt(each.schemaPath)).values()];
    // One that refers to further references has problems that cannot be told from others: then everything is said.
    said.push(...(alternatives.length === count ? together(alternatives, one, texts) : [...parts, one]));
  }
  return said.slice(0, VIOLATIONS_WANTED).map(({ path, message }) => ({ path, message: message() }));
}

function kindsIn({ keyword, params }: SchemaProblem): { readonly kinds?: Kinds } {
  if (keyword === "type") return { kinds: { types: listOf(params["type"]), choices: [] } };
  if (keyword === "const") return { kinds: { types: [], choices: [[params["allowedValue"]]] } };
  return keyword === "enum" ? { kinds: { types: [], choices: [listOf(params["allowedValues"])] } } : {};
}

/** Which alternative a problem is one of. Below a reference it has the path of what is referred to. */
function numbered({ schemaPath, keyword, parentSchema }: ReportedProblem) {
  const { [keyword]: alternatives } = parentSchema as { readonly [keyword: string]: readonly unknown[] };
  const byReference = new Map(
    (alternatives ?? []).flatMap((each, index) => {
      const reference = typeof each === "object" && each !== null && "$ref" in each ? each.$ref : undefined;
      return typeof reference === "string" && reference !== "#" ? [[reference, String(index)] as const] : [];
    }),
  );
  return {
    count: alternatives?.length,
    numberAt(path: string): string | undefined {
      if (isBelow(path, schemaPath)) return path.slice(schemaPath.length + 1).split("/", 1)[0];
      if (byReference.size === 0) return undefined;
      for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
        const number = byReference.get(path.slice(0, end));
        if (number !== undefined) return number;
      }
      return undefined;
    },
  };
}

/** The problems of the alternative that was meant, or what would do instead. `none` if neither can be said. */
function together(alternatives: readonly (readonly Said[])[], none: Said, texts: ViolationTexts): readonly Said[] {
  const { schemaPath, path } = none;
  const isOtherKind = (each: readonly Said[]) => each.some((part) => part.kinds !== undefined && part.path === path);
  const [meant, ...others] = alternatives.filter((each) => !isOtherKind(each));
  if (meant && others.length === 0) return meant.map((each) => ({ ...each, schemaPath }));
  if (meant) {
    const all = [meant, ...others];
    const isShort = all.length <= NAMED_MAX && all.every((each) => each.length === 1 && each[0]?.path === path);
    return [isShort ? { schemaPath, path, message: () => texts.or([...new Set(all.flat().map(({ message }) => message()))]) } : none];
  }

  const all = alternatives.flatMap((each) => {
    const kinds = each.flatMap((part) => (part.kinds !== undefined && part.path === path ? [part.kinds] : []));
    // Of a text that is one of a few, any other text does not do.
    const choosing = kinds.filter(({ types }) => types.length === 0);
    return choosing.length > 0 ? choosing : kinds;
  });
  const types = [...new Set(all.flatMap((each) => each.types))];
  const choices = [...new Set(all.flatMap((each) => each.choices))];
  const message = () => {
    const distinct = [...new Set(choices.flat())];
    // Nobody writes null into a form: the field is left empty.
    const named = types.length + distinct.length > 1 ? types.filter((type) => type !== "null") : types;
    return texts.of({ keyword: "anyOf", params: { types: named, choices: distinct } }) ?? none.message();
  };
  return [{ schemaPath, path, message, kinds: { types, choices } }];
}

function isBelow(path: string, above: string): boolean {
  return path.startsWith(`${above}/`);
}
