import type { Command } from "commander";
import type { ReportCommand } from "./report.ts";
import type { StandingCommand } from "./standing.ts";
import type { ExplainCommand, PolicyCommand } from "./run.ts";

const FILE = "File with the rules (default: PARLEY_RULES)";

export function addPolicy(program: Command): void {
  const policy = program.command("policy").description("Check the rules that make calls wait for approval");
  policy
    .command("check")
    .description("Read the file and report every problem in it; exit with 1 if there is one")
    .option("-f, --file <file>", FILE)
    .option("--json", "Print as JSON")
    .action(async (options: PolicyCommand) => (await import("./run.ts")).checkPolicy(options));
  policy
    .command("explain")
    .description("Say which rule decides about a call, and how, and which conditions did not hold or failed; makes no call")
    .argument("<tool>", "Name of the tool, as it is offered, or of the prompt")
    .option("--prompt", "The name is that of a prompt")
    .option("-f, --file <file>", FILE)
    .option("-a, --args <json>", "Arguments of the call, as JSON", "{}")
    .option("--caller <id>", "Who calls, as the identity provider names them", "anonymous")
    .option("--tenant <tenant>", "Their tenant")
    .option("--groups <names>", "Groups of the caller, separated by commas")
    .option("--roles <names>", "Roles of the caller, separated by commas")
    .option("--annotations <json>", "The tool's annotations, for a tool that is not among PARLEY_TOOLS")
    .option("--json", "Print as JSON")
    .action(async (tool: string, options: ExplainCommand) => (await import("./run.ts")).explainPolicy(tool, options));
  policy
    .command("report")
    .description(
      "Show for each rule how many calls waited for approval, how they ended, how fast people decided, how often they agreed, and which call has waited longest; needs REDIS_URL",
    )
    .option("-d, --days <days>", "How many days are counted, including today (UTC): 1 to 31", "7")
    .option("-t, --tenant <tenant>", "Calls of this tenant (default: those of callers without one)")
    .option("--json", "Print as JSON")
    .action(async (options: ReportCommand) => (await import("./report.ts")).reportPolicy(options));
  policy
    .command("standing")
    .description("List approvals that hold for later calls: whose, of which tool, who gave them, and what is left of them; needs REDIS_URL")
    .option("-t, --tenant <tenant>", "Those of this tenant (default: those of callers without one)")
    .option("--json", "Print as JSON")
    .action(async (options: StandingCommand) => (await import("./standing.ts")).listStanding(options));
  policy
    .command("revoke")
    .description("End an approval that holds for later calls: the next such call asks again; needs REDIS_URL")
    .argument("<id>", "Its id, as `parley policy standing` shows it")
    .option("-t, --tenant <tenant>", "Its tenant")
    .option("--json", "Print as JSON")
    .action(async (id: string, options: StandingCommand) => (await import("./standing.ts")).revokeStanding(id, options));
}
