import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { CHART } from "./render.ts";
import { findTool } from "./tools.ts";

const helm = findTool("helm");
const unittest = findTool("helm-unittest");

test.skipIf(unittest === undefined)("the chart's own tests pass, deploy/helm/parley/tests (needs helm-unittest)", () => {
  const { status, stdout } = spawnSync(unittest ?? "", [CHART], { encoding: "utf8" });
  expect(stdout).toMatch(/^Tests: +\d{2,} passed, \d+ total$/m);
  expect(status, stdout).toBe(0);
});

test.skipIf(helm === undefined)("Helm's lint has nothing to say but that there is no icon (needs helm)", () => {
  const { status, stdout } = spawnSync(helm ?? "", ["lint", "--strict", CHART, "--kube-version", "1.34"], { encoding: "utf8" });
  expect(stdout.match(/^\[.*$/gm)).toEqual(["[INFO] Chart.yaml: icon is recommended"]);
  expect(status).toBe(0);
});
