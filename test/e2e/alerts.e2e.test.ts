/** Whether alerts fire when they have to, by Prometheus' own tool. Without promtool nothing is tested here; CI takes it from the Debian package of Prometheus. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const promtool = (...args: readonly string[]) => spawnSync("promtool", args, { cwd: "deploy/prometheus", encoding: "utf8" });
const hasPromtool = promtool("--version").status === 0;

test.skipIf(!hasPromtool)("alerts fire for as long as they have to, and no longer", () => {
  const { status, stdout, stderr } = promtool("test", "rules", "alerts.test.yml");
  expect({ status, said: `${stdout}${stderr}` }).toMatchObject({ status: 0 });
});
