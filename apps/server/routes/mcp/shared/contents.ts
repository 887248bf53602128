import { type Catalogue, ParleyError, type ResourceContents } from "@parley/core";
import type { ReadResource } from "@parley/protocol/stateless";
import type { Mcp } from "../stateless/mcp.ts";

/** resources/read: a resource of that uri, else the first template that fits it. Throws RESOURCE_NOT_FOUND. */
export async function readResource({ catalogue, encode }: Mcp, { uri }: ReadResource): Promise<object> {
  return encode.resourceContents(await contentsOf(catalogue, uri));
}

export async function contentsOf({ resources, templates }: Catalogue, uri: string): Promise<readonly ResourceContents[]> {
  const resource = resources.get(uri);
  if (resource) return await resource.read();
  for (const template of templates) {
    const variables = template.match(uri);
    if (variables) return await template.read(uri, variables);
  }
  throw new ParleyError("RESOURCE_NOT_FOUND", "no resource of that uri", { data: { uri } });
}
