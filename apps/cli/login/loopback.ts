/** The redirect target of a login: an address on this machine that exists only for this login (RFC 8252, 7.3). */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Loopback {
  readonly redirectUrl: string;
  /** The parameters of the redirect. Throws if the browser does not return in time. */
  back(timeoutMs: number): Promise<URLSearchParams>;
  close(): void;
}

const PATH = "/callback";

export async function openLoopback(): Promise<Loopback> {
  const came = Promise.withResolvers<URLSearchParams>();
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const isBack = request.method === "GET" && pathname === PATH && (searchParams.has("code") || searchParams.has("error"));
    response.writeHead(isBack ? 200 : 404, { "content-type": "text/html; charset=utf-8", "content-security-policy": "default-src 'none'" });
    response.end(isBack ? "<!doctype html><title>Parley</title><p>You can close this page and return to the terminal.</p>" : "");
    if (isBack) came.resolve(searchParams);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    redirectUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    async back(timeoutMs) {
      const late = setTimeout(
        () => came.reject(new Error(`the login was not completed within ${Math.round(timeoutMs / 60_000)} minutes`)),
        timeoutMs,
      );
      try {
        return await came.promise;
      } finally {
        clearTimeout(late);
      }
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
