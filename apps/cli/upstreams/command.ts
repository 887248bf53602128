import type { Command } from "commander";
import type { UpstreamsCommand } from "./run.ts";

const FILE = "File that lists the upstreams (default: PARLEY_UPSTREAMS)";

export function addUpstreams(program: Command): void {
  const upstreams = program.command("upstreams").description("Check the MCP servers behind the gateway");
  upstreams
    .command("list")
    .description("Read the file, report every problem in it, and list its servers, without connecting to any")
    .option("-f, --file <file>", FILE)
    .option("--json", "Print as JSON")
    .action(async (options: UpstreamsCommand) => (await import("./run.ts")).listUpstreams(options));
  upstreams
    .command("test")
    .description("Connect to each server, or to one, as a worker would; exit with 1 if one cannot be reached")
    .argument("[name]", "Name of a server")
    .option("-f, --file <file>", FILE)
    .option("--json", "Print as JSON")
    .action(async (name: string | undefined, options: UpstreamsCommand) => {
      const { testUpstreams } = await import("./run.ts");
      if (!(await testUpstreams(options, name))) process.exitCode = 1;
    });
  upstreams
    .command("tools")
    .description("List the tools of one server as Parley offers them, and whether a lost call is repeated")
    .argument("<name>", "Name of a server")
    .option("-f, --file <file>", FILE)
    .option("--json", "Print as JSON")
    .action(async (name: string, options: UpstreamsCommand) => (await import("./run.ts")).showTools(options, name));
}
