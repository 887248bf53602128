/**
 * node test/kubernetes/schemas/derive.ts: writes schemas.json, from the sources of Kubernetes and of the others whose resources we use.
 *
 * One JSON Schema for each kind in our manifests, without descriptions, and strict: an unknown field is a misspelling. (Kubernetes, KEDA,
 * the Gateway API and the Prometheus Operator are under the Apache License 2.0.)
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { KUBERNETES, moduleDirectory } from "../tools.ts";

type Schema = {
  [key: string]: unknown;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  $ref?: string;
  type?: unknown;
};

const KINDS = [
  "ConfigMap",
  "Deployment",
  "HorizontalPodAutoscaler",
  "Ingress",
  "Job",
  "Namespace",
  "NetworkPolicy",
  "PodDisruptionBudget",
  "Role",
  "RoleBinding",
  "Secret",
  "Service",
  "ServiceAccount",
];

/** Resources that others define, at the versions that they were tried with. */
export const CUSTOM = [
  {
    module: "sigs.k8s.io/gateway-api",
    version: "v1.6.3",
    folder: "config/crd/standard",
    file: /_httproutes\.yaml$/,
  },
  {
    module: "github.com/kedacore/keda/v2",
    version: "v2.21.0",
    folder: "config/crd/bases",
    file: /_scaledobjects\.yaml$/,
  },
  {
    module: "github.com/prometheus-operator/prometheus-operator",
    version: "v0.85.0",
    folder: "example/prometheus-operator-crd",
    file: /_(servicemonitors|prometheusrules)\.yaml$/,
  },
] as const;

/** Files of definitions, from the Go module proxy. */
export function customDefinitions(): string[] {
  return CUSTOM.flatMap(({ module, version, folder, file }) => {
    const directory = join(moduleDirectory(module, version), folder);
    return readdirSync(directory)
      .filter((name) => file.test(name))
      .map((name) => join(directory, name));
  });
}

export function derived(): string {
  const schemas = { ...builtIn(), ...custom() };
  // A line for each kind: a new version changes the lines of what it changes.
  const lines = Object.entries(schemas)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `${JSON.stringify(name)}: ${JSON.stringify(schema)}`);
  return `{\n${lines.join(",\n")}\n}\n`;
}

function builtIn(): Record<string, Schema> {
  const file = join(moduleDirectory("k8s.io/kubernetes", KUBERNETES), "api/openapi-spec/swagger.json");
  const { definitions } = JSON.parse(readFileSync(file, "utf8")) as { definitions: Record<string, Schema> };
  const found: Record<string, Schema> = {};
  for (const definition of Object.values(definitions)) {
    for (const { group, version, kind } of (definition["x-kubernetes-group-version-kind"] ?? []) as Record<string, string>[]) {
      if (!KINDS.includes(kind ?? "") || /alpha|beta/.test(version ?? "") || (kind === "HorizontalPodAutoscaler" && version !== "v2"))
        continue;
      const used: Record<string, Schema> = {};
      const root = strict(definition, (other) => use(other));
      function use(other: string): void {
        if (used[other]) return;
        used[other] = {};
        used[other] = strict(definitions[other] ?? {}, use);
      }
      found[keyOf(group ?? "", version ?? "", kind ?? "")] = { ...root, definitions: used };
    }
  }
  return found;
}

function custom(): Record<string, Schema> {
  const found: Record<string, Schema> = {};
  for (const file of customDefinitions()) {
    for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
      const { spec } = document.toJS() as {
        spec: {
          group: string;
          names: { kind: string };
          versions: { name: string; served: boolean; schema: { openAPIV3Schema: Schema } }[];
        };
      };
      for (const { name, served, schema } of spec.versions) {
        if (!served || /beta/.test(name)) continue;
        const root = schema.openAPIV3Schema;
        // What every object has is not repeated in each definition.
        const properties = { ...root.properties, metadata: { type: "object" } };
        found[keyOf(spec.group, name, spec.names.kind)] = strict({ ...root, properties }, () => undefined);
      }
    }
  }
  return found;
}

function keyOf(group: string, version: string, kind: string): string {
  return `${group === "" ? "" : `${group}/`}${version}/${kind}`;
}

const KEPT = new Set(["type", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "required"]);
const INT_OR_STRING = { type: ["integer", "string"] };

function strict(schema: Schema, use: (definition: string) => void): Schema {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.replace("#/definitions/", "");
    // Quantities may be numbers, as in `cpu: 1`.
    if (name.endsWith("resource.Quantity")) return { type: ["string", "number"] };
    if (name.endsWith("util.intstr.IntOrString")) return INT_OR_STRING;
    use(name);
    return { $ref: `#/definitions/${name}` };
  }
  if (schema["x-kubernetes-int-or-string"] === true) return INT_OR_STRING;
  const kept: Schema = Object.fromEntries(Object.entries(schema).filter(([key]) => KEPT.has(key)));
  // Go's, which JavaScript does not have.
  if (String(kept["pattern"]).includes("(?i)")) delete kept["pattern"];
  if (schema["items"]) kept["items"] = strict(schema["items"] as Schema, use);
  if (schema.properties) {
    kept.properties = Object.fromEntries(Object.entries(schema.properties).map(([key, each]) => [key, strict(each, use)]));
    if (schema["x-kubernetes-preserve-unknown-fields"] !== true) kept.additionalProperties = false;
  } else if (schema.additionalProperties !== undefined && typeof schema.additionalProperties === "object") {
    kept.additionalProperties = strict(schema.additionalProperties as Schema, use);
  }
  return kept;
}

if (import.meta.main) writeFileSync(new URL("schemas.json", import.meta.url), derived());
