/** RFC 6570, simple expansion only: each `{name}` matches one path segment or part of it. */
import { DefinitionError } from "../failures.ts";

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
    return values && decoded(values);
  };
}

type Values = readonly (readonly [name: string, value: string])[];

function decoded(values: Values): { readonly [variable: string]: string } | undefined {
  try {
    return Object.fromEntries(values.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined; // invalid percent-encoding
  }
}

type Part = { readonly literal: string } | { readonly name: string };

function partsOf(template: string): readonly Part[] {
  const names: string[] = [];
  return template.split(/(\{[^}]*\})/).map((part): Part => {
    if (!/[{}]/.test(part)) return { literal: part };
    const name = part.slice(1, -1);
    if (!part.endsWith("}") || !/^[A-Za-z0-9_]+$/.test(name))
      throw new DefinitionError(`${part} in ${template} is not supported: use {name}`);
    if (names.includes(name)) throw new DefinitionError(`${part} appears twice in ${template}`);
    names.push(name);
    return { name };
  });
}

/** Ends a path segment, and with it a variable. */
const SEGMENT_END = /[/?#]|$/;

/**
 * Each variable matches as much as it can while the rest still matches. The URI is the caller's, so failed attempts
 * are remembered; a regular expression for `{name}-{version}.{type}` would take time that grows with the third power
 * of the length.
 */
function valuesIn(uri: string, parts: readonly Part[]): Values | undefined {
  const end: Match = (at) => (at === uri.length ? [] : undefined);
  return parts.reduceRight<Match>(
    (rest, part) => ("literal" in part ? literal(uri, part.literal, rest) : variable(uri, part.name, rest)),
    end,
  )(0);
}

/** The values in the URI from this position to its end; undefined if the rest of the template does not match there. */
type Match = (at: number) => Values | undefined;

function literal(uri: string, text: string, rest: Match): Match {
  return (at) => (uri.startsWith(text, at) ? rest(at + text.length) : undefined);
}

function variable(uri: string, name: string, rest: Match): Match {
  const inVain = new Set<number>();
  return (at) => {
    if (inVain.has(at)) return undefined;
    for (let end = at + uri.slice(at).search(SEGMENT_END); end > at; end -= 1) {
      const after = rest(end);
      if (after) return [[name, uri.slice(at, end)], ...after];
    }
    inVain.add(at);
    return undefined;
  };
}
