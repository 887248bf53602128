/**
 * Runs Jobs as a controller and a kubelet would: as a process on this machine, with the arguments and the environment of the Job. The image
 * is this repository. Files of ConfigMaps are in a folder of their own, of which the variables say the path; other volumes are left out.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiServer } from "./api-server.ts";
import type { PodSpec } from "./promises.ts";
import type { KubernetesObject } from "./render.ts";

interface Job extends KubernetesObject {
  readonly metadata: KubernetesObject["metadata"] & { readonly uid: string; readonly namespace: string };
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

export interface RunningJobs {
  /** How many have ended. */
  ran(): number;
  /** What the latest Job of that name said. */
  log(name: string): string;
  stop(): Promise<void>;
}

/** What a container's `env` comes to. */
export function environmentOf(
  env: PodSpec["containers"][number]["env"] = [],
  secretValue: (secret: string, key: string) => string,
): Record<string, string> {
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => {
      const { name: secret = "", key = "" } = valueFrom?.secretKeyRef ?? {};
      return [name, value ?? secretValue(secret, key)];
    }),
  );
}

export function runJobs({ kubectl }: ApiServer, root: string): RunningJobs {
  const started = new Set<string>();
  const logs = new Map<string, string>();
  const folder = mkdtempSync(join(tmpdir(), "parley-jobs-"));
  let ended = 0;
  let working: Promise<void> | undefined;
  const timer = setInterval(() => {
    working ??= look().finally(() => (working = undefined));
  }, 250);

  async function look(): Promise<void> {
    const { items = [] } = JSON.parse(kubectl(["get", "jobs", "-A", "-o", "json"]).out || "{}") as { items?: Job[] };
    for (const job of items) {
      if (started.has(job.metadata.uid)) continue;
      started.add(job.metadata.uid);
      await run(job);
    }
  }

  async function run({ metadata: { name, namespace }, spec }: Job): Promise<void> {
    const [container] = spec.template.spec.containers;
    const env = environmentOf(container?.env, (secret, key) => secretValue(namespace, secret, key));
    const child = spawn(process.execPath, [join(root, "apps/cli/main.ts"), ...(container?.args ?? [])], {
      cwd: root,
      env: { PATH: process.env["PATH"], ...mounted(env, spec.template.spec, namespace) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const startTime = new Date().toISOString().replace(/\.\d+/, "");
    const done = (await new Promise((closed) => child.once("close", closed))) === 0;
    logs.set(name, said);
    ended += 1;
    // A Job says first that it will be done, and then that it is.
    const conditions = (done ? ["SuccessCriteriaMet", "Complete"] : ["FailureTarget", "Failed"]).map((type) => ({ type, status: "True" }));
    const status = { startTime, conditions, ...(done ? { succeeded: 1, completionTime: startTime } : { failed: 1 }) };
    const patch = ["patch", "job", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
    const { status: code, problems } = kubectl(patch);
    if (code !== 0) throw new Error(`the Job ${name} cannot end: ${problems}`);
  }

  /** The variables, with the paths at which this machine has what they name. */
  function mounted(
    env: Readonly<Record<string, string>>,
    { containers, volumes = [] }: PodSpec,
    namespace: string,
  ): Record<string, string> {
    const paths: [inPod: string, here: string][] = [];
    for (const { name, mountPath } of containers[0]?.volumeMounts ?? []) {
      const { configMap } = (volumes.find((volume) => volume["name"] === name) ?? {}) as { configMap?: { name: string } };
      if (!configMap) continue;
      const { data = {} } = JSON.parse(kubectl(["get", "configmap", configMap.name, "-n", namespace, "-o", "json"]).out) as {
        data?: Record<string, string>;
      };
      mkdirSync(join(folder, name), { recursive: true });
      for (const [file, text] of Object.entries(data)) writeFileSync(join(folder, name, file), text);
      paths.push([`${mountPath}/`, `${join(folder, name)}/`]);
    }
    const here = (value: string) => paths.reduce((path, [inPod, own]) => (path.startsWith(inPod) ? path.replace(inPod, own) : path), value);
    return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, here(value)]));
  }

  function secretValue(namespace: string, name: string, key: string): string {
    const { data } = JSON.parse(kubectl(["get", "secret", name, "-n", namespace, "-o", "json"]).out) as { data: Record<string, string> };
    return Buffer.from(data[key] ?? "", "base64").toString();
  }

  return {
    ran: () => ended,
    log: (name) => logs.get(name) ?? "",
    async stop() {
      clearInterval(timer);
      await working;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
