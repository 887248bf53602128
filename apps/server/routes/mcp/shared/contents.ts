import { type Catalogue, type ResourceContents, resourceNotFound } from "@parley/core";

/** Reads the resource with that uri, otherwise the first template that matches it. Throws RESOURCE_NOT_FOUND. */
export async function contentsOf({ resources, templates }: Catalogue, uri: string): Promise<readonly ResourceContents[]> {
  const resource = resources.get(uri);
  if (resource) return await resource.read();
  for (const template of templates) {
    const variables = template.match(uri);
    if (variables) return await template.read(uri, variables);
  }
  throw resourceNotFound("no resource of that uri", uri);
}
