import { type Catalogue, type ResourceContents, resourceNotFound } from "@parley/core";

/** Reads the resource with that uri, otherwise from the first template or unlisted resources that match it. Throws RESOURCE_NOT_FOUND. */
export async function contentsOf({ resources, templates, unlisted = [] }: Catalogue, uri: string): Promise<readonly ResourceContents[]> {
  const resource = resources.get(uri);
  if (resource) return await resource.read();
  for (const { match, read } of [...templates, ...unlisted]) {
    const variables = match(uri);
    if (variables) return await read(uri, variables);
  }
  throw resourceNotFound("no resource of that uri", uri);
}
