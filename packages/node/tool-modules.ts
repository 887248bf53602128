/** Which modules have the tools of a deployment. */
import { list } from "./environment.ts";

const GALLERY = "@parley/gallery";

export const toolsEnvironment = {
  PARLEY_TOOLS: list()
    .optional()
    .describe(
      "Modules with tools, prompts and resources: paths or package names, separated by commas. Unset: the examples (@parley/gallery), or none if PARLEY_UPSTREAMS is set.",
    ),
};

/** The examples are for a deployment in which nothing is set up: beside the tools of real servers, a model would call them. */
export function toolModules(
  tools: readonly string[] | string | undefined,
  { PARLEY_UPSTREAMS: upstreams }: { readonly PARLEY_UPSTREAMS?: string | undefined },
): readonly string[] {
  const given = typeof tools === "string" ? list().parse(tools) : tools;
  if (given !== undefined && given.length > 0) return given;
  return upstreams ? [] : [GALLERY];
}
