/**
 * The file that lists the servers behind the gateway: in JSON or, if its name says so, in YAML or as a module (config-module.ts).
 *
 *   { "upstreams": [
 *     { "name": "crm", "url": "https://crm.example.com/mcp", "headers": { "authorization": "Bearer ${CRM_TOKEN}" } },
 *     { "name": "files", "command": "npx", "args": ["-y", "some-server"], "repeatable": ["read_file"] } ] }
 *
 * In values of `headers`, `env` and `clientCredentials`, and only there, `${NAME}` is a variable of the environment and `${file:/run/secrets/x}`
 * the content of a file. Front ends read the same file but do not need its credentials. All problems are reported at once, and never with a value that was filled in.
 */
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Duration, GRANT_KEPT_MAX_MS, LONGEST_TIMER_MS, parseDuration } from "@parley/core";
import { parseDocument, type YAMLParseError, type YAMLWarning } from "yaml";
import { z } from "zod";
import { type ClientCredentials, clientCredentials, credentialsOf } from "./client-credentials.ts";
import { isConfigModule, loadConfigNow, type LoadedConfig } from "./config-module.ts";
import { fill, urlProblem } from "./values.ts";

export interface Upstream {
  readonly name: string;
  /** Differs whenever anything in the entry differs, credentials included. Never shown. */
  readonly fingerprint: string;
  /** Prefix of its tools' names, separator included; may be empty if there is only one upstream. */
  readonly prefix: string;
  readonly reached: ByUrl | ByCommand;
  /** Calls carry an access token of the caller, who grants it on a page. Undefined: they carry the headers of the file. */
  readonly oauth: UpstreamOauth | undefined;
  /** Whether a tool of that name, as the upstream calls it, is offered. */
  readonly offers: (tool: string) => boolean;
  /** Whether the file leaves nothing out. */
  readonly offersAll: boolean;
  /** Who may use what of it: a caller needs one of the rules. Undefined: everybody may use everything. */
  readonly access: readonly AccessRule[] | undefined;
  /** Whether a call of the tool may be repeated, if the file says so; undefined: the tool's own annotations decide. */
  readonly repeatable: (tool: string) => boolean | undefined;
  /** Which revisions are used: those in which all of its tools can ask, only those with sessions, or the newest that it supports. */
  readonly revisions: "auto" | "sessions" | "newest";
  /** Whether the next call of the same caller may use the session, or the process, of a call that has returned its result. */
  readonly reusesSessions: boolean;
  /** Whether that session has state that a later call needs: it is the caller's only one, and its end is reported (kept-sessions.ts). */
  readonly keepsState: boolean;
  /** How long a session with state waits for the next call. */
  readonly sessionTimeoutMs: number;
  /** Whether calls that may be repeated are made without a task as long as they ask nothing (taskless.ts). */
  readonly isTaskless: boolean;
  /** Whether a secret that it asks for in a form is entered on a page instead; otherwise the question is refused. */
  readonly takesSecretsOnPages: boolean;
  readonly connectTimeoutMs: number;
  /** How long the upstream may work without asking or ending. */
  readonly callTimeoutMs: number;
  /** How long its questions wait; undefined: as the deployment's settings say. */
  readonly questionTimeoutMs: number | undefined;
  /** Maximum number of concurrent calls in one worker. */
  readonly concurrency: number;
  /** How often its lists are read again, which also detects that it is down. */
  readonly refreshMs: number;
}

export interface AccessRule {
  /** As in the file: functions are not part of the fingerprint. */
  readonly include: readonly string[] | undefined;
  /** Whether it is about a tool, prompt or resource of that name, as the upstream calls it. */
  readonly covers: (name: string) => boolean;
  readonly coversAll: boolean;
  /** The caller has to hold all of these scopes and, if any is named, be one of the people or in one of the groups or roles. */
  readonly scopes: readonly string[];
  readonly people: readonly string[];
  readonly groups: readonly string[];
  readonly roles: readonly string[];
}

export interface ByUrl {
  readonly by: "url";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Requests carry an access token that the gateway gets for itself. */
  readonly credentials?: ClientCredentials;
}

/** A provider of PARLEY_OAUTH, and the access that is requested there. */
export interface UpstreamOauth {
  readonly provider: string;
  /** Sorted and without repetition, because the digest of the question covers them. */
  readonly scopes: readonly string[];
  /** How long after each use a grant is kept for later tasks of the same principal. Undefined: it ends with its task. */
  readonly keepMs?: number;
}

export interface ByCommand {
  readonly by: "command";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** Lists every problem of the file, one per line. */
export class UpstreamsError extends Error {
  override readonly name = "UpstreamsError";
  readonly problems: readonly string[];
  constructor(file: string, problems: readonly string[]) {
    super(`${file} (PARLEY_UPSTREAMS):\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

/** Limits on one listing, message or process are multiplied by the number of upstreams. */
export const UPSTREAMS_MAX = 100;
/** Tools have up to 128 characters (specification 2025-11-25, server/tools); a prefix must leave room for a name. */
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
const PREFIX = /^[A-Za-z0-9_.-]{0,40}$/;

const duration = z.string().transform((text, context) => {
  try {
    const ms = parseDuration(text as Duration);
    if (ms > 0) return ms;
    context.addIssue({ code: "custom", message: "must be longer than 0" });
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : "is not a duration" });
  }
  return z.NEVER;
});
/** A timer of this process measures it. Longer ones would be over at once. */
const timed = duration.refine((ms) => ms <= LONGEST_TIMER_MS, "must be at most 24d");
const KEEP_MIN_MS = 60_000;
const KEEP = 'must be "task", or a duration from 1m to 366d';
/** Undefined for a grant that ends with its task. */
const keep = z.string({ error: KEEP }).transform((text, context) => {
  if (text === "task") return undefined;
  const { data: ms } = duration.safeParse(text);
  if (ms !== undefined && ms >= KEEP_MIN_MS && ms <= GRANT_KEPT_MAX_MS) return ms;
  context.addIssue({ code: "custom", message: KEEP });
  return z.NEVER;
});
const values = z.record(z.string().min(1).max(200), z.string().max(8_192));
const patterns = z
  .array(z.string().regex(/^[A-Za-z0-9_./-]*\*?$/, "must be a tool's name, or the beginning of names followed by *"))
  .max(1_000);

const named = z.array(z.string().min(1).max(256)).min(1).max(1_000).optional();
const access = z
  .strictObject({ include: patterns.min(1).optional(), scopes: named, people: named, groups: named, roles: named })
  .transform(({ include, scopes = [], people = [], groups = [], roles = [] }): AccessRule => {
    const covers = (name: string) => include === undefined || matches(include, name);
    return { include, covers, coversAll: include === undefined, scopes, people, groups, roles };
  });

const entry = z.strictObject({
  name: z.string().regex(NAME, "must be 1 to 32 of a-z 0-9 - and must not begin with a hyphen"),
  url: z.string().optional(),
  headers: values.optional(),
  clientCredentials: clientCredentials.optional(),
  allowHttp: z.boolean().default(false),
  command: z.string().min(1).optional(),
  args: z.array(z.string()).max(1_000).optional(),
  env: values.optional(),
  cwd: z.string().min(1).optional(),
  prefix: z.string().regex(PREFIX, "must be up to 40 of A-Z a-z 0-9 _ . -").optional(),
  include: patterns.optional(),
  exclude: patterns.optional(),
  access: z.array(access).min(1, "must have a rule: without one, nobody could use anything").max(100).optional(),
  repeatable: z.union([z.boolean(), patterns]).optional(),
  oauth: z
    .strictObject({
      provider: z.string().min(1).max(32),
      scopes: z.array(z.string().min(1).max(256)).min(1).max(100),
      keep: keep.optional(),
    })
    .optional(),
  revisions: z.enum(["auto", "sessions", "newest"]).default("auto"),
  reuseSessions: z.union([z.boolean(), z.literal("stateless")]).default(false),
  sessionTimeout: timed.prefault("10m"),
  taskless: z.boolean().default(false),
  secrets: z.enum(["refuse", "page"]).default("refuse"),
  connectTimeout: timed.optional(),
  callTimeout: timed.prefault("5m"),
  questionTimeout: duration.optional(),
  concurrency: z.number().int().min(1).max(100_000).optional(),
  refresh: timed.prefault("1m"),
});
const shape = z.strictObject({ upstreams: z.array(entry).max(UPSTREAMS_MAX) });

/**
 * The content of the file, for authors of a module:
 *
 *   import type { UpstreamsConfig } from "@parley/gateway";
 *   export default { upstreams: [{ name: "crm", url: "https://crm.example.com/mcp" }] } satisfies UpstreamsConfig;
 */
export type UpstreamsConfig = z.input<typeof shape>;

export interface ReadUpstreams {
  /** The values of `${NAME}`. Undefined: values stay as they are written, for processes that connect to no upstream. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** OAuth providers of the deployment, with the scopes that may be requested. Undefined: `oauth` is not checked against them. */
  readonly providers?: Readonly<Record<string, readonly string[]>>;
  /** The longest time that a question may wait in the deployment. Undefined: `questionTimeout` is not checked against it. */
  readonly askTimeoutMaxMs?: number;
}

/** Throws UpstreamsError with all problems. Runs a module in a process of its own and waits for it. */
export function readUpstreams(file: string, options: ReadUpstreams = {}): readonly Upstream[] {
  if (isConfigModule(file)) return loadedUpstreams(file, loadConfigNow(file), options);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UpstreamsError(file, [`cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`]);
  }
  return parseUpstreams(file, text, options);
}

export function parseUpstreams(file: string, text: string, options: ReadUpstreams = {}): readonly Upstream[] {
  // Some editors put a byte order mark in front.
  const content = text.replace(/^\ufeff/, "");
  return checkUpstreams(file, /\.ya?ml$/.test(file) ? fromYaml(file, content) : fromJson(file, content), options);
}

/** The same for what a module exports. */
export function loadedUpstreams(file: string, loaded: LoadedConfig, options: ReadUpstreams = {}): readonly Upstream[] {
  if ("problem" in loaded) throw new UpstreamsError(file, [loaded.problem]);
  return checkUpstreams(file, loaded.value, options);
}

const OTHER_FORMAT =
  'as the files of MCP clients have: write each server as { "name": …, "url": … } or { "name": …, "command": … } in a list `upstreams`';

function checkUpstreams(
  file: string,
  given: unknown,
  { environment, providers, askTimeoutMaxMs = Infinity }: ReadUpstreams,
): readonly Upstream[] {
  const foreign = ["mcpServers", "servers"].find((key) => given !== null && typeof given === "object" && key in given);
  if (foreign !== undefined) throw new UpstreamsError(file, [`the file: has \`${foreign}\`, ${OTHER_FORMAT}`]);
  const parsed = shape.safeParse(given);
  if (!parsed.success) throw new UpstreamsError(file, parsed.error.issues.map(problemOf));
  const problems: string[] = [];
  const read = parsed.data.upstreams.map((given, index) => {
    const say = (where: string, what: string) => problems.push(`upstreams[${index}].${where} (${given.name}): ${what}`);
    // Each question would be refused when it is asked.
    if ((given.questionTimeout ?? 0) > askTimeoutMaxMs)
      say("questionTimeout", `must be at most ${askTimeoutMaxMs} ms, the longest time that a question may wait (PARLEY_ASK_TIMEOUT_MAX)`);
    return toUpstream(given, { say, ...(environment && { environment }), ...(providers && { providers }) });
  });
  problems.push(...namesProblems(read));
  if (problems.length > 0) throw new UpstreamsError(file, problems);
  return read;
}

function fromJson(file: string, text: string): unknown {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new UpstreamsError(file, [`is not JSON: ${error instanceof Error ? unquoted(error.message, text) : "unreadable"}`]);
  }
  // JSON is YAML, whose parser notices what JSON.parse lets pass.
  const twice = parseDocument(text, { uniqueKeys: true, prettyErrors: true }).errors.find(({ code }) => code === "DUPLICATE_KEY");
  if (twice) throw notYaml(file, twice);
  return content;
}

/** With the line of the mistake in place of a quotation: ten characters on either side of it, which could be those of a credential. */
function unquoted(message: string, text: string): string {
  if (!message.endsWith(" is not valid JSON")) return message;
  // Unexpected token 'x', ..."quotation"... is not valid JSON
  const end = message.indexOf("', ", "Unexpected token 'x".length) + 1;
  const isCut = message.startsWith("...", end + 2);
  const quoted = message.slice(end + (isCut ? 6 : 3), message.lastIndexOf('"'));
  const line = text.slice(0, isCut ? text.indexOf(quoted) + 10 : 0).split("\n").length;
  return `${message.slice(0, end) || "Unexpected text"} in line ${line}`;
}

/** The parser's own messages quote the file. A tag is only a warning of it: the value would be used as if the tag were not there. */
function fromYaml(file: string, text: string): unknown {
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw notYaml(file, problem);
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw notYaml(file, error as Partial<YAMLParseError>);
  }
}

function notYaml(file: string, { code, linePos }: Partial<YAMLParseError | YAMLWarning>): UpstreamsError {
  const where = linePos ? ` in line ${linePos[0].line}` : "";
  if (code === "DUPLICATE_KEY") return new UpstreamsError(file, [`has a key twice,${where}: only one of the two would count`]);
  return new UpstreamsError(file, [`is not YAML: ${code ?? "unreadable"}${where}`]);
}

function problemOf({ path, message }: z.core.$ZodIssue): string {
  const where = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
  return `${where.replace(/^\./, "") || "the file"}: ${message}`;
}

interface Reading extends ReadUpstreams {
  readonly say: (where: string, what: string) => void;
}

function toUpstream(given: z.output<typeof entry>, { say, environment, providers }: Reading): Upstream {
  const { name, include, exclude = [], repeatable } = given;
  const reached = reachedBy(given, { say, ...(environment && { environment }) });
  return {
    name,
    fingerprint: hash("sha256", JSON.stringify([given, reached]), "base64url"),
    prefix: given.prefix ?? `${name}_`,
    reached,
    oauth: oauthOf(given, { say, ...(providers && { providers }) }),
    offers: (tool) => (include === undefined || matches(include, tool)) && !matches(exclude, tool),
    offersAll: include === undefined && exclude.length === 0,
    access: given.access,
    repeatable: (tool) => (Array.isArray(repeatable) ? matches(repeatable, tool) || undefined : repeatable),
    revisions: given.revisions,
    reusesSessions: given.reuseSessions !== false,
    keepsState: given.reuseSessions === true,
    sessionTimeoutMs: given.sessionTimeout,
    isTaskless: given.taskless,
    takesSecretsOnPages: given.secrets === "page",
    // npx and its kind may have to download the server first. A command that is stopped meanwhile begins anew.
    connectTimeoutMs: given.connectTimeout ?? (given.command === undefined ? 10_000 : 60_000),
    callTimeoutMs: given.callTimeout,
    questionTimeoutMs: given.questionTimeout,
    // A call over stdio has a process of its own.
    concurrency: given.concurrency ?? (given.command === undefined ? 1_000 : 20),
    refreshMs: given.refresh,
  };
}

const NOT_FILLED = "has `${`, but only `headers`, `env` and `clientCredentials` may name variables";

function reachedBy(given: z.output<typeof entry>, { say, environment }: Reading): ByUrl | ByCommand {
  const { url, command, headers = {}, args = [], env = {}, cwd } = given;
  if ((url === undefined) === (command === undefined)) say("url", "give either `url` or `command`");
  const filled = (where: string, all: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(all).map(([key, value]) => [
        key,
        environment === undefined ? value : fill(value, environment, (what) => say(`${where}.${key}`, what)),
      ]),
    );
  if (url === undefined) {
    if (given.headers) say("headers", "can only be used with `url`; a command takes `env`");
    if (given.clientCredentials) say("clientCredentials", "can only be used with `url`: a command has no Authorization header");
    const all = filled("env", env);
    // A script in one argument may have variables of its own.
    if (args.some((arg) => /^\S*\$\{\w+\}\S*$/.test(arg))) say("args", NOT_FILLED);
    if (cwd?.includes("${")) say("cwd", NOT_FILLED);
    return { by: "command", command: command ?? "", args, env: all, cwd };
  }
  for (const key of ["args", "env", "cwd"] as const) if (given[key] !== undefined) say(key, "can only be used with `command`");
  const problem = url.includes("${") ? NOT_FILLED : urlProblem(url, given.allowHttp);
  if (problem !== undefined) say("url", problem);
  for (const key of Object.keys(headers))
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(key)) say(`headers.${key}`, "is not a valid header name");
  const all = filled("headers", headers);
  for (const [key, value] of Object.entries(all)) {
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) say(`headers.${key}`, "has characters that a header may not contain, such as a line break");
  }
  if (!given.clientCredentials) return { by: "url", url, headers: all };
  if (Object.keys(headers).some((key) => key.toLowerCase() === "authorization"))
    say("headers.authorization", "cannot be combined with `clientCredentials`: both are the Authorization header");
  const credentials = credentialsOf(given.clientCredentials, { say, ...(environment && { environment }) });
  return { by: "url", url, headers: all, credentials };
}

function oauthOf(
  { oauth, command, reuseSessions, taskless }: z.output<typeof entry>,
  { say, providers }: Reading,
): UpstreamOauth | undefined {
  if (!oauth) return undefined;
  if (command !== undefined) say("oauth", "can only be used with `url`: a command has no Authorization header");
  if (reuseSessions !== false)
    say("reuseSessions", "cannot be combined with `oauth`: a session would outlive the token that it was opened with");
  if (taskless) say("taskless", "cannot be combined with `oauth`: only a task can ask its caller for access");
  const { provider, scopes, keep: keepMs } = oauth;
  const allowed = providers && Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (providers && !allowed) {
    const names = Object.keys(providers).join(", ") || "none";
    say("oauth.provider", `must be one of the providers in PARLEY_OAUTH: ${names}`);
  }
  const refused = allowed && scopes.find((scope) => !allowed.includes(scope));
  if (refused !== undefined)
    say("oauth.scopes", `${refused} is not among the scopes of ${provider} in PARLEY_OAUTH: ${allowed?.join(", ")}`);
  return { provider, scopes: [...new Set(scopes)].toSorted(), ...(keepMs !== undefined && { keepMs }) };
}

/** Tools of two upstreams can have the same name only if one prefix is the beginning of the other. */
function namesProblems(upstreams: readonly Upstream[]): string[] {
  return upstreams.flatMap((one, index) =>
    upstreams.slice(index + 1).flatMap((other) => {
      if (one.name === other.name) return [`upstreams: two are named ${one.name}`];
      if (!one.prefix.startsWith(other.prefix) && !other.prefix.startsWith(one.prefix)) return [];
      const prefixes = `${JSON.stringify(one.prefix)} of ${one.name} and ${JSON.stringify(other.prefix)} of ${other.name}`;
      return [`upstreams: the prefixes ${prefixes} overlap, so tools of both could have the same name: set a different \`prefix\``];
    }),
  );
}

function matches(list: readonly string[], tool: string): boolean {
  return list.some((each) => (each.endsWith("*") ? tool.startsWith(each.slice(0, -1)) : tool === each));
}
