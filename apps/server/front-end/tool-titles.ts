/** What people read as the name of a tool. */
import { type Catalogues, toolNameOf } from "@parley/core";

export type TitleOf = (called: { readonly kind: "tool" | "prompt"; readonly name: string }) => string;

/** For programs, which show the name where there is no title. */
export function titleShown(titleOf: TitleOf, called: Parameters<TitleOf>[0]): { readonly toolTitle?: string } {
  const title = titleOf(called);
  return title === toolNameOf(called) ? {} : { toolTitle: title };
}

/** Of what workers run, because the people who are asked may not be offered the tool itself. Its name if it has no title, or is gone. */
export function toolTitles(catalogues: Pick<Catalogues, "runnable">): TitleOf {
  return ({ kind, name }) => {
    const { tools, prompts } = catalogues.runnable();
    const shown = toolNameOf({ name });
    return (kind === "tool" ? tools : prompts).get(shown)?.title ?? shown;
  };
}
