/**
 * The controllers of a cluster, as far as our manifests need them: rollouts of a Deployment, evictions that a disruption budget allows, a
 * Service whose endpoints are known everywhere a moment late, and KEDA's arithmetic. Pods are processes (pod.ts).
 */
import { createServer, connect, type Socket } from "node:net";
import { once } from "node:events";
import { hash } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { environmentOf } from "../jobs.ts";
import type { PodSpec } from "../promises.ts";
import type { KubernetesObject } from "../render.ts";
import { type Pod, startPod, type Termination } from "./pod.ts";

/** How much later a node knows of an endpoint that came or went, at most. */
const PROPAGATION_MS = 2_000;
const RECONCILE_EVERY_MS = 250;
const NODES = ["one", "two", "three"] as const;

export interface ClusterOptions {
  readonly objects: readonly KubernetesObject[];
  /** By name and key. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What an image says of the environment, by its tag. */
  readonly images: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** For the logs of pods. */
  readonly directory: string;
}

export interface Cluster {
  /** Of the Service that clients use, without a path. */
  readonly url: string;
  readonly terminations: readonly Termination[];
  readonly restarts: readonly string[];
  pods(component: Component): readonly Pod[];
  /** As `kubectl set image`, for both Deployments; with the same tag, as `kubectl rollout restart`. Resolves when it is rolled out. */
  rollOut(tag: string): Promise<void>;
  /** As `kubectl drain`: nothing new comes there, and its pods are evicted as their budgets allow. */
  drain(node: string): Promise<void>;
  /** Begins to look at the metric of that ScaledObject, so many times faster than it says. */
  autoscale(scaled: KubernetesObject, faster: number): void;
  steady(): Promise<void>;
  close(): Promise<void>;
}

export type Component = "server" | "worker";

interface Template {
  readonly hash: string;
  readonly tag: string;
}

interface DeploymentSpec {
  readonly replicas?: number;
  readonly strategy: { readonly rollingUpdate: { readonly maxSurge: string; readonly maxUnavailable: number } };
  readonly template: { readonly spec: PodSpec };
}

interface ScaledSpec {
  readonly minReplicaCount: number;
  readonly maxReplicaCount: number;
  readonly pollingInterval: number;
  readonly advanced: {
    readonly scalingModifiers: { readonly formula: string; readonly target: string };
    readonly horizontalPodAutoscalerConfig: { readonly behavior: { readonly scaleDown: { readonly stabilizationWindowSeconds: number } } };
  };
  readonly triggers: readonly { readonly name: string; readonly metadata: { readonly valueLocation: string } }[];
}

export async function startCluster({ objects, secrets, images, directory }: ClusterOptions): Promise<Cluster> {
  const terminations: Termination[] = [];
  const restarts: string[] = [];
  const cordoned = new Set<string>();
  const timers: NodeJS.Timeout[] = [];
  const ending = new Set<Promise<void>>();
  let addresses = 0;
  let rollouts = 0;
  let isClosed = false;

  function specOf<Spec>(kind: string, name: string): Spec {
    const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
    if (!found) throw new Error(`there is no ${kind} ${name}`);
    return found["spec"] as Spec;
  }

  function configMap(name: string): Record<string, string> {
    const found = objects.find((object) => object.kind === "ConfigMap" && object.metadata.name === name);
    if (!found) throw new Error(`there is no ConfigMap ${name}`);
    return found["data"] as Record<string, string>;
  }

  function secretValue(secret: string, key: string): string {
    const found = secrets[secret]?.[key];
    if (found === undefined) throw new Error(`there is no key ${key} in Secret ${secret}`);
    return found;
  }

  function podEnvironment({ containers: [container] }: PodSpec, tag: string, address: string): Record<string, string> {
    const maps = (container?.envFrom ?? []).map(({ configMapRef }) => configMap(configMapRef?.name ?? ""));
    // The image listens on all addresses, which are the pod's there; here they are everybody's.
    const addresses = { PARLEY_HOST: address, PARLEY_METRICS_HOST: address };
    return Object.assign({}, images[tag], ...maps, environmentOf(container?.env, secretValue), addresses) as Record<string, string>;
  }

  function createDeployment(component: Component) {
    const name = `parley-${component}`;
    const spec = specOf<DeploymentSpec>("Deployment", name);
    const budget = specOf<{ maxUnavailable: string }>("PodDisruptionBudget", name);
    // Where the manifest has no number, the autoscaler has.
    let replicas = spec.replicas ?? specOf<{ minReplicas: number }>("HorizontalPodAutoscaler", name).minReplicas;
    let template: Template = templateOf(Object.keys(images)[0] ?? "");
    const pods = new Set<Pod>();

    function templateOf(tag: string): Template {
      return { tag, hash: hash("sha256", JSON.stringify([spec.template, tag, rollouts])).slice(0, 8) };
    }

    const standing = () => [...pods].filter((pod) => !pod.isTerminating());
    const ready = () => standing().filter((pod) => pod.isReady());

    function create(): void {
      addresses += 1;
      const address = `127.1.${Math.floor(addresses / 250)}.${1 + (addresses % 250)}`;
      const count = (node: string) => standing().filter((pod) => pod.node === node && pod.hash === template.hash).length;
      const [node = ""] = NODES.filter((each) => !cordoned.has(each)).toSorted((one, other) => count(one) - count(other));
      const podName = `${name}-${template.hash}-${addresses}`;
      pods.add(
        startPod({
          name: podName,
          address,
          node,
          hash: template.hash,
          spec: spec.template.spec,
          env: podEnvironment(spec.template.spec, template.tag, address),
          log: join(directory, `${podName}.log`),
          onChange: endpointsChanged,
          onRestart: (why) => restarts.push(why),
        }),
      );
    }

    function remove(pod: Pod): void {
      const gone = pod.terminate().then((termination) => {
        pods.delete(pod);
        terminations.push(termination);
        ending.delete(gone);
      });
      ending.add(gone);
    }

    function reconcile(): void {
      const surge = Math.ceil((replicas * Number.parseInt(spec.strategy.rollingUpdate.maxSurge, 10)) / 100);
      const least = replicas - spec.strategy.rollingUpdate.maxUnavailable;
      const all = standing();
      const young = all.filter((pod) => pod.hash === template.hash);
      const old = all.filter((pod) => pod.hash !== template.hash);
      const most = old.length > 0 ? replicas + surge : replicas;
      if (young.length < replicas && all.length < most) return create();
      if (old.length > 0) {
        const victim = old.find((pod) => !pod.isReady()) ?? old[0];
        if (victim && (!victim.isReady() || ready().length > least)) remove(victim);
        return;
      }
      const [spare] = young.toSorted((one, other) => Number(one.isReady()) - Number(other.isReady()));
      if (spare && young.length > replicas) remove(spare);
    }

    return {
      standing,
      reconcile,
      setReplicas: (count: number) => void (replicas = count),
      rollOut: (tag: string) => void (template = templateOf(tag)),
      isSteady: () =>
        pods.size === replicas && standing().length === replicas && standing().every((pod) => pod.isReady() && pod.hash === template.hash),
      /** Whether it was evicted: a budget may say that there must be another one first. */
      evict(pod: Pod): boolean {
        const mayMiss = Math.ceil((replicas * Number.parseInt(budget.maxUnavailable, 10)) / 100);
        if (pod.isReady() && ready().length - 1 < replicas - mayMiss) return false;
        remove(pod);
        return true;
      },
      async close() {
        for (const pod of standing()) remove(pod);
        await Promise.all(ending);
      },
    };
  }

  // ── the Service ────────────────────────────────────────────────────────────────────────────────────────────────

  const portOf = (component: Component, name: string) => {
    const { template } = specOf<DeploymentSpec>("Deployment", `parley-${component}`);
    const found = template.spec.containers[0]?.ports?.find((port) => port.name === name)?.containerPort;
    if (found === undefined) throw new Error(`parley-${component} has no port ${name}`);
    return found;
  };
  const targetOf = (name: string) =>
    specOf<{ ports: readonly { readonly targetPort: string }[] }>("Service", name).ports[0]?.targetPort ?? "";
  const targetPort = portOf("server", targetOf("parley"));
  const operatorPort = portOf("worker", targetOf("parley-operator"));
  /** What the nodes know. */
  const endpoints = new Set<Pod>();
  const sockets = new Set<Socket>();

  function endpointsChanged(): void {
    for (const pod of deployments.server.standing()) if (pod.isReady() !== endpoints.has(pod)) later(pod);
    for (const pod of endpoints) if (!pod.isReady()) later(pod);
  }

  function later(pod: Pod): void {
    setTimeout(() => {
      if (pod.isReady()) endpoints.add(pod);
      else endpoints.delete(pod);
    }, Math.random() * PROPAGATION_MS).unref();
  }

  /** As kube-proxy: a connection goes to any endpoint that is known, is never tried at another, and stays where it is. */
  const service = createServer((socket) => {
    const known = [...endpoints];
    const pod = known[Math.floor(Math.random() * known.length)];
    socket.on("error", () => undefined);
    if (!pod) return void socket.resetAndDestroy();
    const onward = connect(targetPort, pod.address);
    sockets.add(socket);
    onward.on("error", () => socket.resetAndDestroy());
    socket.on("close", () => {
      sockets.delete(socket);
      onward.destroy();
    });
    onward.on("close", () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(service, "listening");

  const deployments = { server: createDeployment("server"), worker: createDeployment("worker") };
  const each = Object.values(deployments);
  timers.push(setInterval(() => !isClosed && each.forEach(({ reconcile }) => reconcile()), RECONCILE_EVERY_MS));

  async function steady(): Promise<void> {
    while (!each.every(({ isSteady }) => isSteady())) await sleep(RECONCILE_EVERY_MS);
    await sleep(PROPAGATION_MS);
  }

  async function metric(location: string): Promise<number> {
    const ready = each.flatMap(({ standing }) => standing()).filter((pod) => pod.isReady());
    const pod = ready[Math.floor(Math.random() * ready.length)];
    if (!pod) throw new Error("nobody to ask");
    const text = await (await fetch(`http://${pod.address}:${operatorPort}/metrics`)).text();
    const line = text.split("\n").find((found) => found.startsWith(`${location} `));
    if (line === undefined) throw new Error(`${pod.name} has no ${location}`);
    return Number(line.slice(location.length));
  }

  return {
    url: `http://localhost:${(service.address() as { port: number }).port}`,
    terminations,
    restarts,
    pods: (component) => deployments[component].standing(),
    async rollOut(tag) {
      if (!images[tag]) throw new Error(`there is no image ${tag}`);
      rollouts += 1;
      for (const { rollOut } of each) rollOut(tag);
      await steady();
    },
    async drain(node) {
      cordoned.add(node);
      for (const { standing, evict } of each) {
        for (const pod of standing().filter((one) => one.node === node)) while (!evict(pod)) await sleep(RECONCILE_EVERY_MS);
      }
      await steady();
      cordoned.delete(node);
    },
    autoscale(scaled, faster) {
      const { minReplicaCount, maxReplicaCount, pollingInterval, advanced, triggers } = scaled["spec"] as ScaledSpec;
      const { formula, target } = advanced.scalingModifiers;
      const windowMs = (advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds * 1_000) / faster;
      const wanted: { readonly atMs: number; readonly replicas: number }[] = [];
      const look = async () => {
        const values = await Promise.all(
          formula.split(" + ").map(async (name) => {
            const trigger = triggers.find((one) => one.name === name);
            if (!trigger) throw new Error(`the formula ${formula} names a trigger that is not there`);
            return await metric(trigger.metadata.valueLocation);
          }),
        );
        const sum = values.reduce((one, other) => one + other, 0);
        const replicas = Math.min(maxReplicaCount, Math.max(minReplicaCount, Math.ceil(sum / Number(target))));
        const nowMs = performance.now();
        wanted.push({ atMs: nowMs, replicas });
        while ((wanted[0]?.atMs ?? nowMs) < nowMs - windowMs) wanted.shift();
        deployments.worker.setReplicas(Math.max(...wanted.map((one) => one.replicas)));
      };
      // While nobody can say how long the queue is, nobody is taken away.
      timers.push(setInterval(() => void look().catch(() => undefined), (pollingInterval * 1_000) / faster));
    },
    steady,
    async close() {
      isClosed = true;
      timers.forEach(clearInterval);
      await Promise.all(each.map(({ close }) => close()));
      for (const socket of sockets) socket.destroy();
      service.close();
    },
  };
}
