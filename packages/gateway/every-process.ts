/** The part of the gateway that every process loads. The rest, with its MCP client, is loaded only if there are upstreams. */
export { GATEWAY_HEADER, gatewayEnvironment, gatewaySettings, upstreamsEnvironment } from "./settings.ts";
export { openUpstreamsFile, type UpstreamsFile } from "./upstreams-file.ts";
export { readUpstreams, UpstreamsError } from "./upstreams.ts";
