/** A Kubernetes without machines: etcd and kube-apiserver on loopback. It accepts, validates, completes and stores objects; no pod ever runs. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../support/free-ports.ts";
import { until } from "../support/until.ts";
import { obtainTool } from "./tools.ts";

export interface Ran {
  readonly status: number | null;
  readonly out: string;
  /** Warnings of the server, among others. */
  readonly problems: string;
}

export interface ApiServer {
  /** Runs kubectl, as an administrator unless a token says who. */
  kubectl(args: readonly string[], options?: { readonly input?: string; readonly token?: string }): Ran;
  /** For programs that bring their own client. */
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** Throws an Error with a line that says what is missing, as obtainTool does. */
export async function startApiServer(): Promise<ApiServer> {
  const [etcd, apiServer, kubectl] = [obtainTool("etcd"), obtainTool("kube-apiserver"), obtainTool("kubectl")];
  const directory = mkdtempSync(join(tmpdir(), "parley-kubernetes-"));
  const at = (name: string) => join(directory, name);
  const [client = 0, peer = 0, secure = 0] = await freePorts(3);
  const started: ChildProcess[] = [];
  function start(program: string, log: string, flags: Readonly<Record<string, string>>): void {
    const out = openSync(at(log), "w");
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    started.push(spawn(program, args, { stdio: ["ignore", out, out] }));
  }

  const token = randomBytes(16).toString("hex");
  const keys = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  writeFileSync(at("tokens.csv"), `${token},admin,admin,system:masters\n`);
  writeFileSync(at("accounts.key"), keys.privateKey.export({ type: "pkcs1", format: "pem" }));
  writeFileSync(at("accounts.pub"), keys.publicKey.export({ type: "spki", format: "pem" }));
  const server = `https://127.0.0.1:${secure}`;
  // The client takes files alone for a configuration of its own.
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "admin", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "admin" } }],
    "current-context": "test",
  };
  writeFileSync(at("config"), JSON.stringify(config));

  async function close(): Promise<void> {
    for (const child of started.toReversed()) {
      if (child.exitCode !== null) continue;
      const ended = new Promise((done) => child.once("exit", done));
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }

  function run(args: readonly string[], { input, token: of }: { readonly input?: string; readonly token?: string } = {}): Ran {
    const all = [`--kubeconfig=${at("config")}`, `--cache-dir=${at("cache")}`, ...(of === undefined ? [] : [`--token=${of}`]), ...args];
    const { status, stdout, stderr } = spawnSync(kubectl, all, {
      encoding: "utf8",
      maxBuffer: 1 << 26,
      ...(input !== undefined && { input }),
    });
    return { status, out: stdout, problems: stderr };
  }

  const address = `http://127.0.0.1:${client}`;
  const peers = `http://127.0.0.1:${peer}`;
  start(etcd, "etcd.log", {
    "data-dir": at("etcd"),
    "listen-client-urls": address,
    "advertise-client-urls": address,
    "listen-peer-urls": peers,
    "initial-advertise-peer-urls": peers,
    "initial-cluster": `default=${peers}`,
    "unsafe-no-fsync": "true",
  });
  start(apiServer, "api-server.log", {
    "etcd-servers": address,
    "secure-port": String(secure),
    "bind-address": "127.0.0.1",
    "cert-dir": at("certificates"),
    "token-auth-file": at("tokens.csv"),
    "authorization-mode": "RBAC",
    "service-cluster-ip-range": "10.96.0.0/16",
    "service-account-key-file": at("accounts.pub"),
    "service-account-signing-key-file": at("accounts.key"),
    "service-account-issuer": "https://kubernetes.default.svc",
  });
  try {
    await until(() => run(["get", "--raw", "/readyz"]).out === "ok", { timeoutMs: 120_000, everyMs: 1_000 });
  } catch {
    const log = readFileSync(at("api-server.log"), "utf8").split("\n").slice(-5).join("\n");
    await close();
    throw new Error(`kube-apiserver did not become ready:\n${log}`);
  }
  return { kubectl: run, kubeconfig: at("config"), close };
}
