import type { Command } from "commander";

const SIGNS = { fine: "✓", advice: "!", problem: "✗" } as const;

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("checks Node.js, settings, Redis, port and tools, and says what to do; exits with 1 if Parley could not serve")
    .action(async () => {
      const { checkUp } = await import("../checkup.ts");
      const findings = await checkUp(process.env);
      for (const { level, about, says, cure } of findings) {
        process.stdout.write(`${SIGNS[level]} ${about}: ${says}\n${cure === undefined ? "" : `    ${cure}\n`}`);
      }
      process.exitCode = findings.some(({ level }) => level === "problem") ? 1 : 0;
    });
}
