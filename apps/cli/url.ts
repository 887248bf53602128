/** Where client commands look for a server by default. */
export const DEFAULT_URL = "http://127.0.0.1:3000/mcp";

/** Where `parley start` keeps the data of its Redis. */
export const DEFAULT_DATA_DIR = ".parley/redis";

export function noEndpoint(url: string): Error {
  return new Error(`there is no MCP endpoint at ${url}: it usually ends in /mcp`);
}
