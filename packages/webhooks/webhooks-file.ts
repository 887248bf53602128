/** The operator's file of webhooks, in YAML or JSON (which is YAML). Read once, at the start of a worker. */
import type { KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { OCCURRENCE_TYPES, type OccurrenceType } from "@parley/core";
import { parseDocument } from "yaml";
import { z } from "zod";
import { isPublicHost } from "./public-address.ts";
import { keyOfSecret } from "./sign.ts";

export interface Webhook {
  readonly name: string;
  readonly url: URL;
  /** What signs: the first of the file and, while it is replaced, the one before. */
  readonly keys: readonly KeyObject[];
  readonly events: readonly OccurrenceType[];
  readonly tool?: string;
  readonly tenant?: string;
  /** May post to an address that the internet does not reach, and without TLS. */
  readonly isPrivate: boolean;
}

/** Lists every problem of the file, one per line. */
export class WebhooksError extends Error {
  override readonly name = "WebhooksError";
  readonly problems: readonly string[];
  constructor(file: string, problems: readonly string[]) {
    super(`${file} (PARLEY_WEBHOOKS):\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

export const WEBHOOKS_MAX = 50;
const BYTES_MAX = 1_000_000;

const hook = z.strictObject({
  url: z.string(),
  secret: z.union([z.string(), z.array(z.string()).min(1).max(2)]),
  events: z.array(z.enum(OCCURRENCE_TYPES)).min(1).optional(),
  tool: z.string().min(1).max(128).optional(),
  tenant: z.string().min(1).max(256).optional(),
  private: z.boolean().optional(),
});
const content = z.strictObject({ webhooks: z.record(z.string(), hook) });
const NAME = /^[\w-]{1,64}$/;

/** What is told unless the file says otherwise: every question, how it ended, and the end of every task. */
const EVENTS: readonly OccurrenceType[] = ["ask.opened", "ask.reminded", "ask.settled", "task.ended"];

/** Throws WebhooksError with all problems. */
export function readWebhooks(file: string, variables: NodeJS.ProcessEnv): readonly Webhook[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new WebhooksError(file, [`cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`]);
  }
  if (text.length > BYTES_MAX) throw new WebhooksError(file, [`has more than ${BYTES_MAX} characters`]);
  const document = parseDocument(text.replace(/^\uFEFF/, ""), { prettyErrors: true, uniqueKeys: true });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw new WebhooksError(file, [`is not YAML: ${problem.message}`]);
  const parsed = content.safeParse(document.toJS({ maxAliasCount: 100 }));
  if (!parsed.success) {
    throw new WebhooksError(
      file,
      parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`),
    );
  }
  const entries = Object.entries(parsed.data.webhooks);
  const problems: string[] = [];
  if (entries.length > WEBHOOKS_MAX) problems.push(`has ${entries.length} webhooks; the limit is ${WEBHOOKS_MAX}`);
  const hooks = entries.map(([name, given]) => webhookOf(name, given, { variables, problems }));
  if (problems.length > 0) throw new WebhooksError(file, problems);
  return hooks.filter((each) => each !== undefined);
}

function webhookOf(
  name: string,
  given: z.infer<typeof hook>,
  { variables, problems }: { readonly variables: NodeJS.ProcessEnv; readonly problems: string[] },
): Webhook | undefined {
  if (!NAME.test(name)) problems.push(`webhooks.${name.slice(0, 100)}: a name has 1 to 64 of A-Z a-z 0-9 _ -`);
  const say = (at: string, problem: string) => void problems.push(`webhooks.${name}.${at}: ${problem}`);
  const filled = (at: string, text: string) =>
    text.replace(/\$\{(\w+)\}/g, (_, variable: string) => {
      const value = variables[variable];
      if (value === undefined || value === "") say(at, `the environment variable ${variable} is not set`);
      return value ?? "";
    });
  const isPrivate = given.private ?? false;
  const text = filled("url", given.url);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) say("url", "must be an address that begins with https://");
  else if (url.username !== "" || url.password !== "") say("url", "must not contain a password: the signature says who posts");
  else if (!isPrivate && url.protocol !== "https:")
    say("url", "must begin with https://, unless `private: true` says that it stays in your network");
  else if (!isPrivate && !isPublicHost(url.hostname))
    say("url", "is an address of your own network: write `private: true` if that is meant");
  const keys = [given.secret].flat().map((secret, index) => {
    const at = Array.isArray(given.secret) ? `secret.${index}` : "secret";
    const key = keyOfSecret(filled(at, secret));
    if (!key) say(at, "must be whsec_ and 24 to 64 random bytes in base64, such as `echo whsec_$(openssl rand -base64 32)` prints");
    return key;
  });
  if (!url) return undefined;
  const { events = EVENTS, tool, tenant } = given;
  return {
    name,
    url,
    keys: keys.filter((key) => key !== undefined),
    events,
    ...(tool !== undefined && { tool }),
    ...(tenant !== undefined && { tenant }),
    isPrivate,
  };
}
