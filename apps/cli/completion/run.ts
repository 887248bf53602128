/** Generates completion scripts from the commands, so that new commands and options need no change here. */
import type { Command, Option } from "commander";

interface Completed {
  /** The words of the command: `["tasks", "get"]`. */
  readonly path: readonly string[];
  readonly says: string;
  readonly subcommands: readonly Completed[];
  readonly options: readonly { readonly flags: readonly string[]; readonly says: string; readonly wantsValue: boolean }[];
}

const SHELLS: Readonly<Record<string, (root: Completed) => string>> = { bash, zsh, fish };

export function printCompletion(program: Command, shell: string): void {
  if (!Object.hasOwn(SHELLS, shell))
    throw new Error(`there is no completion for ${shell}; supported shells: ${Object.keys(SHELLS).join(", ")}`);
  process.stdout.write(SHELLS[shell]?.(described(program, [])) ?? "");
}

function described(command: Command, path: readonly string[]): Completed {
  const { commands, options } = command;
  return {
    path,
    says: summary(command.description()),
    subcommands: commands.map((each) => described(each, [...path, each.name()])),
    options: [...options, ...helpOption()].map(({ short, long, required, optional, description }) => ({
      flags: [short, long].filter((flag) => flag !== undefined && flag !== null),
      says: summary(description),
      wantsValue: required || optional,
    })),
  };
}

function helpOption(): Pick<Option, "short" | "long" | "required" | "optional" | "description">[] {
  return [{ short: "-h", long: "--help", required: false, optional: false, description: "Show help for a command" }];
}

function summary(text: string): string {
  return text.split(/[;:(]/, 1)[0]?.trim() ?? "";
}

function all(completed: Completed): readonly Completed[] {
  return [completed, ...completed.subcommands.flatMap(all)];
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function bash(root: Completed): string {
  const cases = all(root).map(({ path, subcommands, options }) => {
    const words = [...subcommands.map(({ path: each }) => each.at(-1) ?? ""), ...options.flatMap(({ flags }) => flags)];
    return `    ${quoted(path.join(" "))}) words=${quoted(words.join(" "))} ;;`;
  });
  const paths = all(root).flatMap(({ path }) => (path.length > 0 ? [path.join(" ")] : []));
  return `# bash completion for parley
_parley() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" index next
  for ((index = 1; index < COMP_CWORD; index++)); do
    next="\${path:+$path }\${COMP_WORDS[index]}"
    case "$next" in
      ${paths.map(quoted).join("|")}) path="$next" ;;
      *) break ;;
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _parley parley
`;
}

function zsh(root: Completed): string {
  const escaped = (text: string) => text.replaceAll(/[[\]:]/g, "").replaceAll("'", "");
  const cases = all(root).map(({ path, subcommands, options }) => {
    const names = subcommands.map(({ path: each, says }) => quoted(`${each.at(-1) ?? ""}:${escaped(says)}`));
    const flags = options.flatMap((option) => option.flags.map((flag) => quoted(`${flag}:${escaped(option.says)}`)));
    return `    ${quoted(path.join(" "))}) names=(${names.join(" ")}); flags=(${flags.join(" ")}) ;;`;
  });
  const paths = all(root).flatMap(({ path }) => (path.length > 0 ? [path.join(" ")] : []));
  return `#compdef parley
_parley() {
  local given="" next index
  local -a names flags
  for ((index = 2; index < CURRENT; index++)); do
    next="\${given:+$given }\${words[index]}"
    case "$next" in
      ${paths.map(quoted).join("|")}) given="$next" ;;
      *) break ;;
    esac
  done
  case "$given" in
${cases.join("\n")}
  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe -t options option flags
  elif (( \${#names} )); then
    _describe -t commands command names
  else
    _files
  fi
}
if [[ "$funcstack[1]" == _parley ]]; then _parley "$@"; else compdef _parley parley; fi
`;
}

function fish(root: Completed): string {
  const lines = all(root).flatMap(({ path, subcommands, options }) => {
    const depth = path.length;
    const names = subcommands.map(({ path: each }) => each.at(-1) ?? "");
    const here = depth === 0 ? "__fish_use_subcommand" : path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    const condition = depth > 0 && names.length > 0 ? `${here}; and not __fish_seen_subcommand_from ${names.join(" ")}` : here;
    const commands = subcommands.map(
      ({ path: each, says }) => `complete -c parley -f -n ${quoted(condition)} -a ${each.at(-1)} -d ${quoted(says)}`,
    );
    const flags = options.map(({ flags: spelt, says, wantsValue }) => {
      const named = spelt.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)).join(" ");
      return `complete -c parley -n ${quoted(condition)} ${named}${wantsValue ? " -r" : ""} -d ${quoted(says)}`;
    });
    return [...commands, ...flags];
  });
  return `# fish completion for parley\n${lines.join("\n")}\n`;
}
