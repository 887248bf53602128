/** The Redis that tests run on: the one at REDIS_URL, else an embedded one in a directory that goes with it, else a container. Never memory. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedRedis } from "@parley/redis/embedded";

export interface SharedRedis {
  readonly url: string;
  close(): Promise<void>;
}

export async function startSharedRedis(): Promise<SharedRedis> {
  const given = process.env["REDIS_URL"];
  return given ? { url: given, close: async () => undefined } : startOwnRedis();
}

/** One that nobody else talks to, for tests that count what is asked of it. */
export async function startOwnRedis(): Promise<SharedRedis> {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-test-redis-"));
  try {
    const { url, close } = await startEmbeddedRedis({ dataDir, sources: ["path", "wheel"] });
    return {
      url,
      async close() {
        await close();
        await rm(dataDir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    return startContainer(error);
  }
}

async function startContainer(reason: unknown): Promise<SharedRedis> {
  const { GenericContainer } = await import("testcontainers");
  try {
    const container = await new GenericContainer("redis:7-alpine").withExposedPorts(6379).start();
    return {
      url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
      close: async () => void (await container.stop()),
    };
  } catch (error) {
    throw new AggregateError([reason, error], `The tests need a Redis. ${(reason as Error).message}`);
  }
}
