/** Implements `parley policy`, with the code that workers decide by. */
import { openRulesFile, type RuleAbout } from "@parley/approvals";
import { assuranceText, type Audience, type JsonObject, membershipOf, type Prompt, type Tool } from "@parley/core";
import { toolModules } from "@parley/node";
import { loadCatalogue } from "@parley/sdk";
import { namesThatFitNothing } from "../deployment/names-in-rules.ts";
import { counted } from "../terminal/counted.ts";
import { clean, cleanLine, print, printJson } from "../terminal/terminal.ts";
import { listed } from "../terminal/listed.ts";

export interface PolicyCommand {
  readonly file?: string;
  readonly json?: true;
}

export interface ExplainCommand extends PolicyCommand {
  readonly args: string;
  readonly caller: string;
  readonly tenant?: string;
  readonly annotations?: string;
  readonly groups?: string;
  readonly roles?: string;
  readonly prompt?: true;
}

/** Throws RulesError with all problems. */
export async function checkPolicy({ file, json }: PolicyCommand): Promise<void> {
  const path = fileOf(file);
  const rules = openRulesFile(path).current();
  const { version, isDryRun } = rules;
  const warnings = await namesThatFitNothing(rules, process.env).catch((error: Error) => [
    `names of tools are not checked: ${cleanLine(error.message)}`,
  ]);
  if (json) return printJson({ file: path, valid: true, version, dryRun: isDryRun, warnings });
  print(`${path} is valid, version ${version}${isDryRun ? "; a dry run: it stops nothing" : ""}`);
  for (const warning of warnings) print(`warning: ${warning}`);
}

export async function explainPolicy(
  name: string,
  { file, json, args, caller, tenant, annotations, groups, roles, prompt }: ExplainCommand,
): Promise<void> {
  const rules = openRulesFile(fileOf(file)).current();
  if (prompt && annotations !== undefined) throw new Error("--annotations are those of a tool, and this is a prompt");
  const called = prompt
    ? await promptOf(name)
    : await toolOf(name, annotations === undefined ? undefined : objectOf("--annotations", annotations));
  const by = {
    principal: caller,
    ...(tenant !== undefined && { tenant }),
    membership: membershipOf({ groups: listed(groups), roles: listed(roles) }),
  };
  const tried: Tried[] = [];
  const decision = rules.decide(called, objectOf("--args", args), by, (rule, found) =>
    tried.push({ rule, ...(typeof found === "boolean" ? { held: found } : { problem: found.problem }) }),
  );
  if (json) return printJson({ [called.kind]: name, dryRun: rules.isDryRun, ...decision, tried });
  switch (decision.type) {
    case "allow":
      print(`runs at once: ${decision.rule === "default" ? "no rule fits, and the default allows it" : `rule ${decision.rule}`}`);
      break;
    case "deny":
      print(`is refused: ${decision.rule === "default" ? "no rule fits, and the default refuses it" : `rule ${decision.rule}`}`);
      print(`  ${clean(decision.reason)}`);
      break;
    case "approve": {
      const { to, not, quorum } = decision.audience;
      const asked = namesOf(to);
      print(`waits for approval: rule ${decision.rule} (${cleanLine(decision.title)})`);
      print(`  asked:    ${cleanLine(asked)}${not ? ", but not the caller" : ""}${quorum === undefined ? "" : `; ${quorum} must agree`}`);
      print(`  at most:  ${decision.timeoutMs / 1_000} s, then it is refused`);
      if (decision.about) for (const line of aboutLines(decision.about)) print(line);
      if (decision.edit)
        print(`  edit:     the approver may change ${decision.edit === true ? "arguments" : cleanLine(decision.edit.join(", "))}`);
      if (decision.diff)
        print(`  diff:     beside the last approved call, by ${decision.diff === "caller" ? "the same caller" : "anyone"}`);
      const tests = rules.tests(decision.rule);
      if (tests) print(`  tests:    ${Math.round(tests.share * 1_000) / 10} % of its calls are followed by one`);
      if (decision.standing)
        print(
          `  standing: the approver may let ${counted(decision.standing.uses, "such call")} pass within ${decision.standing.forMs / 1_000} s`,
        );
    }
  }
  for (const each of tried) if (each.held !== true) print(`  ${triedLine(each)}`);
  if (rules.isDryRun && decision.type !== "allow") print("The file is a dry run: the call runs at once all the same.");
}

function namesOf(to: Audience["to"]): string {
  if (to === "tenant") return "everyone of the tenant";
  return Object.entries(to)
    .map(([kind, names]) => `${kind} ${names.join(", ")}`)
    .join("; ");
}

function aboutLines({ assurance, remindMs = [], escalate = [], allow = [] }: RuleAbout): string[] {
  return [
    ...(assurance ? [`  by:       ${cleanLine(assuranceText(assurance))}`] : []),
    ...(remindMs.length > 0 ? [`  reminded: after ${remindMs.map((ms) => `${ms / 1_000} s`).join(", ")}`] : []),
    ...escalate.map(({ afterMs, to }) => `  later:    after ${afterMs / 1_000} s also ${cleanLine(namesOf(to))}`),
    ...(allow.includes("delegate") ? ["  handed on: those who are asked may hand it on to others"] : []),
  ];
}

/** A condition that was looked at, in the order of the rules. */
interface Tried {
  readonly rule: string;
  readonly held?: boolean;
  readonly problem?: string;
}

function triedLine({ rule, problem }: Tried): string {
  return problem === undefined ? `its condition is false: rule ${rule}` : `its condition failed: rule ${rule}: ${cleanLine(problem)}`;
}

function fileOf(given: string | undefined): string {
  const file = given ?? process.env["PARLEY_RULES"];
  if (!file) throw new Error("no file with rules: give one with --file, or set PARLEY_RULES");
  return file;
}

async function promptOf(name: string): Promise<Prompt> {
  const { prompts } = await loadCatalogue(toolModules(process.env["PARLEY_TOOLS"], process.env));
  return prompts.get(name) ?? ({ kind: "prompt", name, arguments: [] } as unknown as Prompt);
}

/** The deployment's own tool of that name; else one that is like it by what is said of it. */
async function toolOf(name: string, annotations: JsonObject | undefined): Promise<Tool> {
  const { tools } = await loadCatalogue(toolModules(process.env["PARLEY_TOOLS"], process.env));
  const own = tools.get(name);
  if (own && !annotations) return own;
  return { kind: "tool", name, inputSchema: { type: "object" }, ...(annotations && { annotations }) } as unknown as Tool;
}

function objectOf(option: string, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${option} is not JSON: ${cleanLine(text)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Error(`${option} must be an object, such as '{"path": "/tmp/x"}'`);
  return value as JsonObject;
}
