/** What tools may ask, and what clients are told of it. */
import { catalogue, defineTool } from "@parley/sdk";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../../test/support/until.ts";
import { rpc } from "./client.fixture.ts";
import { deploy } from "./deployment.fixture.ts";

const asking = catalogue([
  defineTool({
    name: "visit",
    input: z.object({ url: z.string() }),
    run: ({ url }, ctx) => ctx.elicit("page", { message: "Go", url }),
  }),
  defineTool({
    name: "log-in",
    run: async (_args, ctx) =>
      void (await ctx.elicit("login", { message: "Log in", schema: z.object({ user: z.string(), kennwort: z.string() }) })),
  }),
]);

async function oneFront(settings = {}) {
  const deployment = await deploy({ catalogue: asking, fronts: 1, settings });
  const [here] = deployment.fronts;
  if (!here) throw new Error("a front end is needed");
  return { ...deployment, here };
}

describe("a question that may not be asked", () => {
  test.each(["javascript:alert(document.cookie)", "http://example.com/", "file:///etc/passwd"])(
    "never reaches a client: %s",
    async (url) => {
      const { here } = await oneFront();
      const taskId = (await rpc(here, "tools/call", { name: "visit", arguments: { url } })).result!["taskId"]!;
      const task = await until(async () => {
        const { result } = await rpc(here, "tasks/get", { taskId });
        expect(result!["status"]).not.toBe("input_required");
        return result!["status"] === "failed" ? result : undefined;
      });
      expect(task!["error"]).toMatchObject({
        message: expect.stringMatching(/^the ask "page" cannot be put: \/url has the scheme \w+, and may have https/),
        data: { code: "INVALID_ASK", violations: [{ path: "/url" }] },
      });
    },
  );

  test("names the field that looks like a secret, and says what to do", async () => {
    const { here } = await oneFront();
    const { error } = await rpc(here, "tools/call", { name: "log-in", arguments: {} }, { tasks: false });
    expect(error).toMatchObject({ message: expect.stringContaining("/kennwort looks as if it asked for a secret") });
    expect(error!.message).toContain("use url mode");
  });

  test("is asked where the deployment allows it", async () => {
    const { here } = await oneFront({ askUrlSchemes: ["http"], secretNames: ["-kennwort"] });
    const asked = await rpc(here, "tools/call", { name: "visit", arguments: { url: "http://example.com/" } }, { tasks: false });
    expect(asked.result).toMatchObject({ inputRequests: { page: { params: { mode: "url", url: "http://example.com/" } } } });
    const form = await rpc(here, "tools/call", { name: "log-in", arguments: {} }, { tasks: false });
    expect(form.result).toMatchObject({ resultType: "input_required" });
  });
});
