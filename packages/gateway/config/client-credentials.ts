/**
 * `clientCredentials` of an upstream: the gateway asks the upstream's authorization server for an access token of its own
 * (OAuth 2.1, grant type client_credentials).
 *
 *   { "issuer": "https://auth.example.com", "clientId": "parley", "clientSecret": "${CRM_SECRET}", "scopes": ["contacts.read"] }
 *
 * The file names the authorization server. If the upstream could, whoever answers at its address would receive the secret.
 */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { z } from "zod";
import { fill, urlProblem } from "./values.ts";

export interface ClientCredentials {
  readonly issuer: string;
  readonly clientId: string;
  /** Proves who the client is. */
  readonly proof: { readonly secret: string } | { readonly privateKey: string; readonly algorithm: string };
  /** Undefined: those that the upstream asks for. */
  readonly scopes: readonly string[] | undefined;
  /** What the token is for (RFC 8707). Undefined: what the upstream's metadata say, or else its url. False: not sent. */
  readonly resource: string | false | undefined;
}

const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384"] as const;
type Algorithm = (typeof ALGORITHMS)[number];
const BY_CURVE: Readonly<Record<string, Algorithm>> = { prime256v1: "ES256", secp384r1: "ES384" };

const value = z.string().min(1).max(16_384);

export const clientCredentials = z.strictObject({
  issuer: z.string(),
  clientId: value,
  clientSecret: value.optional(),
  privateKey: value.optional(),
  algorithm: z.enum(ALGORITHMS).optional(),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, "must be a scope, which has no spaces"))
    .min(1)
    .max(100)
    .optional(),
  resource: z.union([z.url(), z.literal(false)]).optional(),
});

export interface ReadingCredentials {
  readonly say: (where: string, what: string) => void;
  /** Undefined in processes that connect to no upstream: values stay as they are written. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export function credentialsOf(given: z.output<typeof clientCredentials>, { say, environment }: ReadingCredentials): ClientCredentials {
  const { issuer, scopes, resource } = given;
  const about = (key: string) => (what: string) => say(`clientCredentials.${key}`, what);
  const filled = (key: "clientId" | "clientSecret" | "privateKey") =>
    environment === undefined ? (given[key] ?? "") : fill(given[key] ?? "", environment, about(key));
  for (const [key, text] of Object.entries({ issuer, scopes: scopes?.join(" "), resource: resource || undefined }))
    if (text?.includes("${")) about(key)("has `${`, which is not filled in here");
  const problem = issuer.includes("${") ? undefined : urlProblem(issuer, undefined);
  if (problem !== undefined) about("issuer")(problem);
  if ((given.clientSecret === undefined) === (given.privateKey === undefined))
    about("clientSecret")("give either `clientSecret` or `privateKey`");
  if (given.algorithm !== undefined && given.privateKey === undefined) about("algorithm")("can only be used with `privateKey`");
  const key = filled("privateKey");
  return {
    issuer,
    clientId: filled("clientId"),
    proof:
      given.privateKey === undefined
        ? { secret: filled("clientSecret") }
        : environment === undefined || key === ""
          ? { privateKey: key, algorithm: given.algorithm ?? ALGORITHMS[0] }
          : keyOf(key, { algorithm: given.algorithm, say: about("privateKey") }),
    scopes,
    resource,
  };
}

interface ReadingKey {
  readonly algorithm: Algorithm | undefined;
  readonly say: (what: string) => void;
}

/** In the form that the client's library reads, and with the algorithm that goes with it. */
function keyOf(text: string, { algorithm, say }: ReadingKey): { readonly privateKey: string; readonly algorithm: string } {
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch {
    say("must be a private key as PEM, without a password");
    return { privateKey: "", algorithm: ALGORITHMS[0] };
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: { namedCurve = "" } = {} } = key;
  const own = type === "rsa" ? "RS256" : type === "ec" ? BY_CURVE[namedCurve] : undefined;
  if (own === undefined) say("must be a key of type RSA, or EC with the curve P-256 or P-384");
  else if (algorithm !== undefined && algorithm !== own && !(type === "rsa" && /^[RP]S/.test(algorithm)))
    say(`is not a key for ${algorithm}`);
  return { privateKey: key.export({ format: "pem", type: "pkcs8" }) as string, algorithm: algorithm ?? own ?? ALGORITHMS[0] };
}
