/** Other MCP servers behind Parley: their tools as tasks, their questions durable. The only importer of MCP clients for it. */
export * from "./gateway.ts";
export { type ListedTool, type Listing, LISTING_CAPABILITIES, readListing } from "./listing.ts";
export { createOffer, type Listings, type Offer, type StoredListing } from "./offer.ts";
export { createReadThrough } from "./reads.ts";
export type { DeadProcess } from "./membership.ts";
export type { GatewayRun } from "./runs.ts";
export { createTasklessCalls } from "./taskless.ts";
export * from "./settings.ts";
export { createUpstreamFetch } from "./upstream-fetch.ts";
export { createConnector } from "./upstream-session.ts";
export { wordFor } from "./word-for.ts";
export * from "./upstreams.ts";
export { mayRepeat } from "./gateway-tool.ts";
