import { type Rules, unfittingNames, unfittingText } from "@parley/approvals";
import { readUpstreams } from "@parley/gateway/every-process";
import { toolModules } from "@parley/node";
import { loadCatalogue } from "@parley/sdk";

/**
 * Names in rules that fit none of the deployment's tools and prompts, each in a sentence. Names that could be a server's behind the gateway are left to the
 * workers, which know what it lists. Where nothing says which tools a deployment has, nothing is known.
 */
export async function namesThatFitNothing(rules: Rules, environment: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { PARLEY_TOOLS: tools, PARLEY_UPSTREAMS: upstreams } = environment;
  if (!tools && !upstreams) return [];
  const own = await loadCatalogue(toolModules(tools, environment));
  const unlisted = upstreams ? readUpstreams(upstreams).map(({ prefix }) => prefix) : [];
  return unfittingNames(rules, { tools: own.tools.keys(), prompts: own.prompts.keys(), unlisted }).map(unfittingText);
}
