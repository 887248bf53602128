/** A front end that cannot start. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { openTestRedis } from "../../test/support/redis.ts";
import { SERVER_SETTINGS, serverConfig } from "./config.ts";
import { startServer } from "./start-server.ts";

test("a front end whose port is taken says what to do, and no longer watches its file of upstreams", async () => {
  const redis = openTestRedis();
  const other = createServer();
  await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
  const { port } = other.address() as AddressInfo;
  try {
    const settings = { REDIS_URL: redis.url, PARLEY_PREFIX: redis.prefix, PARLEY_PORT: String(port), PARLEY_LOG_LEVEL: "silent" };
    const stopWatching = vi.fn();
    const upstreams = { upstreams: [], watch: () => stopWatching };
    await expect(startServer({ ...serverConfig(SERVER_SETTINGS.parse(settings)), upstreams })).rejects.toThrow(
      `listen EADDRINUSE: address already in use 127.0.0.1:${port}; stop the process that uses the port, or set PARLEY_PORT to another one`,
    );
    expect(stopWatching).toHaveBeenCalledOnce();
  } finally {
    other.close();
    await redis.close();
  }
});
