/** The OpenAPI document of this version. */
import { type OpenApi, openApi } from "./openapi.ts";
import { OPERATIONS } from "./operations.ts";

export const DOCUMENT: OpenApi = openApi(OPERATIONS);
