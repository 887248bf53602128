import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { Finding } from "./run.ts";
import type { ProbeCommand } from "../probe/run.ts";
import { cleanAll, print, printJson } from "../terminal/terminal.ts";

const SIGNS = { fine: "✓", advice: "!", problem: "✗" } as const;

interface DoctorCommand extends ProbeCommand {
  readonly tools?: string;
  readonly auth?: true;
  readonly tokenFile?: string;
  readonly client?: true;
}

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("Check Node.js, settings, Redis, port and tools, and report what to fix; exit with 1 if Parley could not serve")
    .option("-t, --tools <modules>", "Tool modules to check, separated by commas (default: as `parley start` takes them)")
    .option("--auth", "Check identity instead: its settings, and whether the providers respond")
    .option("--token-file <file>", "With --auth: print whether the server would accept the access token in this file, and why")
    .option("--client", "Try an MCP client instead: serve it tools on this machine, and report what it declares and what it really does")
    .option("--stdio", "With --client: the client starts this command and speaks over its standard input and output; needs --report")
    .option("--port <port>", "With --client: port to serve on (0: any that is free)", "0")
    .option("--for <duration>", "With --client: stop after this time, if not earlier with Ctrl-C", "1h")
    .option("--report <file>", "With --client: write the report to this file, as JSON that you can send to others")
    .option("--json", "Print the findings, or the report, as JSON")
    .action(async ({ tools, auth, tokenFile, client, json, ...probe }: DoctorCommand) => {
      if (client) return await (await import("../probe/run.ts")).probeClients({ ...probe, ...(json && { json }) });
      const findings = auth || tokenFile !== undefined ? await identityFindings(tokenFile) : await allFindings(tools);
      if (json) printJson({ findings });
      for (const { level, about, says, cure } of json ? [] : cleanAll(findings)) {
        print(`${SIGNS[level]} ${about}: ${says}${cure === undefined ? "" : `\n    ${cure}`}`);
      }
      process.exitCode = findings.some(({ level }) => level === "problem") ? 1 : 0;
    });
}

async function allFindings(tools: string | undefined): Promise<readonly Finding[]> {
  const { checkUp } = await import("./run.ts");
  return await checkUp(tools === undefined ? process.env : { ...process.env, PARLEY_TOOLS: tools });
}

async function identityFindings(tokenFile: string | undefined): Promise<readonly Finding[]> {
  const { checkIdentity } = await import("./check-identity.ts");
  return await checkIdentity(process.env, tokenFile === undefined ? undefined : readFileSync(tokenFile, "utf8").trim());
}
