/** Which server is chosen, and how it is called. The programs are scripts that say what real ones say. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { commandOf, type Version } from "./embedded-sources.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-path-"));
  vi.stubEnv("PATH", folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

async function program(name: string, script: string): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

const redis = (version: string) => program("redis-server", `echo "Redis server v=${version} sha=00000000:0 malloc=jemalloc-5.2.1 bits=64"`);
const valkey = (version: string) =>
  program("valkey-server", `echo "Valkey server v=${version} sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"`);
const placement = (writer?: Version) => ({ dataDir: "/srv/data", port: 7_001, cacheDir: "/none", ...(writer && { writer }) });
const onPath = async (product?: Version["product"], version = "7.0.15") =>
  (await commandOf("path", placement(product && { product, version }))).argv[0];

describe("a server from the PATH", () => {
  test("is called with the configuration in its data directory, on the loopback interface", async () => {
    await redis("7.0.15");
    expect(await commandOf("path", placement())).toStrictEqual({
      argv: ["redis-server", "/srv/data/redis.conf"],
      bind: "127.0.0.1",
      port: 7_001,
      dir: "/srv/data",
      startTimeoutMs: 10_000,
    });
  });

  test("is Redis before Valkey, unless Redis is too old or Valkey has written the data", async () => {
    await valkey("8.0.1");
    expect(await onPath()).toBe("valkey-server");
    await redis("10.12.0");
    expect([await onPath(), await onPath("valkey")]).toEqual(["redis-server", "valkey-server"]);
    await redis("6.0.16");
    expect(await onPath()).toBe("valkey-server");
  });

  test("is missing or too old, and the error says which", async () => {
    await expect(onPath()).rejects.toThrow(/^neither redis-server nor valkey-server is on the PATH$/);
    await expect(onPath("redis")).rejects.toThrow(/^redis-server is not on the PATH$/);
    await redis("6.0.16");
    await valkey("5.9");
    await expect(onPath()).rejects.toThrow(/^redis-server 6\.0\.16 is older than 6\.2; valkey-server 5\.9 is older than 6\.2$/);
    await program("redis-server", "echo something else");
    await expect(onPath("redis")).rejects.toThrow("redis-server is not on the PATH");
  });
});

test("a server from the PATH that is older than the one that wrote the data is not used, except for its patch", async () => {
  await redis("7.2.4");
  expect([await onPath("redis", "7.2.9"), await onPath("redis", "6.2.14"), await onPath()]).toEqual(Array(3).fill("redis-server"));
  for (const newer of ["7.4.0", "8.0.0", "10.0.1"])
    await expect(onPath("redis", newer)).rejects.toThrow(/^redis-server 7\.2\.4 is older than the one that wrote the data$/);
});

describe("a server in a container", () => {
  test("runs as this user, on the data directory, and is reached through the loopback interface alone", async () => {
    await program("docker", `[ "$*" = "version --format {{.Server.Version}}" ] && echo 27.1.1`);
    const { argv, ...rest } = await commandOf("docker", placement());
    const user = `${process.getuid?.()}:${process.getgid?.()}`;
    expect(argv.join(" ")).toBe(
      `docker run --rm --user ${user} --publish 127.0.0.1:7001:6379 --volume /srv/data:/data redis:7-alpine redis-server /data/redis.conf`,
    );
    expect(rest).toStrictEqual({ bind: "0.0.0.0", port: 6_379, dir: "/data", startTimeoutMs: 120_000 });
  });

  test("needs Docker and its engine, and the error says which is missing", async () => {
    await expect(commandOf("docker", placement())).rejects.toThrow(/^docker is not installed$/);
    await program("docker", "exit 1");
    await expect(commandOf("docker", placement())).rejects.toThrow(/^no Docker engine answers$/);
  });
});
