/**
 * What every set of our manifests guarantees, regardless of its values. `broken` returns a sentence for each promise that is not kept.
 *
 *   P1  Nothing renders empty: every object has a name, our labels, and content.
 *   P2  Pods are restricted, have no token, have a memory limit, and get no variables about Services.
 *   P3  Images are pinned: a tag other than latest, or a digest.
 *   P4  There are three probes, on ports that the container has; liveness fails later than a worker ends itself (PARLEY_BLOCKED_KILL), and
 *       startup later than a process stops waiting for Redis (PARLEY_REDIS_START_TIMEOUT).
 *   P5  A pod has more time than draining takes.
 *   P6  Either a Deployment has a number of replicas or an autoscaler has it; never less than one.
 *   P7  There is a disruption budget exactly if there is more than one pod, and it is for those pods.
 *   P8  Clients reach only the clients' port; the operator's port is open only to named sources; every pod has a network policy.
 *   P9  Routes do not end streams.
 *   P10 Everything that is referred to exists or is known to be provided by the operator; settings are settings of Parley.
 *   P11 No volume is mounted into another: the outer one is read-only, or would hide the inner one.
 */
import { parseDuration } from "@parley/core";
import { SERVER_SETTINGS } from "@parley/server";
import { WORKER_SETTINGS } from "@parley/worker";
import type { KubernetesObject } from "./render.ts";

type Labels = Readonly<Record<string, string>>;

export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: string | number };
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
  }[];
  readonly envFrom?: readonly { readonly configMapRef?: { readonly name: string } }[];
  readonly lifecycle?: { readonly preStop?: { readonly sleep?: { readonly seconds: number } } };
  readonly resources?: { readonly requests?: Record<string, unknown>; readonly limits?: Record<string, unknown> };
  readonly securityContext?: Record<string, unknown>;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
}

export interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly serviceAccountName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext?: Record<string, unknown>;
  readonly topologySpreadConstraints?: readonly { readonly labelSelector: { readonly matchLabels: Labels } }[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly Record<string, unknown>[];
}

export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: Labels };
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  };
}

export interface Brought {
  readonly secrets: readonly string[];
  readonly configMaps: readonly string[];
}

const SETTINGS = new Set(Object.keys({ ...SERVER_SETTINGS.shape, ...WORKER_SETTINGS.shape }));
/** Beside draining: to hand over, to send the last traces, and to spare. */
const SPARE_S = 10;

export function broken(objects: readonly KubernetesObject[], brought: Brought): string[] {
  const problems: string[] = [];
  const of = <T extends KubernetesObject>(kind: string) => objects.filter((object) => object.kind === kind) as unknown as T[];
  const deployments = of<Deployment>("Deployment");
  const configMaps = of<KubernetesObject & { data: Record<string, string> }>("ConfigMap");

  for (const object of objects) {
    const name = nameOf(object);
    if (!object.metadata?.name) problems.push(`P1 ${object.kind} has no name`);
    if (object.metadata.labels?.["app.kubernetes.io/name"] === undefined) problems.push(`P1 ${name} has no label app.kubernetes.io/name`);
    for (const path of emptyParts(object)) problems.push(`P1 ${name}: ${path} is empty`);
  }

  for (const deployment of deployments) {
    const { template, selector } = deployment.spec;
    const pod = template.spec;
    const name = nameOf(deployment);
    const say = (promise: string, problem: string) => problems.push(`${promise} ${name}: ${problem}`);
    const [container] = pod.containers;
    if (!container || pod.containers.length !== 1) return [`P1 ${name} has not one container`];
    if (!holds(selector.matchLabels, template.metadata.labels)) say("P1", "does not select its own pods");

    for (const problem of unrestricted(pod, container)) say("P2", problem);
    if (pod.automountServiceAccountToken !== false) say("P2", "its pods get a token");
    if (pod.enableServiceLinks !== false) say("P2", "Services are told by variables, which are settings here");
    if (!pod.serviceAccountName) say("P2", "has no service account of its own");
    if (!container.resources?.limits?.["memory"]) say("P2", "has no memory limit");
    if (container.resources?.limits?.["cpu"]) say("P2", "has a CPU limit, which stops its event loop");
    if (!container.resources?.requests?.["cpu"] || !container.resources.requests["memory"]) say("P2", "requests no CPU or no memory");

    if (!/@sha256:[0-9a-f]{64}$|:(?!latest$)[\w.-]+$/.test(container.image)) say("P3", `the image ${container.image} is not pinned`);

    const settings = settingsOf(container, configMaps);
    const ports = new Set(container.ports?.map((port) => port.name));
    for (const kind of ["startupProbe", "readinessProbe", "livenessProbe"] as const) {
      const asked = container[kind]?.httpGet;
      if (!asked) say("P4", `has no ${kind}`);
      else if (!ports.has(String(asked.port))) say("P4", `${kind} asks a port that is not there: ${asked.port}`);
      else if (asked.path !== (kind === "readinessProbe" ? "/readyz" : "/healthz")) say("P4", `${kind} asks ${asked.path}`);
    }
    const { periodSeconds = 0, failureThreshold = 0 } = container.livenessProbe ?? {};
    const killS = parseDuration(settings["PARLEY_BLOCKED_KILL"] ?? "30s") / 1_000;
    if (periodSeconds * failureThreshold <= killS) say("P4", `is killed by its liveness probe before it ends itself after ${killS} s`);
    const startS = parseDuration(settings["PARLEY_REDIS_START_TIMEOUT"] ?? "30s") / 1_000;
    const { periodSeconds: everyS = 0, failureThreshold: times = 0 } = container.startupProbe ?? {};
    if (everyS * times <= startS) say("P4", `is killed by its startup probe while it waits for Redis, for ${startS} s`);

    const drainS = drainSeconds(container, settings);
    const graceS = pod.terminationGracePeriodSeconds ?? 30;
    if (graceS < drainS + SPARE_S) say("P5", `has ${graceS} s to end and needs ${drainS} and ${SPARE_S} s`);

    const mounted = (container.volumeMounts ?? []).map(({ mountPath }) => `${mountPath}/`);
    for (const inner of mounted) {
      const outer = mounted.find((path) => path !== inner && inner.startsWith(path));
      if (outer !== undefined) say("P11", `mounts ${inner} into ${outer}`);
    }

    const scalers = objects.filter(
      ({ kind, spec }) =>
        (kind === "HorizontalPodAutoscaler" || kind === "ScaledObject") &&
        (spec as { scaleTargetRef: { name: string } }).scaleTargetRef.name === deployment.metadata.name,
    );
    if (scalers.length > 1) say("P6", "has two autoscalers");
    const [scaler] = scalers;
    const { minReplicas, minReplicaCount } = (scaler?.["spec"] ?? {}) as { minReplicas?: number; minReplicaCount?: number };
    const { replicas } = deployment.spec;
    if (scaler && replicas !== undefined) say("P6", "has a number of replicas that its autoscaler fights");
    if (!scaler && replicas === undefined) say("P6", "nobody says how many");
    const fewest = (scaler ? (minReplicas ?? minReplicaCount) : replicas) ?? 0;
    if (fewest < 1) say("P6", `may become ${fewest}`);

    const budgets = of<KubernetesObject & { spec: { selector: { matchLabels: Labels } } }>("PodDisruptionBudget").filter(({ spec }) =>
      holds(spec.selector.matchLabels, template.metadata.labels),
    );
    if (fewest > 1 && budgets.length !== 1) say("P7", `has ${budgets.length} disruption budgets for ${fewest} pods`);
    if (fewest <= 1 && budgets.length > 0) say("P7", "has a disruption budget for one pod, which keeps its node from being drained");
    for (const { labelSelector } of pod.topologySpreadConstraints ?? []) {
      if (!holds(labelSelector.matchLabels, template.metadata.labels)) say("P7", "is spread by labels that its pods do not have");
    }

    for (const { name: setting } of container.env ?? []) {
      if (/^(PARLEY_|REDIS_)/.test(setting) && !SETTINGS.has(setting)) say("P10", `${setting} is no setting`);
    }
    for (const setting of Object.keys(settings)) {
      if (setting.startsWith("PARLEY_") && !SETTINGS.has(setting)) say("P10", `${setting} is no setting`);
    }
    const known = (kind: string, more: readonly string[]) => new Set([...of(kind).map(({ metadata }) => metadata.name), ...more]);
    for (const { kind, name: wanted } of references(pod, container)) {
      if (!known(kind, kind === "Secret" ? brought.secrets : brought.configMaps).has(wanted)) say("P10", `${kind} ${wanted} is not there`);
    }
    const expected = { PARLEY_METRICS_PORT: "operator", ...(ports.has("http") && { PARLEY_PORT: "http" }) };
    for (const [setting, port] of Object.entries(expected)) {
      const listens = container.ports?.find(({ name: each }) => each === port)?.containerPort;
      if (settings[setting] !== String(listens)) say("P10", `listens on ${settings[setting]} and says ${listens} (${setting})`);
    }
  }

  problems.push(...unsafeNetwork(objects, deployments));
  return problems;
}

/** P8, P9. */
function unsafeNetwork(objects: readonly KubernetesObject[], deployments: readonly Deployment[]): string[] {
  const problems: string[] = [];
  const of = <T>(kind: string) => objects.filter((object) => object.kind === kind) as unknown as (KubernetesObject & { spec: T })[];
  interface Rule {
    readonly ports?: readonly { readonly port: string | number }[];
    readonly from?: readonly object[];
  }
  const policies = of<{ podSelector: { matchLabels: Labels }; policyTypes: readonly string[]; ingress: readonly Rule[] }>("NetworkPolicy");
  const services = of<{ selector: Labels; type?: string; ports: readonly { targetPort: string; port: number }[] }>("Service");

  const open = services.filter(({ spec }) => spec.ports.some(({ targetPort }) => targetPort !== "operator"));
  if (open.length !== 1) problems.push(`P8 there are ${open.length} Services for clients`);
  for (const { metadata, spec } of services) {
    const targets = spec.ports.map(({ targetPort }) => targetPort).join();
    if (targets !== "http" && targets !== "operator") problems.push(`P8 Service ${metadata.name} has ports ${targets}`);
    if (targets === "operator" && (spec.type ?? "ClusterIP") !== "ClusterIP") problems.push(`P8 the operator's Service is a ${spec.type}`);
    if (!deployments.some((deployment) => holds(spec.selector, deployment.spec.template.metadata.labels))) {
      problems.push(`P8 Service ${metadata.name} finds no pod`);
    }
  }
  for (const { metadata, spec } of policies.length === 0 ? [] : deployments) {
    const policy = policies.find((each) => holds(each.spec.podSelector.matchLabels, spec.template.metadata.labels));
    if (policy?.spec.policyTypes.join() !== "Ingress,Egress") problems.push(`P8 ${metadata.name} has no network policy for both ways`);
    for (const { ports = [], from = [] } of policy?.spec.ingress ?? []) {
      if (from.length === 0 && (ports.length === 0 || ports.some(({ port }) => port !== "http"))) {
        problems.push(`P8 ${metadata.name} is open to all on more than the clients' port`);
      }
    }
  }

  const clients = open[0]?.metadata.name;
  type Route = { rules: { timeouts?: Record<string, string>; backendRefs: { name: string; port: number }[] }[] };
  for (const { metadata, spec } of of<Route>("HTTPRoute")) {
    for (const { timeouts, backendRefs } of spec.rules) {
      if (timeouts?.["request"] !== "0s" || timeouts["backendRequest"] !== "0s") problems.push(`P9 ${metadata.name} ends streams`);
      if (backendRefs.some(({ name, port }) => name !== clients || port !== open[0]?.spec.ports[0]?.port)) {
        problems.push(`P8 ${metadata.name} leads elsewhere than to clients' Service`);
      }
    }
  }
  type Ingress = { rules: { http: { paths: { backend: { service: { name: string } } }[] } }[] };
  for (const { metadata, spec } of of<Ingress>("Ingress")) {
    const names = spec.rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend.service.name));
    if (names.some((name) => name !== clients)) problems.push(`P8 ${metadata.name} leads elsewhere than to clients' Service`);
  }
  return problems;
}

export function unrestricted(pod: PodSpec, container: Container): string[] {
  const problems: string[] = [];
  const inPod = pod.securityContext ?? {};
  const inContainer = container.securityContext ?? {};
  const { capabilities } = inContainer as { capabilities?: { drop?: string[]; add?: string[] } };
  if (inPod["runAsNonRoot"] !== true || !inPod["runAsUser"]) problems.push("may run as root");
  if ((inPod["seccompProfile"] as { type?: string } | undefined)?.type !== "RuntimeDefault") problems.push("has no seccomp profile");
  if (inContainer["allowPrivilegeEscalation"] !== false) problems.push("may escalate privileges");
  if (inContainer["readOnlyRootFilesystem"] !== true) problems.push("may write to its root");
  if (capabilities?.drop?.join() !== "ALL" || capabilities.add) problems.push("has capabilities");
  for (const volume of pod.volumes ?? []) if ("hostPath" in volume) problems.push("mounts a path of its machine");
  return problems;
}

/** Settings of a container as they arrive: later ones win, and `env` over `envFrom`. Those out of Secrets are left out. */
export function settingsOf(
  container: Container,
  configMaps: readonly (KubernetesObject & { data: Record<string, string> })[],
): Record<string, string> {
  const from = (container.envFrom ?? []).map(({ configMapRef }) => configMaps.find(({ metadata }) => metadata.name === configMapRef?.name));
  const own = (container.env ?? []).flatMap(({ name, value }) => (value === undefined ? [] : ([[name, value]] as const)));
  return { ...Object.assign({}, ...from.map((map) => map?.data)), ...Object.fromEntries(own) } as Record<string, string>;
}

function drainSeconds({ args, lifecycle }: Container, settings: Record<string, string>): number {
  const seconds = (setting: string, fallback: string) => Math.ceil(parseDuration(settings[setting] ?? fallback) / 1_000);
  if (args?.[0] === "worker") return seconds("PARLEY_DRAIN_TIMEOUT", "20s");
  const delay = seconds("PARLEY_SHUTDOWN_DELAY", "3s");
  return (lifecycle?.preStop?.sleep?.seconds ?? 0) + delay + seconds("PARLEY_SHUTDOWN_TIMEOUT", "10s");
}

function references(pod: PodSpec, container: Container): { kind: string; name: string }[] {
  const found = [
    ...(container.env ?? []).map(({ valueFrom }) => ({ kind: "Secret", name: valueFrom?.secretKeyRef?.name })),
    ...(container.envFrom ?? []).map(({ configMapRef }) => ({ kind: "ConfigMap", name: configMapRef?.name })),
    ...(pod.volumes ?? []).map(({ configMap }) => ({ kind: "ConfigMap", name: (configMap as { name: string } | undefined)?.name })),
  ];
  return found.filter((reference): reference is { kind: string; name: string } => reference.name !== undefined);
}

const nameOf = ({ kind, metadata }: KubernetesObject) => `${kind} ${metadata?.name}`;
const holds = (wanted: Labels, labels: Labels) => Object.entries(wanted).every(([key, value]) => labels[key] === value);

/** Paths of empty objects, lists, strings and nulls. An emptyDir may be empty, and a selector for all namespaces is. */
function emptyParts(value: unknown, path: readonly string[] = []): string[] {
  const last = path.at(-1);
  if (value === null || value === "") return [path.join(".")];
  if (typeof value !== "object") return [];
  if (Object.keys(value).length === 0) return last === "emptyDir" || last === "namespaceSelector" ? [] : [path.join(".")];
  return Object.entries(value).flatMap(([key, each]) => emptyParts(each, [...path, key]));
}
