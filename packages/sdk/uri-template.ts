/** RFC 6570, simple expansion only: each `{name}` stands for one path segment or part of it. */
import { DefinitionError } from "./failures.ts";

/** The variables of a uri template: `"test://{kind}/{id}"` has `kind` and `id`. */
export type Variables<Template extends string> = string extends Template
  ? { readonly [variable: string]: string }
  : { readonly [Variable in VariableNames<Template>]: string };

type VariableNames<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}` ? Name | VariableNames<Rest> : never;

/** A function that reads the variables out of a uri that fits, percent-decoded. Throws DefinitionError for what is not simple expansion. */
export function uriMatcher(template: string): (uri: string) => { readonly [variable: string]: string } | undefined {
  const names: string[] = [];
  const pattern = template.split(/(\{[^}]*\})/).map((part) => {
    if (!part.startsWith("{")) return part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
    const name = part.slice(1, -1);
    if (!/^[A-Za-z0-9_]+$/.test(name)) throw new DefinitionError(`${part} in ${template} is not supported: use {name}`);
    if (names.includes(name)) throw new DefinitionError(`${part} stands twice in ${template}`);
    names.push(name);
    return "([^/?#]+)";
  });
  const whole = new RegExp(`^${pattern.join("")}$`);
  return (uri) => {
    const found = whole.exec(uri);
    if (!found) return undefined;
    try {
      return Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(found[index + 1] ?? "")]));
    } catch {
      return undefined; // not percent-encoded as uris are
    }
  };
}
