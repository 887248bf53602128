import type { Command } from "commander";

const FILE = "the file that lists them (PARLEY_UPSTREAMS)";

export function addUpstreams(program: Command): void {
  const upstreams = program.command("upstreams").description("the MCP servers behind the gateway");
  upstreams
    .command("list")
    .description("reads the file, says all that is wrong with it, and lists what it names; connects to nothing")
    .option("-f, --file <file>", FILE)
    .action(async ({ file }: { readonly file?: string }) => (await import("../upstreams.ts")).listUpstreams(file));
  upstreams
    .command("test")
    .description("connects to each, or to one, as a worker would; exits with 1 if one cannot be reached")
    .argument("[name]", "one of them")
    .option("-f, --file <file>", FILE)
    .action(async (name: string | undefined, { file }: { readonly file?: string }) => {
      const { testUpstreams } = await import("../upstreams.ts");
      if (!(await testUpstreams(file, name))) process.exitCode = 1;
    });
  upstreams
    .command("tools")
    .description("lists the tools of one as Parley offers them: by name, and whether a lost call is made again")
    .argument("<name>", "one of them")
    .option("-f, --file <file>", FILE)
    .action(async (name: string, { file }: { readonly file?: string }) => (await import("../upstreams.ts")).showTools(file, name));
}
