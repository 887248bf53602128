import { describe, expect, test } from "vitest";
import { BROUGHT, MATRIX } from "./matrix.ts";
import { broken, type Deployment } from "./promises.ts";
import { baseFromFiles, comparable, helm, kustomize, type KubernetesObject, objectsInFiles, OVERLAYS } from "./render.ts";
import { misfits } from "./schemas/misfits.ts";
import { findTool } from "./tools.ts";

const noKustomize = findTool("kubectl") === undefined;
const noHelm = findTool("helm") === undefined;

describe("the base, put together without a tool", () => {
  test("keeps every promise", () => {
    expect(broken(baseFromFiles(), BROUGHT)).toEqual([]);
  });

  test.skipIf(noKustomize)("is what kustomize builds (needs kubectl)", () => {
    expect(comparable(baseFromFiles())).toEqual(comparable(kustomize("base")));
  });

  test("and every object in a file fits the schemas of Kubernetes", () => {
    const objects = objectsInFiles();
    expect(objects.length).toBeGreaterThan(15);
    expect(misfits(objects)).toEqual([]);
  });
});

describe.skipIf(noKustomize)("what kustomize builds (needs kubectl)", () => {
  test.each(["base", ...OVERLAYS.map((name) => `overlays/${name}`)])("%s keeps every promise and fits the schemas", (folder) => {
    const objects = kustomize(folder);
    expect(broken(objects, BROUGHT)).toEqual([]);
    expect(misfits(objects)).toEqual([]);
  });

  test("production runs an image by its digest", () => {
    const images = JSON.stringify(kustomize("overlays/production")).match(/"image":"[^"]+"/g);
    expect(images).toHaveLength(2);
    for (const image of images ?? []) expect(image).toMatch(/^"image":"registry\.example\.com\/parley@sha256:[0-9a-f]{64}"$/);
  });
});

describe.skipIf(noHelm)("what Helm renders (needs helm)", () => {
  test.each(Object.entries(MATRIX))("with %s keeps every promise and fits the schemas", (name, options) => {
    const objects = helm({ ...options, hooks: true });
    const release = objects.filter(({ kind, metadata }) => kind !== "Job" && metadata.annotations?.["helm.sh/hook"] === undefined);
    const policies = release.some(({ kind }) => kind === "NetworkPolicy");
    expect(policies).toBe(name !== "nothing that can be left out");
    const allowed = name === "nothing that can be left out" ? /^P7/ : /^$/;
    expect(broken(release, BROUGHT).filter((problem) => !allowed.test(problem))).toEqual([]);
    expect(misfits(objects)).toEqual([]);
  });
});

/** A promise that nothing can break holds nothing: each of these must be noticed. */
describe("a broken promise is noticed", () => {
  type Draft = { -readonly [Key in keyof Deployment]: unknown } & { spec: Record<string, never>; metadata: Record<string, never> };
  const pod = (deployment: Draft) => (deployment.spec as never as { template: { spec: Record<string, unknown> } }).template.spec;
  const container = (deployment: Draft) => (pod(deployment)["containers"] as Record<string, unknown>[])[0]!;

  const CASES: readonly [promise: string, what: string, break_: (objects: Map<string, Draft>) => void][] = [
    ["P1", "a spec that is empty", (all) => set(all, "PodDisruptionBudget parley-server", "spec.selector.matchLabels", {})],
    ["P1", "no labels", (all) => set(all, "Service parley", "metadata.labels", { a: "b" })],
    ["P1", "a selector for other pods", (all) => set(all, "Deployment parley-server", "spec.selector.matchLabels.a", "b")],
    ["P2", "root", (all) => delete pod(all.get("Deployment parley-worker")!)["securityContext"]],
    [
      "P2",
      "a root that can be written to",
      (all) => set(all, "Deployment parley-server", "spec.template.spec.containers.0.securityContext.readOnlyRootFilesystem", false),
    ],
    ["P2", "a token", (all) => delete pod(all.get("Deployment parley-server")!)["automountServiceAccountToken"]],
    ["P2", "Services as variables", (all) => delete pod(all.get("Deployment parley-server")!)["enableServiceLinks"]],
    [
      "P2",
      "no memory limit",
      (all) => set(all, "Deployment parley-worker", "spec.template.spec.containers.0.resources.limits", { cpu: 1 }),
    ],
    ["P3", "latest", (all) => set(all, "Deployment parley-worker", "spec.template.spec.containers.0.image", "parley:latest")],
    ["P3", "no tag", (all) => set(all, "Deployment parley-worker", "spec.template.spec.containers.0.image", "parley")],
    ["P4", "no readiness probe", (all) => delete container(all.get("Deployment parley-server")!)["readinessProbe"]],
    [
      "P4",
      "a probe of a port that is not there",
      (all) => set(all, "Deployment parley-worker", "spec.template.spec.containers.0.livenessProbe.httpGet.port", "http"),
    ],
    [
      "P4",
      "liveness that is too early",
      (all) => set(all, "Deployment parley-worker", "spec.template.spec.containers.0.livenessProbe.failureThreshold", 3),
    ],
    [
      "P5",
      "a second too few to end",
      (all) => set(all, "Deployment parley-server", "spec.template.spec.terminationGracePeriodSeconds", 27),
    ],
    ["P5", "longer drains in the settings", (all) => set(all, "ConfigMap parley-settings", "data.PARLEY_DRAIN_TIMEOUT", "21s")],
    ["P6", "a number beside an autoscaler", (all) => set(all, "Deployment parley-server", "spec.replicas", 2)],
    ["P6", "no number and no autoscaler", (all) => delete (all.get("Deployment parley-worker")!.spec as { replicas?: number }).replicas],
    ["P6", "zero workers", (all) => set(all, "Deployment parley-worker", "spec.replicas", 0)],
    ["P7", "no budget", (all) => all.delete("PodDisruptionBudget parley-worker")],
    ["P7", "a budget for one", (all) => set(all, "Deployment parley-worker", "spec.replicas", 1)],
    ["P8", "the operator's port on clients' Service", (all) => set(all, "Service parley", "spec.ports.0.targetPort", "operator")],
    ["P8", "the operator's port for all", (all) => set(all, "NetworkPolicy parley-worker", "spec.ingress.0.from", undefined)],
    ["P8", "a Deployment without a policy", (all) => all.delete("NetworkPolicy parley-worker")],
    ["P10", "a setting that is none", (all) => set(all, "ConfigMap parley-settings", "data.PARLEY_CONCURENCY", "1")],
    [
      "P10",
      "a Secret that nobody brings",
      (all) => set(all, "Deployment parley-worker", "spec.template.spec.containers.0.env.0.valueFrom.secretKeyRef.name", "typo"),
    ],
    ["P10", "a ConfigMap that is not there", (all) => all.delete("ConfigMap parley-settings")],
    [
      "P11",
      "a volume within another",
      (all) => set(all, "Deployment parley-worker", "spec.template.spec.containers.0.volumeMounts.1.mountPath", "/tmp/data"),
    ],
    [
      "P10",
      "a port that is not listened on",
      (all) => set(all, "Deployment parley-server", "spec.template.spec.containers.0.ports.0.containerPort", 8080),
    ],
  ];

  test.each(CASES)("%s: %s", (promise, _what, breakIt) => {
    const objects = new Map(baseFromFiles().map((object) => [`${object.kind} ${object.metadata.name}`, object as unknown as Draft]));
    breakIt(objects);
    const problems = broken([...objects.values()] as never as KubernetesObject[], BROUGHT);
    expect(problems.filter((problem) => problem.startsWith(`${promise} `))).not.toEqual([]);
  });

  function set(objects: Map<string, Draft>, object: string, path: string, value: unknown): void {
    const keys = path.split(".");
    const last = keys.pop()!;
    let at: Record<string, unknown> | undefined = objects.get(object) as never;
    for (const key of keys) at = at?.[key] as Record<string, unknown>;
    if (!at) throw new Error(`${object} has no ${path}`);
    at[last] = value;
  }
});

describe("a misfit is noticed", () => {
  test.each([
    ["a misspelt field", { spec: { selektor: {} } }],
    ["a value of another type", { spec: { ports: [{ port: "eighty" }] } }],
  ])("%s", (_what, change) => {
    expect(misfits([{ apiVersion: "v1", kind: "Service", metadata: { name: "x" }, ...change }])).toHaveLength(1);
  });
});
