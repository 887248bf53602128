import type { Command } from "commander";
import type { UpstreamsCommand } from "../upstreams.ts";

const FILE = "the file that lists them (default: PARLEY_UPSTREAMS)";

export function addUpstreams(program: Command): void {
  const upstreams = program.command("upstreams").description("checks the MCP servers behind the gateway");
  upstreams
    .command("list")
    .description("reads the file, reports every problem in it, and lists its servers; connects to none")
    .option("-f, --file <file>", FILE)
    .option("--json", "print it as JSON")
    .action(async (options: UpstreamsCommand) => (await import("../upstreams.ts")).listUpstreams(options));
  upstreams
    .command("test")
    .description("connects to each server, or to one, as a worker would; exits with 1 if one cannot be reached")
    .argument("[name]", "name of a server")
    .option("-f, --file <file>", FILE)
    .option("--json", "print it as JSON")
    .action(async (name: string | undefined, options: UpstreamsCommand) => {
      const { testUpstreams } = await import("../upstreams.ts");
      if (!(await testUpstreams(options, name))) process.exitCode = 1;
    });
  upstreams
    .command("tools")
    .description("lists the tools of one server as Parley offers them, and whether a lost call is repeated")
    .argument("<name>", "name of a server")
    .option("-f, --file <file>", FILE)
    .option("--json", "print it as JSON")
    .action(async (name: string, options: UpstreamsCommand) => (await import("../upstreams.ts")).showTools(options, name));
}
