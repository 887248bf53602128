/**
 * Reads the file that lists the OAuth providers at which tools may act on a person's behalf (PARLEY_OAUTH):
 *
 *   { "providers": [
 *     { "name": "github", "title": "GitHub", "client": "Iv1.…", "secret": { "file": "/run/secrets/github" }, "scopes": ["repo"],
 *       "endpoints": { "authorization": "https://github.com/login/oauth/authorize", "token": "https://github.com/login/oauth/access_token" } },
 *     { "name": "calendar", "title": "Calendar", "issuer": "https://id.example.com", "client": "parley", "scopes": ["calendar.read", "offline_access"] } ] }
 *
 * All problems are reported together. The value of a secret is never shown.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { unsafeAddress } from "../address.ts";

export interface OauthProviderSettings {
  readonly name: string;
  /** The name that people see. */
  readonly title: string;
  readonly issuer: string | undefined;
  readonly endpoints: { readonly authorization: string; readonly token: string; readonly revocation?: string | undefined } | undefined;
  readonly client: string;
  readonly secret: string | undefined;
  readonly secretIn: "header" | "body";
  /** Scopes that tools may ask for. */
  readonly scopes: readonly string[];
  /** Additional parameters of the authorization request, such as `access_type=offline`. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly resource: string | undefined;
  readonly allowHttp: boolean;
}

/** Lists every problem of the file, one per line. */
export class OauthFileError extends Error {
  override readonly name = "OauthFileError";
  readonly problems: readonly string[];
  constructor(file: string, problems: readonly string[]) {
    super(`${file} (PARLEY_OAUTH):\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.problems = problems;
  }
}

export const PROVIDERS_MAX = 50;
export const SCOPES_MAX = 100;

/** The syntax of RFC 6749, 3.3. */
const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, "must be 1 to 256 printable characters without spaces and quotes");
/** Part of a URL. */
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, "must be 1 to 32 of a-z 0-9 -, not starting with a hyphen");
const secret = z.union([z.strictObject({ environment: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })], {
  error: 'must be { "environment": "NAME" } or { "file": "/path" }: the secret itself must not be in this file',
});

const entry = z.strictObject({
  name,
  title: z.string().min(1).max(80).optional(),
  issuer: z.string().optional(),
  endpoints: z.strictObject({ authorization: z.string(), token: z.string(), revocation: z.string().optional() }).optional(),
  client: z.string().min(1).max(500),
  secret: secret.optional(),
  secretIn: z.enum(["header", "body"]).default("header"),
  scopes: z.array(scope).min(1).max(SCOPES_MAX),
  parameters: z.record(z.string().min(1).max(100), z.string().max(1_000)).default({}),
  resource: z.string().min(1).max(1_000).optional(),
  allowHttp: z.boolean().default(false),
});
const shape = z.strictObject({ providers: z.array(entry).min(1).max(PROVIDERS_MAX) });

/** Parameters that the flow itself sets. */
const RESERVED = ["response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method", "resource"];

/** Throws OauthFileError with all problems. */
export function readOauthFile(file: string, environment: Readonly<Record<string, string | undefined>>): readonly OauthProviderSettings[] {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OauthFileError(file, [code === undefined ? "is not JSON" : `cannot be read (${code})`]);
  }
  const parsed = shape.safeParse(json);
  if (!parsed.success) {
    throw new OauthFileError(
      file,
      parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`),
    );
  }
  const problems: string[] = [];
  const { providers } = parsed.data;
  const read = providers.map((given, index): OauthProviderSettings => {
    const report = (where: string, what: string) => problems.push(`providers.${index}.${where} (${given.name}): ${what}`);
    if (providers.findIndex((other) => other.name === given.name) !== index) report("name", "another provider has the same name");
    if (given.issuer === undefined && !given.endpoints)
      report("issuer", "set `issuer`, whose metadata names the endpoints, or `endpoints`, or both");
    const addresses = {
      issuer: given.issuer,
      "endpoints.authorization": given.endpoints?.authorization,
      "endpoints.token": given.endpoints?.token,
      "endpoints.revocation": given.endpoints?.revocation,
    };
    for (const [where, address] of Object.entries(addresses)) {
      const unsafe = address === undefined ? undefined : unsafeAddress(address, given.allowHttp, "`allowHttp: true`");
      if (unsafe !== undefined) report(where, unsafe);
    }
    for (const parameter of Object.keys(given.parameters))
      if (RESERVED.includes(parameter)) report(`parameters.${parameter}`, "is set by Parley itself");
    const { issuer, endpoints, resource } = given;
    return { ...given, title: given.title ?? given.name, issuer, endpoints, resource, secret: secretOf(given.secret, environment, report) };
  });
  if (problems.length > 0) throw new OauthFileError(file, problems);
  return read;
}

function secretOf(
  given: z.output<typeof secret> | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  report: (where: string, what: string) => void,
): string | undefined {
  if (!given) return undefined;
  if ("environment" in given) {
    const value = environment[given.environment];
    if (value === undefined || value === "") report("secret.environment", `${given.environment} is not set`);
    return value;
  }
  try {
    const value = readFileSync(given.file, "utf8").trim();
    if (value === "") report("secret.file", `${given.file} is empty`);
    return value;
  } catch (error) {
    report("secret.file", `${given.file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown"})`);
    return undefined;
  }
}
