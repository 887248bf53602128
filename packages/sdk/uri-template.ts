/** RFC 6570, simple expansion only: each `{name}` matches one path segment or part of it. */
import { DefinitionError } from "./failures.ts";

/** The variables of a URI template: `"test://{kind}/{id}"` has `kind` and `id`. */
export type Variables<Template extends string> = string extends Template
  ? { readonly [variable: string]: string }
  : { readonly [Variable in VariableNames<Template>]: string };

type VariableNames<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}` ? Name | VariableNames<Rest> : never;

/**
 * A function that extracts the variables of a matching URI, percent-decoded. Throws DefinitionError if the template
 * uses more than simple expansion.
 */
export function uriMatcher(template: string): (uri: string) => { readonly [variable: string]: string } | undefined {
  const parts = partsOf(template);
  return (uri) => {
    const values = valuesIn(uri, parts);
    if (!values) return undefined;
    try {
      return Object.fromEntries(values.map(([name, value]) => [name, decodeURIComponent(value)]));
    } catch {
      return undefined; // invalid percent-encoding
    }
  };
}

type Part = { readonly literal: string } | { readonly name: string };

function partsOf(template: string): readonly Part[] {
  const names: string[] = [];
  return template.split(/(\{[^}]*\})/).map((part): Part => {
    if (!part.startsWith("{")) return { literal: part };
    const name = part.slice(1, -1);
    if (!/^[A-Za-z0-9_]+$/.test(name)) throw new DefinitionError(`${part} in ${template} is not supported: use {name}`);
    if (names.includes(name)) throw new DefinitionError(`${part} appears twice in ${template}`);
    names.push(name);
    return { name };
  });
}

/** Ends a path segment, and with it a variable. */
const ENDS: ReadonlySet<string> = new Set(["/", "?", "#"]);

/**
 * Each variable matches as much as it can while the rest still matches. The URI is the caller's, so failed attempts
 * are remembered; a regular expression for `{name}-{version}.{type}` would take time that grows with the third power
 * of the length.
 */
function valuesIn(uri: string, parts: readonly Part[]): readonly (readonly [name: string, value: string])[] | undefined {
  const inVain = parts.map(() => new Set<number>());

  function from(index: number, at: number): (readonly [name: string, value: string])[] | undefined {
    const part = parts[index];
    if (!part) return at === uri.length ? [] : undefined;
    if ("literal" in part) return uri.startsWith(part.literal, at) ? from(index + 1, at + part.literal.length) : undefined;
    if (inVain[index]?.has(at)) return undefined;
    let end = at;
    while (end < uri.length && !ENDS.has(uri[end] ?? "")) end += 1;
    for (; end > at; end -= 1) {
      const rest = from(index + 1, end);
      if (rest) return [[part.name, uri.slice(at, end)], ...rest];
    }
    inVain[index]?.add(at);
    return undefined;
  }

  return from(0, 0);
}
