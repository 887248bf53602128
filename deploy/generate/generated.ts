/**
 * Generated files that are committed, so that neither kustomize nor Helm needs a build step: alerts and dashboard where these tools look for
 * them, and the settings in the chart's schema. And the API as OpenAPI, with its types for clients. `npm run generate` writes them, and tests
 * check that they are up to date.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { API_DOCUMENT } from "@parley/server";
// Not an export of the package: what it needs is installed for development only.
import { clientTypes } from "../../apps/server/routes/api/client-types.fixture.ts";
import { settingSchemas } from "./setting-schemas.ts";

export interface GeneratedFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

const ROOT = resolve(import.meta.dirname, "../..");
const CHART = "deploy/helm/parley";
const SCHEMA = `${CHART}/values.schema.json`;

export function generatedFiles(): GeneratedFile[] {
  const alerts = read("deploy/prometheus/alerts.yml");
  return [
    { path: `${CHART}/files/alerts.yml`, text: alerts },
    { path: `${CHART}/files/parley.json`, text: read("deploy/grafana/parley.json") },
    { path: "deploy/kubernetes/components/monitoring/prometheus-rule.yaml", text: prometheusRule(alerts) },
    { path: SCHEMA, text: withSettings(read(SCHEMA)) },
  ];
}

/** The API, as programs read it. */
export async function generatedApi(): Promise<GeneratedFile[]> {
  return [
    { path: "docs/openapi.json", text: `${JSON.stringify(API_DOCUMENT, null, 2)}\n` },
    { path: "apps/cli/client/api-types.ts", text: await clientTypes(API_DOCUMENT) },
  ];
}

const read = (path: string) => readFileSync(resolve(ROOT, path), "utf8");

function prometheusRule(alerts: string): string {
  return `# Generated from deploy/prometheus/alerts.yml by \`npm run generate\`.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: parley
  labels:
    app.kubernetes.io/name: parley
    app.kubernetes.io/instance: parley
spec:
${alerts.replace(/^(?=.)/gm, "  ")}`;
}

/** The chart's schema is written manually except for the settings, which are generated from the zod schemas so that they cannot drift. */
function withSettings(schema: string): string {
  const document = JSON.parse(schema) as { properties: { config: { properties: object } } };
  document.properties.config.properties = settingSchemas();
  return `${JSON.stringify(document, null, 2)}\n`;
}
