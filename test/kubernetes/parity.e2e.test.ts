import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { CHART, comparable, helm, KUSTOMIZE, kustomize, OVERLAYS, ROOT } from "./render.ts";
import { findTool } from "./tools.ts";

const missing = (["kubectl", "helm"] as const).filter((tool) => findTool(tool) === undefined);

test.skipIf(missing.length > 0)(`Helm renders by default what the base is${needs()}`, () => {
  const ofHelm = comparable(helm({}));
  expect(ofHelm).toEqual(comparable(kustomize("base")));
  expect(ofHelm.size).toBe(11);
});

test.skipIf(missing.length > 0).each(OVERLAYS)(`Helm with the example %s renders what the overlay is${needs()}`, (name) => {
  expect(comparable(helm({ examples: [name] }))).toEqual(comparable(kustomize(`overlays/${name}`)));
});

test("chart, image of the base and package have one version", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  const chart = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8")) as Record<string, string>;
  const base = parse(readFileSync(join(KUSTOMIZE, "base/kustomization.yaml"), "utf8")) as { images: { newTag: string }[] };
  expect([chart["version"], chart["appVersion"], base.images[0]?.newTag]).toEqual([version, version, version]);
});

function needs(): string {
  return missing.length === 0 ? "" : ` (needs ${missing.join(" and ")})`;
}
