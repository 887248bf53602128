/** The names that stateless revisions reserve. names.test.ts compares them with the official packages. */

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const CLIENT_INFO = "io.modelcontextprotocol/clientInfo";
export const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
export const SERVER_INFO = "io.modelcontextprotocol/serverInfo";
export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

export const HEADER_MISMATCH = -32020;
export const MISSING_CAPABILITY = -32021;
