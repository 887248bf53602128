/** How a client reaches an endpoint: over HTTP, or through `parley stdio` where the URL says `stdio+http://…`. */
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { StdioClientTransport as StdioClientTransportV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as StreamableHTTPClientTransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { MAIN } from "../../support/pipe.ts";
import type { Dialect } from "../dialect.ts";

const PREFIX = "stdio+";

/** The endpoint behind the pipe; undefined for one that is reached over HTTP. */
export function behindPipe(url: string): string | undefined {
  return url.startsWith(PREFIX) ? url.slice(PREFIX.length) : undefined;
}

/** The command that a client starts. */
export function pipeCommand(url: string): { readonly command: string; readonly args: string[] } {
  return { command: process.execPath, args: [MAIN, "stdio", "--url", url] };
}

export function transportTo(url: string): StreamableHTTPClientTransport | StdioClientTransport {
  const piped = behindPipe(url);
  return piped === undefined ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport(pipeCommand(piped));
}

/** Of `@modelcontextprotocol/sdk`. */
export function transportV1To(url: string): StreamableHTTPClientTransportV1 | StdioClientTransportV1 {
  const piped = behindPipe(url);
  return piped === undefined ? new StreamableHTTPClientTransportV1(new URL(url)) : new StdioClientTransportV1(pipeCommand(piped));
}

/** The same dialect, spoken through a pipe. */
export function overPipe(dialect: Dialect): Dialect {
  return {
    ...dialect,
    run: (call) => dialect.run({ ...call, url: `${PREFIX}${call.url}`, vanish: async () => `${PREFIX}${await call.vanish()}` }),
  };
}
