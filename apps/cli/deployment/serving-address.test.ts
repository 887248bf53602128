import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findServing, forgetServing, noteServing } from "./serving-address.ts";

test("a directory is served by the process that says so, and not by another one that has its port since that was killed", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-serving-"));
  const server = createServer((_request, response) => void response.end("ok")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  try {
    expect(await findServing(dataDir)).toBeUndefined();
    await noteServing(dataDir, url);
    expect(await findServing(dataDir)).toBe(url);
    await writeFile(join(dataDir, "serving.json"), JSON.stringify({ url, pid: spawnSync("true").pid }));
    expect(await findServing(dataDir)).toBeUndefined();
    await noteServing(dataDir, url);
    await forgetServing(dataDir);
    expect(await findServing(dataDir)).toBeUndefined();
  } finally {
    server.close();
    await rm(dataDir, { recursive: true, force: true });
  }
});
