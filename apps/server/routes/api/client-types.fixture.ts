/** TypeScript types of /api/v1 for clients, made from its OpenAPI document. For `npm run generate` and tests. */
import openapiTS, { astToString } from "openapi-typescript";
import type { OpenApi } from "./openapi.ts";

/** Throws if the document is not valid OpenAPI. */
export async function clientTypes(document: OpenApi): Promise<string> {
  const nodes = await openapiTS(structuredClone(document) as never, { immutable: true });
  // There are none, and nothing would use them.
  const types = astToString(nodes).replaceAll(/^export type (?:webhooks|\$defs) = .*\n/gm, "");
  return `/** Generated from docs/openapi.json by \`npm run generate\`. */\n${types}`;
}
