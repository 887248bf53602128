/** What `parley doctor --client` says of the clients that it has met: a file for others, and a table to read. Neither holds what people answered. */
import type { Rung } from "@parley/protocol";
import { cleanLine } from "../terminal/terminal.ts";

/** Version of the file's format. */
export const FORMAT = 1;

export const ABILITIES = ["form", "url", "mrtr", "tasks", "apps", "words", "progress", "cancellation", "resumption"] as const;
export type Ability = (typeof ABILITIES)[number];

/** `untried`: nothing happened that would have needed it. */
export type Verdict = "yes" | "no" | "untried";

/** `none`: the call ended before it needed one. */
export type Taken = Rung | "none";

export interface ClientReport {
  readonly name: string;
  readonly version: string;
  readonly transport: "http" | "stdio";
  readonly revision: string;
  /** Its capabilities as it declared them, or only their names if they are long. */
  readonly declares: unknown;
  /** Of each tool that it called. */
  readonly tools: Readonly<Record<string, { readonly calls: number; readonly rung: Taken; readonly ended: boolean }>>;
  readonly did: Readonly<Record<Ability, Verdict>>;
  /** What it declares, was given, and did not do: a sentence each. */
  readonly overclaims: readonly string[];
}

export interface Report {
  readonly format: typeof FORMAT;
  /** Version of the server. */
  readonly parley: string;
  /** When it was written, in ISO 8601. */
  readonly at: string;
  readonly clients: readonly ClientReport[];
  /** Clients that were too many to be recorded. */
  readonly leftOut: number;
}

const SIGNS: Readonly<Record<Verdict, string>> = { yes: "✓", no: "✗", untried: "–" };

const HEADINGS: Readonly<Record<Ability, string>> = {
  form: "form",
  url: "page",
  mrtr: "`input_required`",
  tasks: "tasks",
  apps: "views",
  words: "words",
  progress: "progress",
  cancellation: "cancels",
  resumption: "resumes",
};

/** As a table in Markdown, one row for each client. Some look around in one way and call in another: of those only the calls are shown. */
export function tableOf(all: readonly ClientReport[]): readonly string[] {
  const called = all.filter(({ tools }) => Object.keys(tools).length > 0);
  const clients = all.filter(
    (each) => called.includes(each) || !called.some(({ name, version }) => name === each.name && version === each.version),
  );
  const head = ["client", "revision", "over", "rung", ...ABILITIES.map((ability) => HEADINGS[ability])];
  return [head, head.map(() => "---"), ...clients.map(rowOf)].map((cells) => `| ${cells.join(" | ")} |`);
}

function rowOf(client: ClientReport): readonly string[] {
  const { name, version, revision, transport } = client;
  return [`${cell(name)} ${cell(version)}`, cell(revision), transport, ...measuredOf(client)];
}

/** The cells that were measured: the rungs of its calls, and a sign for each ability. */
export function measuredOf({ tools, did }: ClientReport): readonly string[] {
  return [rungsOf(tools), ...ABILITIES.map((ability) => SIGNS[did[ability]])];
}

/** The rungs of its calls that needed one. */
function rungsOf(tools: ClientReport["tools"]): string {
  const taken = new Set(Object.values(tools).map(({ rung }) => rung));
  const needed = [...taken].filter((rung) => rung !== "none");
  return needed.length === 0 ? "–" : needed.map((rung) => `\`${rung}\``).join(", ");
}

/** A client chooses its name: it must not end a cell or begin markup. */
function cell(text: string): string {
  return cleanLine(text).replaceAll(/[|\\`<>[\]*_]/g, (sign) => `\\${sign}`);
}
