import type { Command } from "commander";

export function addCompletion(program: Command): void {
  program
    .command("completion <shell>")
    .description("Print a completion script for bash, zsh or fish")
    .addHelpText(
      "after",
      `
  $ source <(parley completion bash)                                       # in ~/.bashrc
  $ parley completion zsh > "\${fpath[1]}/_parley"
  $ parley completion fish > ~/.config/fish/completions/parley.fish`,
    )
    .action(async (shell: string) => (await import("./run.ts")).printCompletion(program, shell));
}
