/** What the official clients need to log in by themselves: what a host keeps for a server, and the person whom it sends to the provider. */
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { logIn } from "./person.ts";

const REDIRECT = "http://localhost:9/callback";

/** What a host keeps for a server: registration, tokens, and the person whom it sends to the provider. */
export class Keeper {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: "parley-test",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  /** Scopes that were asked for, in turn. */
  readonly asked: string[] = [];
  readonly #person: string;
  /** What the person agrees to, when it is not all. */
  agreed: string | undefined;
  /** What the provider sent the client back with. */
  back: URLSearchParams | undefined;
  #client: never | undefined;
  kept: { access_token: string; refresh_token?: string; scope?: string } | undefined;
  #verifier = "";

  constructor(person: string) {
    this.#person = person;
  }
  clientInformation = () => this.#client;
  saveClientInformation = (client: unknown) => void (this.#client = client as never);
  tokens = () => this.kept as never;
  saveTokens = (tokens: unknown) => void (this.kept = tokens as typeof this.kept);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  redirectToAuthorization = async (authorization: URL) => {
    const scopes = authorization.searchParams.get("scope")?.split(" ") ?? [];
    // The second SDK asks for it by itself where the provider has it.
    this.asked.push(scopes.filter((scope) => scope !== "offline_access").join(" "));
    if (this.agreed !== undefined) authorization.searchParams.set("scope", this.agreed);
    const back = await logIn(authorization, this.#person);
    this.back = back.searchParams;
    if (!this.back.has("code")) throw new Error(`no code came back: ${back.href}`);
  };
}

/** As hosts do: the first attempt sends the person to the provider, the second one has a token. */
export async function connectLoggedIn<Of>(
  connect: () => Promise<Of>,
  { url, keeper }: { readonly url: URL; readonly keeper: Keeper },
): Promise<Of> {
  const refused = await connect().catch((error: unknown) => error);
  const code = keeper.back?.get("code");
  if (code === undefined || code === null) throw new Error("the client sent nobody to the provider", { cause: refused });
  const transport = new StreamableHTTPClientTransport(url, { authProvider: keeper as never });
  await transport.finishAuth(code);
  return await connect();
}
