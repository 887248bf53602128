/** `defineResource` and `defineResourceTemplate`: what clients can read. */
import { type JsonObject, ParleyError, type Resource, type ResourceContents, type ResourceTemplate } from "@parley/core";
import { markDefinition } from "./definition.ts";
import { DefinitionError } from "../failures.ts";
import { checkKinds, checkNested, FUNCTION, type Kinds, OBJECT, TEXT, wholeNumberFrom } from "./kinds.ts";
import { nounFor, plainJson } from "../values/plain-data.ts";
import { present } from "../values/without-undefined.ts";
import { suggestions } from "./suggestions.ts";
import { annotationsProblem, contentsProblem } from "../results/tool-result.ts";
import { type Variables, uriMatcher } from "../schemas/uri-template.ts";

interface ResourceFacts {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: JsonObject;
  /** `_meta` in lists, such as `{ ui: { csp: … } }` of a resource of an MCP App. Plain JSON. */
  readonly meta?: JsonObject;
}

/** A text, bytes, or contents with URIs of their own. */
export type ResourceReturn = string | Uint8Array | readonly ResourceContents[];

/** What `defineResource` takes. */
export interface ResourceDefinition extends ResourceFacts {
  readonly uri: string;
  /** In bytes. */
  readonly size?: number;
  read(): ResourceReturn | Promise<ResourceReturn>;
}

/** What `defineResourceTemplate` takes. */
export interface ResourceTemplateDefinition<Template extends string> extends ResourceFacts {
  /** Such as `test://template/{id}/data`. */
  readonly uriTemplate: Template;
  read(variables: Variables<Template>, uri: string): ResourceReturn | Promise<ResourceReturn>;
  /** Suggests values for a variable, from what was typed so far and the variables that are already filled in. */
  readonly complete?: {
    readonly [Variable in keyof Variables<Template>]?: (
      value: string,
      others: { readonly [name: string]: string },
    ) => readonly string[] | Promise<readonly string[]>;
  };
}

/** Defines a resource. Throws DefinitionError if the URI is not absolute. */
export function defineResource(definition: ResourceDefinition): Resource {
  const { uri, size } = definition;
  if (typeof uri !== "string" || !URL.canParse(uri))
    throw new DefinitionError(`resource uri ${JSON.stringify(uri)} is not an absolute uri`);
  checkFacts(`resource ${uri}`, definition);
  checkKinds(`resource ${uri}`, { size }, { size: wholeNumberFrom(0) });
  return markDefinition({
    ...facts(`resource ${uri}`, definition),
    uri,
    ...present({ size }),
    read: async () => contents(definition, uri, await definition.read()),
  } satisfies Resource);
}

/** Defines a family of resources. Throws DefinitionError if the template uses more than simple expansion. */
export function defineResourceTemplate<const Template extends string>(definition: ResourceTemplateDefinition<Template>): ResourceTemplate {
  const { uriTemplate } = definition;
  if (typeof uriTemplate !== "string")
    throw new DefinitionError(`resource template ${JSON.stringify(uriTemplate)} is not a uri template, such as "test://item/{id}"`);
  const what = `resource template ${uriTemplate}`;
  checkFacts(what, definition);
  checkNested(what, "complete", definition.complete, completions(uriTemplate, definition.complete));
  const suggest = new Map(Object.entries<Suggest | undefined>(definition.complete ?? {}));
  return markDefinition({
    ...facts(what, definition),
    uriTemplate,
    match: uriMatcher(uriTemplate),
    read: async (uri, variables) => contents(definition, uri, await definition.read(variables as Variables<Template>, uri)),
    ...(suggest.size === 0
      ? {}
      : {
          complete: async (variable, value, others) =>
            suggestions(`${what}: complete of ${variable}`, await suggest.get(variable)?.(value, others)),
        }),
  } satisfies ResourceTemplate);
}

type Suggest = (value: string, others: { readonly [name: string]: string }) => readonly string[] | Promise<readonly string[]>;

const KINDS: Kinds = { title: TEXT, description: TEXT, mimeType: TEXT, meta: OBJECT };

function checkFacts(what: string, definition: ResourceFacts & { readonly read: unknown }): void {
  if (typeof definition.read !== "function") throw new DefinitionError(`${what} has no read: give the function that returns its contents`);
  if (typeof definition.name !== "string") throw new DefinitionError(`${what} has no name: give it one for lists`);
  checkKinds(what, definition, KINDS);
  const problem = annotationsProblem(definition.annotations);
  if (problem !== undefined) throw new DefinitionError(`${what}: annotations${problem}`);
}

/** A suggestion for what is no variable would never be asked for. */
function completions(uriTemplate: string, complete: object = {}): Kinds {
  return Object.fromEntries(
    Object.keys(complete).map((variable) => [
      variable,
      uriTemplate.includes(`{${variable}}`) ? FUNCTION : { is: () => false, wanted: `for a variable of ${uriTemplate}` },
    ]),
  );
}

function facts(what: string, { name, title, description, mimeType, annotations, meta: given }: ResourceFacts): ResourceFacts {
  const meta = given && (plainJson(`the meta of ${what}`, given) as JsonObject);
  return { name, ...present({ title, description, mimeType, annotations, meta }) };
}

function contents({ name, mimeType }: ResourceFacts, uri: string, returned: ResourceReturn): readonly ResourceContents[] {
  const type = present({ mimeType });
  if (typeof returned === "string") return [{ uri, ...type, text: returned }];
  if (returned instanceof Uint8Array) return [{ uri, ...type, blob: Buffer.from(returned).toString("base64") }];
  const refused = (problem: string) => new ParleyError("INVALID_OUTPUT", `resource ${name} returned ${problem}`);
  // Not every author has types.
  if (!Array.isArray(returned)) throw refused(`${nounFor(returned)}, which is neither text, bytes nor a list of contents`);
  for (const [index, each] of (returned as readonly unknown[]).entries()) {
    const problem = contentsProblem(each);
    if (problem !== undefined) throw refused(`contents that no client can read: /${index}${problem}`);
  }
  return returned;
}
