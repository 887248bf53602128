import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import type { Services } from "@parley/core";
import { createLogger, createValidator, sha256Digest, systemClock } from "@parley/node";
import { connectRedis } from "@parley/redis";
import { loadCatalogue } from "@parley/sdk";
import { buildApp } from "./app.ts";
import type { ServerConfig } from "./config.ts";
import { anonymous } from "./principal.ts";
import { agreedStateKeys } from "./state-keys.ts";

export interface RunningServer {
  /** Of the MCP endpoint. */
  readonly url: string;
  /** Drains and disconnects; see App.close. */
  close(): Promise<void>;
}

/**
 * Connects to Redis, loads the tools and listens. Throws DefinitionError for tool modules that do not load, UNAVAILABLE for a Redis that
 * does not serve, and Node's error for an address that cannot be listened on.
 */
export async function startServer(config: ServerConfig): Promise<RunningServer> {
  const log = createLogger("server", config.logLevel);
  const catalogue = await loadCatalogue(config.tools);
  const redis = await connectRedis(config.redis, { log });
  try {
    const { store, queue, events, ids } = redis;
    const services: Services = {
      store,
      queue,
      events,
      ids,
      clock: systemClock,
      digest: sha256Digest,
      validate: createValidator(),
      log,
      settings: config.core,
    };
    const { pageSize, limits, times } = config;
    const app = await buildApp({
      services,
      catalogue,
      facts: { name: "parley", version: VERSION, pollIntervalMs: times.pollIntervalMs, listTtlMs: times.listTtlMs, pageSize },
      keys: await agreedStateKeys(config.secrets, redis.secret),
      trusted: config,
      limits,
      times,
      authenticate: anonymous,
      reachable: () => redis.ping(),
    });
    await app.server.listen({ host: config.host, port: config.port });
    const url = urlOf(app.server.server.address() as AddressInfo);
    log.info({ url, tools: catalogue.tools.size, prompts: catalogue.prompts.size, resources: catalogue.resources.size }, "front end ready");
    return {
      url,
      async close() {
        await app.close();
        await redis.close();
      },
    };
  } catch (error) {
    await redis.close();
    throw error;
  }
}

/** An address that means all of them is reached on this machine by localhost. */
function urlOf({ address, port, family }: AddressInfo): string {
  const host = address === "0.0.0.0" || address === "::" ? "localhost" : family === "IPv6" ? `[${address}]` : address;
  return `http://${host}:${port}/mcp`;
}

const { version: VERSION } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };
