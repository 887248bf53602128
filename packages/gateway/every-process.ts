/** What a process reads of the gateway whether or not there is one. The rest, with its MCP client, is loaded where there are upstreams. */
export { GATEWAY_HEADER, gatewayEnvironment, gatewaySettings, upstreamsEnvironment } from "./settings.ts";
export { openUpstreamsFile, type UpstreamsFile } from "./upstreams-file.ts";
