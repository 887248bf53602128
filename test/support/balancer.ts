/**
 * A load balancer as in production: it asks each front end whether it is ready, sends requests in turn to those that are, and to another
 * one when a connection is refused; never again once a request may have been seen. haproxy with deploy/haproxy/haproxy.cfg where there is
 * one on the PATH, else the same in a few lines.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "./free-ports.ts";
import { until } from "./until.ts";

export interface Balancer {
  /** Without a path. */
  readonly url: string;
  readonly kind: "haproxy" | "node";
  close(): Promise<void>;
}

const CHECK_EVERY_MS = 500;

/** In front of these ports on loopback. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const hasHaproxy = spawnSync("haproxy", ["-v"]).status === 0;
  return hasHaproxy ? await startHaproxy(ports) : await startNodeBalancer(ports);
}

async function startHaproxy(ports: readonly number[]): Promise<Balancer> {
  const [port = 0] = await freePorts(1);
  const directory = await mkdtemp(join(tmpdir(), "parley-haproxy-"));
  const file = join(directory, "haproxy.cfg");
  const servers = ports.map((each, index) => `  server server${index} 127.0.0.1:${each}`).join("\n");
  const deployed = await readFile(new URL("../../deploy/haproxy/haproxy.cfg", import.meta.url), "utf8");
  const config = deployed
    .replace(/^ *server-template .*$/m, servers)
    .replace(/^# Docker's own[\s\S]*?(?=^frontend)/m, "")
    .replace(/^# For docker's health check[\s\S]*?(?=^backend)/m, "")
    .replace("bind :3000", `bind 127.0.0.1:${port}`);
  await writeFile(file, config);
  const child = spawn("haproxy", ["-db", "-f", file], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, "exit");
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  await until(async () => {
    if (child.exitCode !== null) throw new Error(said);
    return await opens(port);
  });
  return {
    url: `http://localhost:${port}`,
    kind: "haproxy",
    async close() {
      process.off("exit", onExit);
      child.kill("SIGKILL");
      await ended;
      await rm(directory, { recursive: true });
    },
  };
}

async function opens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function startNodeBalancer(ports: readonly number[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true });
  const ready = new Set(ports);
  let turn = 0;
  const check = async (): Promise<void> => {
    await Promise.all(
      ports.map(async (port) => {
        const ok = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
          (response) => response.ok,
          () => false,
        );
        if (ok) ready.add(port);
        else ready.delete(port);
      }),
    );
  };
  const checking = setInterval(() => void check(), CHECK_EVERY_MS);

  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => forward(incoming, outgoing, Buffer.concat(chunks), 3));
  });
  server.requestTimeout = 0;
  server.keepAliveTimeout = 60_000;

  function forward(incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer, retries: number): void {
    const targets = ports.filter((port) => ready.has(port));
    turn += 1;
    const port = targets[turn % targets.length];
    if (port === undefined) {
      outgoing.writeHead(503).end();
      return;
    }
    const { method, url: path, headers } = incoming;
    const onward = request({ agent, host: "127.0.0.1", port, method, path, headers });
    onward.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
      response.on("aborted", () => outgoing.destroy());
    });
    onward.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" && retries > 0) {
        ready.delete(port);
        forward(incoming, outgoing, body, retries - 1);
      } else if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    });
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) onward.destroy();
    });
    onward.end(body);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    kind: "node",
    async close() {
      clearInterval(checking);
      server.closeAllConnections();
      agent.destroy();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  };
}
