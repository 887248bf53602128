/** The names that 2026-07-28 reserves. names.test.ts compares them with the official packages. */
import type { StatelessVersion } from "../../versions.ts";

export const VERSION = "2026-07-28" satisfies StatelessVersion;

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";
export const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
export const SERVER_INFO = "io.modelcontextprotocol/serverInfo";
export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
export const RELATED_TASK = "io.modelcontextprotocol/related-task";

export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
