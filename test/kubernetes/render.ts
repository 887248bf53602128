/** Manifests as a cluster would receive them: built by kustomize, rendered by Helm, or read from files. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { findTool } from "./tools.ts";

export const ROOT = resolve(import.meta.dirname, "../..");
export const CHART = join(ROOT, "deploy/helm/parley");
export const KUSTOMIZE = join(ROOT, "deploy/kubernetes");

/** Each is an overlay of kustomize and an example of values, and both are the same. */
export const OVERLAYS = ["small", "production", "sentinel", "cluster", "identity", "gateway"] as const;

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export function parseObjects(yaml: string): KubernetesObject[] {
  return parseAllDocuments(yaml).flatMap((document) => {
    for (const problem of [...document.errors, ...document.warnings]) throw problem;
    const object = document.toJS({ maxAliasCount: -1 }) as KubernetesObject | null;
    return object === null ? [] : [object];
  });
}

/** In deploy/kubernetes. */
export function kustomizeText(folder: string): string {
  const { status, stdout, stderr } = spawnSync(needed("kubectl"), ["kustomize", join(KUSTOMIZE, folder)], { encoding: "utf8" });
  // Kustomize warns of fields that will go.
  if (status !== 0 || stderr.includes("Warning")) throw new Error(`kubectl kustomize ${folder}: ${stderr}`);
  return stdout;
}

export const kustomize = (folder: string): KubernetesObject[] => parseObjects(kustomizeText(folder));

export interface HelmOptions {
  /** Files below the chart's examples/, without their ending. */
  readonly examples?: readonly string[];
  readonly values?: object;
  readonly release?: string;
  readonly namespace?: string;
  readonly kubeVersion?: string;
  readonly hooks?: boolean;
}

export type HelmRender = { readonly text: string } | { readonly problem: string };

export function tryHelm({
  examples = [],
  values,
  release = "parley",
  namespace = "parley",
  kubeVersion = "1.34",
  hooks = false,
}: HelmOptions): HelmRender {
  const args = ["template", release, CHART, "--namespace", namespace, "--kube-version", kubeVersion];
  if (!hooks) args.push("--no-hooks");
  for (const example of examples) args.push("--values", join(CHART, "examples", `${example}.yaml`));
  if (values) args.push("--values", "-");
  const { status, stdout, stderr } = spawnSync(needed("helm"), args, {
    encoding: "utf8",
    ...(values && { input: JSON.stringify(values) }),
  });
  return status === 0 ? { text: stdout } : { problem: stderr.trim() };
}

export function helmText(options: HelmOptions): string {
  const rendered = tryHelm(options);
  if ("problem" in rendered) throw new Error(rendered.problem);
  return rendered.text;
}

export const helm = (options: HelmOptions): KubernetesObject[] => parseObjects(helmText(options));

/** Every object that stands in a file, before kustomize has patched it. Needs no tool. */
export function objectsInFiles(): KubernetesObject[] {
  return ["base", "components", "namespace"]
    .flatMap((folder) => readdirSync(join(KUSTOMIZE, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)))
    .filter((file) => file.endsWith(".yaml") && !file.endsWith("kustomization.yaml"))
    .flatMap((file) => parseObjects(readFileSync(join(KUSTOMIZE, file), "utf8")));
}

/** The base put together as kustomize does it, where there is no kustomize. Needs no tool; a test holds it to what kustomize builds. */
export function baseFromFiles(): KubernetesObject[] {
  const read = (file: string) => readFileSync(join(KUSTOMIZE, "base", file), "utf8");
  const { resources, configMapGenerator, generatorOptions, images } = parse(read("kustomization.yaml")) as {
    resources: string[];
    configMapGenerator: { name: string; literals: string[] }[];
    generatorOptions: { labels: Record<string, string> };
    images: { name: string; newTag: string }[];
  };
  const configMaps = configMapGenerator.map(({ name, literals }) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...generatorOptions },
    data: Object.fromEntries(literals.map((literal) => /^([^=]+)=(.*)$/.exec(literal)?.slice(1) ?? [])) as Record<string, string>,
  }));
  return [...resources.flatMap((file) => parseObjects(read(file))), ...configMaps].map(
    (object) =>
      JSON.parse(JSON.stringify(object), (key, value: unknown) => {
        const image = key === "image" && images.find(({ name }) => name === value);
        return image ? `${image.name}:${image.newTag}` : key === "metadata" && isNamed(value) ? { ...value, namespace: "parley" } : value;
      }) as KubernetesObject,
  );
}

const isNamed = (value: unknown): value is object => typeof value === "object" && value !== null && "name" in value;

function needed(tool: "kubectl" | "helm"): string {
  const found = findTool(tool);
  if (found === undefined) throw new Error(`${tool} is not there: npm run test:kubernetes builds it`);
  return found;
}

/**
 * Two ways to the same objects differ in what is theirs: labels of Helm, names that kustomize gives to ConfigMaps by their content, the
 * annotation that rolls Helm's pods instead, and the order of objects and of variables.
 */
export function comparable(objects: readonly KubernetesObject[]): Map<string, unknown> {
  const own = new Set(["app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart"]);
  const cleaned = JSON.parse(JSON.stringify(objects), (key, value: unknown) => {
    if (own.has(key) || key.startsWith("checksum/")) return undefined;
    if (key === "annotations" && Object.keys(value as object).length === 0) return undefined;
    if (key === "name" && typeof value === "string") return value.replace(/^(parley-settings)-[a-z0-9]{10}$/, "$1");
    if (key === "env" && Array.isArray(value)) return (value as { name: string }[]).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return value;
  }) as KubernetesObject[];
  return new Map(
    cleaned.map((object) => [`${object.kind} ${object.metadata.name}`, object] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}
