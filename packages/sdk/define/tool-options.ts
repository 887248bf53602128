/** What the options of a tool must be, for authors without types. */
import type { ClientCapabilities } from "@parley/core";
import { DefinitionError } from "../failures.ts";
import { checkKinds, checkNested, FUNCTION, type Kinds, LIST, OBJECT, oneOf, SWITCH, TEXT } from "./kinds.ts";

const KINDS: Kinds = {
  version: TEXT,
  title: TEXT,
  description: TEXT,
  task: oneOf("never", "optional", "required"),
  askFirst: SWITCH,
  earlyReplies: SWITCH,
  keepContent: SWITCH,
  scopes: LIST,
  icons: LIST,
  meta: OBJECT,
  needs: { ...OBJECT, wanted: "an object, such as { roots: true }" },
  compensate: FUNCTION,
};

const ANNOTATIONS: Kinds = {
  title: TEXT,
  readOnlyHint: SWITCH,
  destructiveHint: SWITCH,
  idempotentHint: SWITCH,
  openWorldHint: SWITCH,
};

const ICON: Kinds = { src: TEXT, mimeType: TEXT, sizes: LIST, theme: oneOf("light", "dark") };

interface Options {
  readonly annotations?: object | undefined;
  readonly icons?: readonly object[] | undefined;
  readonly needs?: object | undefined;
}

/** Throws DefinitionError for the first option that is of another kind. Name, run and schemas are checked where they are read. */
export function checkOptions(what: string, definition: Options): void {
  checkKinds(what, definition, KINDS);
  const { annotations, icons = [], needs = {} } = definition;
  checkNested(what, "annotations", annotations, ANNOTATIONS);
  checkIcons(what, icons);
  checkNeeds(what, needs);
}

function checkIcons(what: string, icons: readonly unknown[]): void {
  for (const [index, icon] of icons.entries()) {
    checkNested(what, `icons[${index}]`, icon ?? null, ICON);
    if ((icon as { readonly src?: unknown }).src === undefined)
      throw new DefinitionError(`${what}: icons[${index}].src must be a string, the picture's address`);
  }
}

/** MCP writes `{}` where these have true, and a capability that is not understood would not be needed. */
function checkNeeds(what: string, needs: object): void {
  const unknown = Object.keys(needs).find((capability) => !["elicitation", "sampling", "roots"].includes(capability));
  if (unknown !== undefined)
    throw new DefinitionError(`${what}: needs.${unknown} is not known: a client can be asked elicitation, sampling and roots`);
  const { elicitation, sampling } = needs as ClientCapabilities;
  checkKinds(what, needs, { roots: SWITCH }, "needs.");
  checkNested(what, "needs.elicitation", elicitation, { form: SWITCH, url: SWITCH });
  checkNested(what, "needs.sampling", sampling, { tools: SWITCH });
  if (elicitation && !elicitation.form && !elicitation.url)
    throw new DefinitionError(`${what}: needs.elicitation needs neither form nor url: write { form: true }, { url: true } or both`);
}
