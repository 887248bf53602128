/** The capabilities that clients declare, those that asks and tools need, and the difference. */
import { ParleyError, usesTools, type AskRequest, type ClientCapabilities } from "@parley/core";
import { given, isObject, type Wire } from "./json-rpc.ts";

/** Capabilities in MCP's own shape. */
export interface RequiredCapabilities {
  readonly elicitation?: { readonly form?: object; readonly url?: object };
  readonly sampling?: { readonly tools?: object };
  readonly roots?: object;
  readonly extensions?: { readonly [id: string]: object };
}

/** Reads declared capabilities. Returns the name of the first member that is not an object, as a string. */
export function readCapabilities(declared: Wire): ClientCapabilities | string {
  for (const key of ["elicitation", "sampling", "roots"]) {
    const value = given(declared, key);
    if (value !== undefined && !isObject(value)) return key;
  }
  const elicitation = given(declared, "elicitation");
  const sampling = given(declared, "sampling");
  return {
    // A bare `elicitation: {}` means that forms are understood; other modes alone, such as `{url: {}}`, mean that they are not.
    ...(isObject(elicitation)
      ? {
          elicitation: {
            form: isObject(given(elicitation, "form")) || !Object.values(elicitation).some(isObject),
            url: isObject(given(elicitation, "url")),
          },
        }
      : {}),
    ...(isObject(sampling) ? { sampling: { tools: isObject(given(sampling, "tools")) } } : {}),
    ...(isObject(given(declared, "roots")) ? { roots: true } : {}),
    ...(showsViews(declared) ? { views: true } : {}),
  };
}

/** MCP Apps: how hosts that show views of servers say so, in every revision. */
export const UI_EXTENSION = "io.modelcontextprotocol/ui";
export const VIEW_MIME_TYPE = "text/html;profile=mcp-app";
/** The view of open questions that every deployment has. */
export const ASK_VIEW_URI = "ui://parley/ask";

function showsViews(declared: Wire): boolean {
  const extensions = given(declared, "extensions");
  const ui = isObject(extensions) ? given(extensions, UI_EXTENSION) : undefined;
  const types = isObject(ui) ? given(ui, "mimeTypes") : undefined;
  return Array.isArray(types) && types.includes(VIEW_MIME_TYPE);
}

/** The capabilities in `needed` that were not declared; undefined if none is missing. */
export function missingCapabilities(needed: ClientCapabilities, declared: ClientCapabilities): RequiredCapabilities | undefined {
  const form = needed.elicitation?.form === true && !declared.elicitation?.form;
  const url = needed.elicitation?.url === true && !declared.elicitation?.url;
  const tools = needed.sampling?.tools === true && !declared.sampling?.tools;
  const sampling = needed.sampling !== undefined && !declared.sampling;
  const roots = needed.roots === true && !declared.roots;
  if (!(form || url || sampling || tools || roots)) return undefined;
  return {
    ...(form || url ? { elicitation: { ...(form ? { form: {} } : {}), ...(url ? { url: {} } : {}) } } : {}),
    ...(sampling || tools ? { sampling: tools ? { tools: {} } : {} } : {}),
    ...(roots ? { roots: {} } : {}),
  };
}

/** The capabilities that these asks need and the client did not declare. Such asks MUST NOT be sent to it. */
export function requiredCapabilities(requests: readonly AskRequest[], declared: ClientCapabilities): RequiredCapabilities | undefined {
  const types = new Set(requests.map(({ type }) => type));
  return missingCapabilities(
    {
      elicitation: { form: types.has("form"), url: types.has("url") },
      ...(types.has("sampling") ? { sampling: { tools: requests.some(usesTools) } } : {}),
      roots: types.has("roots"),
    },
    declared,
  );
}

/** The error to throw, with the data that MCP requires. */
export function capabilityRequired(what: string, required: RequiredCapabilities): ParleyError {
  const missing = ABILITIES.filter(({ isIn }) => isIn(required));
  const extensions = Object.keys(required.extensions ?? {}).map((id) => ({
    name: `the extension ${id}`,
    ability: id.endsWith("/tasks") ? "follow tasks" : `use the extension ${id}`,
  }));
  const all = [...missing, ...extensions];
  const abilities = all.map(({ ability }) => ability).join(" and ");
  const names = all.map(({ name }) => name).join(", ");
  // Many clients show only the message, so it must say what to do without the hint and the data.
  const message = `${what} needs a client that can ${abilities}, and this client did not declare ${names}. Turn that on in the client's settings, or use a client that has it.`;
  return new ParleyError("CAPABILITY_REQUIRED", message, { data: { requiredCapabilities: required } });
}

interface Ability {
  readonly isIn: (required: RequiredCapabilities) => boolean;
  /** The specification's name. */
  readonly name: string;
  /** What the client can do with it, for people. */
  readonly ability: string;
}

const ABILITIES: readonly Ability[] = [
  { isIn: ({ elicitation }) => elicitation?.form !== undefined, name: "elicitation.form", ability: "show forms to its user" },
  { isIn: ({ elicitation }) => elicitation?.url !== undefined, name: "elicitation.url", ability: "send its user to a page" },
  { isIn: ({ sampling }) => sampling !== undefined && !sampling.tools, name: "sampling", ability: "lend its model to servers" },
  { isIn: ({ sampling }) => sampling?.tools !== undefined, name: "sampling.tools", ability: "lend its model to servers, with tools" },
  { isIn: ({ roots }) => roots !== undefined, name: "roots", ability: "name its user's folders" },
];
