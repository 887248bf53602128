/** The part of the gateway that every process loads. The rest, with its MCP client, is loaded only if there are upstreams. */
export { GATEWAY_HEADER, gatewayEnvironment, gatewaySettings, upstreamsEnvironment } from "./config/settings.ts";
export { openUpstreamsFile, type UpstreamsFile } from "./config/upstreams-file.ts";
export { readUpstreams, type Upstream, UpstreamsError } from "./config/upstreams.ts";
