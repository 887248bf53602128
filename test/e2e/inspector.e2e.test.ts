/**
 * MCP Inspector's command line lists and calls the gallery's tools, over the pipe that `parley install inspector` configures and over HTTP,
 * in both families of revisions.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Deployment, startDeployment } from "../support/deployment.ts";
import { inspect, missingInspector } from "../support/inspector.ts";
import { parley } from "../support/parley.ts";

const missing = await missingInspector();
if (missing !== undefined) console.log(`inspector.e2e.test.ts skipped: ${missing}`);

describe.skipIf(missing !== undefined)("MCP Inspector", () => {
  let deployment: Deployment;
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "parley-inspector-home-"));
    deployment = await startDeployment({
      frontEnds: 2,
      workers: 1,
      tools: ["@parley/gallery"],
      env: { PARLEY_GALLERY_DIR: join(home, "gallery") },
    });
    const installed = await parley(["install", "inspector", "--yes", "--url", deployment.url], { cwd: home, env: { HOME: home } });
    expect(installed).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(await readFile(join(home, "mcp.json"), "utf8"))).toMatchObject({
      mcpServers: { parley: expect.anything() as unknown },
    });
  });
  afterAll(async () => {
    await deployment?.close();
    await rm(home, { recursive: true, force: true });
  });

  const ways = ["stdio", "http"].flatMap((way) => ["legacy", "modern"].map((era) => [way, era] as const));
  const to = (way: string, era: string) => [
    ...(way === "stdio" ? ["--config", "mcp.json", "--server", "parley"] : ["--server-url", deployment.url, "--transport", "http"]),
    "--protocol-era",
    era,
  ];

  test.each(ways)("lists the tools, calls one, and learns what it lacks for one that asks, by %s, %s", async (way, era) => {
    const listed = await inspect([...to(way, era), "--method", "tools/list"], home);
    expect(listed.code).toBe(0);
    const { tools } = listed.said.result as unknown as { tools: readonly { readonly name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["research", "book_dinner", "deploy"]));

    const call = [...to(way, era), "--method", "tools/call", "--tool-name"];
    const called = await inspect([...call, "research", "--tool-arg", "word=compensate"], home);
    expect(called).toMatchObject({
      code: 0,
      said: { result: { structuredContent: { word: "compensate", findings: expect.any(Array) as unknown } } },
    });

    // Its command line shows no forms. With a task, which it declares in the newer era, it waits for its end.
    if (era === "modern") return;
    const asking = await inspect([...call, "book_dinner", "--tool-arg", "date=2026-12-24", "time=19:30"], home);
    expect(JSON.stringify(asking.said)).toContain("NOT FINISHED: book_dinner waits for an answer");
  });
});
