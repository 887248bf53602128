/** The attackers: callers that Ada's server must not mistake for her. */
import { generateKeyPair } from "jose";
import { forged, startIssuer } from "../support/issuer.ts";
import type { Victim } from "./victims.ts";

export interface Attacker {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the server knows who it is; else all that it sends is refused for that alone. */
  readonly isKnown: boolean;
}

const nowS = () => Math.floor(Date.now() / 1_000);

export async function attackersOf({ issuer, token }: Victim): Promise<readonly Attacker[]> {
  const day = { exp: nowS() + 86_400 };
  const ada = { sub: "ada", org: "acme", ...day };
  const mallory = await issuer.token({ sub: "mallory", org: "acme", groups: ["staff"], ...day });
  const [head = "", body = "", signature = ""] = token.split(".");
  const [, , otherSignature = ""] = mallory.split(".");
  const header = JSON.parse(Buffer.from(head, "base64url").toString()) as Record<string, unknown>;
  const other = await startIssuer();
  await other.close();
  const { privateKey } = await generateKeyPair("RS256");
  const claims = { iss: issuer.url, aud: "http://localhost:3000/mcp", iat: nowS(), scope: "tools tasks asks", ...ada };
  const publicKey = new TextEncoder().encode(JSON.stringify(issuer.keys[0]));
  const known = (name: string, bearer: string): Attacker => ({ name, headers: { authorization: `Bearer ${bearer}` }, isKnown: true });
  const unknown = (name: string, authorization?: string): Attacker => ({
    name,
    headers: authorization === undefined ? {} : { authorization },
    isKnown: false,
  });
  return [
    known("a colleague", mallory),
    known("her namesake of another tenant", await issuer.token({ ...ada, org: "evil" })),
    known("an approver of another tenant", await issuer.token({ sub: "eve", org: "evil", groups: ["approvers"], ...day })),
    known("a colleague whose name is her principal", await issuer.token({ sub: "u_ada", org: "acme", client_id: "ada", ...day })),
    known("a colleague without scopes", await issuer.token({ sub: "mallory", org: "acme", scope: "openid", ...day })),
    known(
      "a colleague with a scope of everything",
      await issuer.token({ sub: "mallory", org: "acme", scope: "admin tools tasks asks", ...day }),
    ),
    unknown("nobody"),
    unknown("somebody with alg none", `Bearer ${forged({ ...header, alg: "none" }, claims)}`),
    unknown("somebody with the public key", `Bearer ${await issuer.token(ada, { alg: "HS256", key: publicKey })}`),
    unknown("somebody with another key", `Bearer ${await issuer.token(ada, { key: privateKey })}`),
    unknown("somebody of another issuer", `Bearer ${await issuer.token({ ...ada, iss: other.url })}`),
    unknown("somebody for another server", `Bearer ${await issuer.token({ ...ada, aud: "http://localhost:3001/mcp" })}`),
    unknown(
      "somebody for this and another server",
      `Bearer ${await issuer.token({ ...ada, aud: [claims.aud, "http://localhost:3001/mcp"] })}`,
    ),
    unknown("herself an hour ago", `Bearer ${await issuer.token({ ...ada, exp: nowS() - 3_600 })}`),
    unknown("herself in an hour", `Bearer ${await issuer.token({ ...ada, nbf: nowS() + 3_600 })}`),
    unknown("herself without a tenant", `Bearer ${await issuer.token({ ...ada, org: undefined })}`),
    unknown("her claims with a colleague's signature", `Bearer ${head}.${body}.${otherSignature}`),
    unknown("her token, cut", `Bearer ${head}.${body}.${signature.slice(0, -8)}`),
    unknown("her token as Basic", `Basic ${Buffer.from(`ada:${token}`).toString("base64")}`),
    unknown("an API key that never was", `Bearer parley_AAAAAAAAAAAA_${"A".repeat(43)}`),
  ];
}
