/** Two open questions, answered in either order, with a deployment at each moment in between, as docs/writing-tools.md describes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replayRecorded } from "@parley/sdk/replay";
import { startTool } from "@parley/sdk/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { compile, edited } from "./compile.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-orders-"));
  vi.stubEnv("PARLEY_GALLERY_DIR", dir);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true });
});

const ANSWERS = { approval: { approve: true }, window: "now" } as const;
type Key = keyof typeof ANSWERS;

describe.each<[Key, Key]>([
  ["approval", "window"],
  ["window", "approval"],
])("%s answered before %s", (...order) => {
  test.each([0, 1, undefined])("ends the same with a deployment before answer number %s", async (redeployedAt) => {
    const deploy = await compile(edited("07-deploy.ts", []));
    const reworded = await compile(edited("07-deploy.ts", [["`Released ${", "`Shipped ${"]]));
    const running = await startTool(deploy, { service: "api", version: "1.2.3" });
    for (const [index, key] of order.entries()) {
      if (index === redeployedAt) running.redeploy(reworded);
      expect(await replayRecorded(reworded, await running.exported())).toMatchObject({ verdict: "continues" });
      await running.answer({ [key]: ANSWERS[key] });
    }
    expect(running.text).toBe(`${redeployedAt === undefined ? "Released" : "Shipped"} api 1.2.3 now.`);
  });
});
