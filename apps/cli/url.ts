/** Where client commands look for a server by default. */
export const DEFAULT_URL = "http://127.0.0.1:3000/mcp";

/** Where `parley start` keeps the data of its Redis. */
export const DEFAULT_DATA_DIR = ".parley/redis";

/** Throws an Error that says what is wrong with the URL, without the password that it may contain. */
export function checkEndpoint(url: string): void {
  const { protocol = "", username, password } = URL.parse(url) ?? {};
  if (username || password)
    throw new Error("the URL of an MCP endpoint cannot contain a user name or a password: set PARLEY_TOKEN to an access token");
  if (!/^https?:$/.test(protocol)) throw new Error(`${url} is not the URL of an MCP endpoint: it must begin with http:// or https://`);
}

export function noEndpoint(url: string): Error {
  return new Error(`there is no MCP endpoint at ${url}: it usually ends in /mcp`);
}
