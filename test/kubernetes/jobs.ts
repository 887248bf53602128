/**
 * Runs Jobs as a controller and a kubelet would: as a process on this machine, with the arguments and the environment of the Job. The image
 * is this repository; volumes are left out.
 */
import { spawn } from "node:child_process";
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
    const child = spawn(process.execPath, [join(root, "apps/cli/main.ts"), ...(container?.args ?? [])], {
      cwd: root,
      env: { PATH: process.env["PATH"], ...environmentOf(container?.env, (secret, key) => secretValue(namespace, secret, key)) },
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
    },
  };
}
