import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { Finding } from "./run.ts";
import { cleanAll, print, printJson } from "../terminal/terminal.ts";

const SIGNS = { fine: "✓", advice: "!", problem: "✗" } as const;

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("Check Node.js, settings, Redis, port and tools, and report what to fix; exit with 1 if Parley could not serve")
    .option("--auth", "Check identity instead: its settings, and whether the providers respond")
    .option("--token-file <file>", "With --auth: print whether the server would accept the access token in this file, and why")
    .option("--json", "Print the findings as JSON")
    .action(async ({ auth, tokenFile, json }: { readonly auth?: true; readonly tokenFile?: string; readonly json?: true }) => {
      const findings = auth || tokenFile !== undefined ? await identityFindings(tokenFile) : await allFindings();
      if (json) printJson({ findings });
      for (const { level, about, says, cure } of json ? [] : cleanAll(findings)) {
        print(`${SIGNS[level]} ${about}: ${says}${cure === undefined ? "" : `\n    ${cure}`}`);
      }
      process.exitCode = findings.some(({ level }) => level === "problem") ? 1 : 0;
    });
}

async function allFindings(): Promise<readonly Finding[]> {
  const { checkUp } = await import("./run.ts");
  return await checkUp(process.env);
}

async function identityFindings(tokenFile: string | undefined): Promise<readonly Finding[]> {
  const { checkIdentity } = await import("./check-identity.ts");
  return await checkIdentity(process.env, tokenFile === undefined ? undefined : readFileSync(tokenFile, "utf8").trim());
}
