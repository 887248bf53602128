/** One server that only speaks TLS, with a certificate of an authority made for the run. */
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { freePorts } from "../support/free-ports.ts";
import { startRedis } from "./redis-process.ts";
import type { Topology } from "./topology.ts";

export async function startTls(directory: string): Promise<Topology> {
  const [plain = 0, port = 0] = await freePorts(2);
  const files = await makeCertificate(join(directory, "tls"));
  const extra = ["--tls-port", String(port), "--tls-cert-file", files.certificate, "--tls-key-file", files.key];
  const trust = ["--tls-ca-cert-file", files.authority, "--tls-auth-clients", "no"];
  // The plain port is the suite's own way in; what is tested is given the other.
  const server = await startRedis({ directory: join(directory, "redis"), port: plain, fsync: "always", extra: [...extra, ...trust] });
  // This process connects too; those that it starts are told by their environment.
  setDefaultCACertificates([...getCACertificates("default"), readFileSync(files.authority, "utf8")]);
  return {
    name: "tls",
    url: `rediss://127.0.0.1:${port}`,
    port,
    partitions: 1,
    env: { NODE_EXTRA_CA_CERTS: files.authority },
    open: async () => [new Redis({ host: "127.0.0.1", port, tls: {} })],
    async outage(end, awayMs) {
      await server.stop(end);
      await sleep(awayMs);
      await server.start();
    },
    harmless: ["SIGTERM", "SIGKILL"],
    close: () => server.stop("SIGKILL"),
  };
}

async function makeCertificate(directory: string): Promise<{ authority: string; certificate: string; key: string }> {
  await mkdir(directory, { recursive: true });
  const [certificate, key] = [join(directory, "redis.crt"), join(directory, "redis.key")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  await promisify(execFile)("openssl", [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-days",
    "2",
    "-keyout",
    key,
    "-out",
    certificate,
    ...subject,
  ]);
  return { authority: certificate, certificate, key };
}
