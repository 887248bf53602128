/**
 * The page on which people see the access that they granted for later calls, and remove it:
 *
 *   GET, HEAD  list the caller's own grants, without tokens
 *   POST       revokes one of them, and asks its provider to end it as well
 *
 * A form is accepted only if it comes from a page of this server that showed this consent to this person (a signed token). Ids of other
 * people's grants and ids of none are answered alike.
 */
import { type Caller, type ListedGrant, ownGrants, revokeOwnGrant } from "@parley/core";
import type { OauthDirectory } from "@parley/identity";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { ACCOUNTS_PATH, type PageAddresses } from "../../front-end/page-addresses.ts";
import type { Visitors } from "../../front-end/visitors.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { readerOf } from "../../texts/texts.ts";
import { DOOR, formBodies, isOwnForm, notice, permit, sendPage, showErrors } from "../asks/every-page.ts";
import { accountsPage, revokedSentence } from "./view.ts";

export interface AccountsRoute {
  readonly frontEnd: FrontEnd;
  readonly addresses: PageAddresses;
  readonly signatures: Signatures;
  readonly visitors: Visitors;
  readonly oauth: OauthDirectory;
}

/** Three ids, a signature and their names. */
const FORM_BYTES_MAX = 4_096;

export function accountsRoute(scope: FastifyInstance, { frontEnd, addresses, signatures, visitors, oauth }: AccountsRoute): void {
  const services = { ...frontEnd.services, oauth };
  formBodies(scope, FORM_BYTES_MAX);

  scope.get(ACCOUNTS_PATH, async (request, reply) => {
    await permit(frontEnd, request, "reads");
    return await show(request, reply, 200);
  });

  scope.post(ACCOUNTS_PATH, async (request, reply) => {
    if (!isOwnForm(request, addresses)) return notice(reply, "foreign");
    await permit(frontEnd, request, "answers");
    const { body, caller } = request;
    if (!(body instanceof URLSearchParams)) return notice(reply, "unreadable");
    const [id, consent, token] = [body.get("grant"), body.get("consent"), body.get("token")];
    if (id === null || consent === null || token === null || body.get("action") !== "revoke") return notice(reply, "unreadable");
    const isShown = signatures.verify(formText(caller, { id, consent }), token);
    const revoked = isShown ? await revokeOwnGrant(services, { caller, door: DOOR, id, consent }) : undefined;
    if (!revoked) return await show(request, reply, 409, { problem: readerOf(request).texts.accounts.gone });
    const { about, atProvider } = revoked;
    return await show(request, reply, 200, { done: revokedSentence(readerOf(request), about, titleOf(about.provider), atProvider) });
  });

  const titleOf = (provider: string) => oauth.find(provider)?.title ?? provider;

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    said: { readonly done?: string; readonly problem?: string } = {},
  ): Promise<FastifyReply> {
    const { caller, account } = request;
    const grants = await ownGrants(services, caller);
    const shown = grants.map((grant) => ({
      grant,
      title: titleOf(grant.about.provider),
      host: oauth.find(grant.about.provider)?.host,
      token: signatures.sign(formText(caller, grant)),
    }));
    return sendPage(reply, status, accountsPage({ reader: readerOf(request), grants: shown, caller, account, ...said }));
  }

  showErrors(scope, frontEnd, visitors);
}

/** What the token of a form signs: this person, and the consent as it was shown. */
function formText({ tenant, principal }: Caller, { id, consent }: Pick<ListedGrant, "id" | "consent">): string {
  return ["account", tenant, principal, id, consent].join("\n");
}
