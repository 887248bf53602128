import type { JsonObject, Tool } from "@parley/core";
import { defineTool, ToolError } from "@parley/sdk";
import { decline, type Reply, runTool, timeout } from "@parley/sdk/testing";
import { expect, test } from "vitest";
import { gatedTool } from "./gate.ts";
import { AUTHORIZATION, DISPOSITION } from "./proposed-names.ts";
import { readRules, type Rules, type RulesConfig } from "./rules.ts";

const APPROVAL = "parley.approval";
const ASKS = { name: "ops", action: "approve", by: { groups: ["ops"] } } satisfies RulesConfig["rules"][number];
const rulesOf = (...rules: RulesConfig["rules"]) => readRules({ default: "allow", rules }) as Rules;
const UNAVAILABLE = { reason: "insufficient_authorization", remediation: "unavailable" };

const works = defineTool({ name: "t", run: () => "done" });
const fails = defineTool({
  name: "t",
  run: () => {
    throw new ToolError("it failed");
  },
});

test.each<[string, Tool, Rules, Reply | undefined, JsonObject]>([
  ["passed at once", works, rulesOf(), undefined, {}],
  ["ran after a yes", works, rulesOf(ASKS), {}, { [DISPOSITION]: "approved-executed" }],
  ["failed after a yes", fails, rulesOf(ASKS), {}, { [DISPOSITION]: "execution-error" }],
  ["was refused by a person", works, rulesOf(ASKS), decline, { [DISPOSITION]: "denied-not-executed", [AUTHORIZATION]: UNAVAILABLE }],
  ["expired", works, rulesOf(ASKS), timeout, { [DISPOSITION]: "denied-not-executed", [AUTHORIZATION]: UNAVAILABLE }],
  ["was refused by a rule", works, rulesOf({ name: "no", action: "deny" }), undefined, { [AUTHORIZATION]: UNAVAILABLE }],
])("a call that %s says so by the proposed names, and only where the setting is on", async (_, tool, rules, reply, expected) => {
  const metaOf = async (usesProposedNames: boolean) => {
    const gated = gatedTool(tool, { rules: () => rules, stopped: () => undefined, usesProposedNames });
    const { result } = await runTool(gated, {}, { ...(reply !== undefined && { answers: { [APPROVAL]: reply } }), crashAt: "every" });
    const meta = (result?.["_meta"] ?? {}) as JsonObject;
    return Object.fromEntries(Object.entries(meta).filter(([name]) => name.startsWith("io.modelcontextprotocol/")));
  };
  expect([await metaOf(true), await metaOf(false)]).toEqual([expected, {}]);
});
