/** Where the client commands look for a server. */
export const DEFAULT_URL = process.env["PARLEY_URL"] || "http://127.0.0.1:3000/mcp";
