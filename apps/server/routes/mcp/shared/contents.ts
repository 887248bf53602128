import { type Caller, type Catalogue, type ResourceContents, resourceNotFound, takerOf } from "@parley/core";

/** Reads the resource with that uri, otherwise from the first template or unlisted resources that match it. Throws RESOURCE_NOT_FOUND. */
export async function contentsOf(
  { resources, templates, unlisted = [] }: Catalogue,
  uri: string,
  caller: Caller,
): Promise<readonly ResourceContents[]> {
  const taker = takerOf(caller);
  const resource = resources.get(uri);
  if (resource) return await resource.read(taker);
  for (const { match, read } of [...templates, ...unlisted]) {
    const variables = match(uri);
    if (variables) return await read(uri, variables, taker);
  }
  throw resourceNotFound("no resource of that uri", uri);
}
