/** Where the client commands look for a server when nothing names one. */
export const DEFAULT_URL = "http://127.0.0.1:3000/mcp";

/** Where `parley start` keeps what its Redis writes. */
export const DEFAULT_DATA_DIR = ".parley/redis";
