/** Other MCP servers behind Parley: their tools as tasks, their questions durable. The only importer of MCP clients for it. */
export * from "./processes/gateway.ts";
export { type ListedTool, type Listing, LISTING_CAPABILITIES, readListing } from "./lists/listing.ts";
export type { Listings, StoredListing } from "./lists/listings.ts";
export { createOffer, type Offer } from "./offer/offer.ts";
export { createReadThrough } from "./lists/reads.ts";
export type { DeadProcess } from "./processes/membership.ts";
export type { GatewayRun } from "./processes/runs.ts";
export { createTasklessCalls } from "./call/taskless.ts";
export * from "./config/settings.ts";
export { createClientTokens, hasCredentials } from "./connection/client-token.ts";
export { createUpstreamFetch } from "./connection/upstream-fetch.ts";
export { createConnector } from "./connection/upstream-session.ts";
export { describeFailure } from "./wire/describe-failure.ts";
export * from "./config/upstreams.ts";
export { mayRepeat } from "./offer/gateway-tool.ts";
