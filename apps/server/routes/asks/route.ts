/**
 * Every question has a page, on which people answer it, also what must not pass through their client:
 *
 *   GET, HEAD  show the form, or what happened to the question. They change nothing, so that programs that follow links do no harm.
 *   POST       settles the question, once. The store decides which answer counts (visit-page.ts in core). Or it claims, releases,
 *              comments on or hands on the question, or puts it aside, and it stays open.
 *
 * Any front end serves any step. A form is accepted only if it comes from a page of this server (Origin, Sec-Fetch-Site) that was shown to
 * this person for this question (a signed token).
 */
import { keptForm } from "./kept-form.ts";
import {
  askBack,
  claimAsk,
  COMMENT_CHARS_MAX,
  commentOnAsk,
  delegateAsk,
  type FilesWanted,
  type Joined,
  leavePage,
  noteShown,
  type OpenPage,
  ParleyError,
  releaseAsk,
  replyToAsk,
  snoozeAsk,
  SNOOZES_MAX,
  unsnoozeAsk,
} from "@parley/core";
import type { DepositSeal } from "@parley/node";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { sharedGate } from "../../front-end/gate.ts";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import { receiveUpload } from "./upload.ts";
import { ASKS_PATH, type PageAddresses } from "../../front-end/page-addresses.ts";
import { parsePageAddress, type Visitors } from "../../front-end/visitors.ts";
import type { Signatures } from "../../seals/signatures.ts";
import { filled, momentText, readerOf } from "../../texts/texts.ts";
import {
  DOOR,
  formBodies,
  formText,
  isOwnForm,
  notice,
  noticeLate,
  noticeLogin,
  noticeSettled,
  permit,
  sendShown,
  servesOnlyItsPerson,
  showErrors,
  visitAsk,
  withFormToken,
} from "./every-page.ts";
import type { Grants } from "./grants.ts";
import { type HandingOn, readHandOn } from "./hand-on.ts";
import { inInbox, isInInbox, type Onward, pathAndQuery } from "./lead-on.ts";
import type { Questions } from "./questions.ts";
import { readSnooze, SNOOZE } from "./snooze.ts";
import type { Visits } from "./visits.ts";
import { filesPage, SECRET_CHARS_MAX, secretPage } from "./views.ts";

export interface AsksRoute {
  readonly frontEnd: FrontEnd;
  readonly addresses: PageAddresses;
  readonly seal: DepositSeal;
  readonly signatures: Signatures;
  readonly visitors: Visitors;
  readonly grants: Grants;
  readonly visits: Visits;
  readonly questions: Questions;
  readonly titleOf: TitleOf;
  readonly onward: Onward;
}

/** A character takes up to nine bytes in a form. */
export const FORM_BYTES_MAX = 9 * SECRET_CHARS_MAX + 4_096;
/** How many uploads one front end accepts at once, in total and from one person. */
export const UPLOADS_MAX = 100;
export const OWN_UPLOADS_MAX = 10;

/** What people do around a question, which stays open. */
const HANDING_ON: ReadonlySet<string> = new Set(["delegate", "takeBack"]);
const JOINING: ReadonlySet<string> = new Set(["claim", "release", "comment", "askBack", "reply", ...HANDING_ON]);
/** The field of what is written to others. */
const SAID_IN: Readonly<Record<string, string | undefined>> = { comment: "text", askBack: "said", reply: "said" };
const isSnoozing = (action: string) => action === "unsnooze" || action.startsWith(SNOOZE);

export function asksRoute(
  scope: FastifyInstance,
  { frontEnd, addresses, seal, signatures, visitors, grants, visits, questions, titleOf, onward }: AsksRoute,
): void {
  const { services, limits } = frontEnd;

  formBodies(scope, FORM_BYTES_MAX);
  servesOnlyItsPerson(scope, signatures);
  // The handler reads the body as it arrives: see upload.ts.
  scope.addContentTypeParser("multipart/form-data", (_request, payload, done) => done(null, payload));
  const uploads = sharedGate({ what: "uploads", most: UPLOADS_MAX, own: { what: "uploads of this person", most: OWN_UPLOADS_MAX } });

  const refOf = (request: FastifyRequest) => {
    const { taskId, key } = parsePageAddress(request);
    return { taskId, key, caller: request.caller, door: DOOR };
  };

  scope.get(`${ASKS_PATH}/:taskId/*`, async (request, reply) => {
    await permit(frontEnd, request, "reads");
    const ref = refOf(request);
    const visit = await visitAsk(services, ref);
    if (visit.type === "of-others") return await questions.showToOthers(reply, { request, taskId: ref.taskId, page: visit.page });
    if (visit.type !== "open") return await noticeSettled({ services, titleOf, onward }, reply, ref, visit.type);
    // HEAD shows nothing.
    if (request.method === "GET") noteShown(services, ref, { id: ref.taskId, call: visit.page.call }, [visit.page.ask]);
    return show(request, reply, visit.page);
  });

  // The end of the address was lost on its way to the person.
  scope.get(`${ASKS_PATH}/:taskId`, () => {
    throw new ParleyError("TASK_NOT_FOUND", "no such page");
  });

  scope.post(`${ASKS_PATH}/:taskId/*`, async (request, reply) => {
    if (!isOwnForm(request, addresses)) return notice(reply, "foreign");
    await permit(frontEnd, request, "answers");
    const ref = refOf(request);
    const visit = await visitAsk(services, ref);
    const { body } = request;
    const action = body instanceof URLSearchParams ? (body.get("action") ?? "") : "";
    const mayJoin = JOINING.has(action) || isSnoozing(action);
    if (visit.type !== "open" && !(visit.type === "of-others" && mayJoin))
      return await noticeSettled({ services, titleOf, onward }, reply, ref, visit.type);
    const { page } = visit;
    if (page.required && !mayJoin && page.page.kind !== "form" && page.page.kind !== "link") return noticeLogin(reply, ref, page.required);
    if (page.page.kind === "files" && body === request.raw) return await upload(request, reply, { page, wanted: within(page.page) });
    if (!(body instanceof URLSearchParams)) return notice(reply, "unreadable");
    const [shown, token] = [body.get("shown"), body.get("token")];
    if (shown === null || token === null || !signatures.verify(formText(ref, shown), token)) return notice(reply, "stale");
    if (isSnoozing(action)) return await putAside(request, reply, { page, body });
    if (mayJoin) return await join(request, reply, { page, body });
    switch (action) {
      case "decline": {
        const reason = body.get("reason")?.replaceAll("\r\n", "\n").trim() ?? "";
        return page.page.kind === "form" || page.page.kind === "link"
          ? await questions.answer(request, reply, {
              ...ref,
              page,
              digest: shown,
              reply: { action: "decline", ...(reason !== "" && { reason }) },
              isInInbox: isInInbox(body),
            })
          : await settle(reply, { ...ref, digest: shown, answer: { action: "decline" } });
      }
      case "accept":
      case "yes":
      case "no":
        return await accept(request, reply, { page, shown, body });
      default:
        return notice(reply, "unreadable");
    }
  });

  /** What a person does around the question. Leads back to where they were. */
  async function join(request: FastifyRequest, reply: FastifyReply, { page, body }: Joining): Promise<FastifyReply> {
    const ref = refOf(request);
    const handed = body.get("action") === "delegate" ? readHandOn(readerOf(request), body) : undefined;
    if (handed && "problems" in handed) return await questions.show(reply, { request, taskId: ref.taskId, page }, { handOn: handed });
    const said = saidIn(body);
    if (said === "") return notice(reply, "blank");
    if (said !== undefined && said.length > COMMENT_CHARS_MAX) return notice(reply, "large");
    const joined = await joinedAs(request, body, { handed, said });
    switch (joined?.type) {
      case undefined:
        return notice(reply, "unreadable");
      case "full":
        return notice(reply, HANDING_ON.has(body.get("action") ?? "") ? "not-handed-on" : "full");
      case "not_asked":
        return notice(reply, "not-asked");
      case "not_allowed":
      case "accepted":
        return notice(reply, HANDING_ON.has(body.get("action") ?? "") ? "not-handed-on" : "not-asked");
      case "forbidden":
        return notice(reply, "of-others");
      case "late":
        return await noticeLate({ services, titleOf, onward }, reply, ref);
      default:
        return await lead(reply, ref, body);
    }
  }

  /** For this person alone. Leads back to where they were. */
  async function putAside(request: FastifyRequest, reply: FastifyReply, { page, body }: Joining): Promise<FastifyReply> {
    const ref = refOf(request);
    const reader = readerOf(request);
    const { snooze: words } = reader.texts;
    const read = body.get("action") === "unsnooze" ? "back" : readSnooze(reader, body, services.clock.now());
    if (!read) return notice(reply, "unreadable");
    const again = async (problem: string) => {
      const draft = { until: body.get("until")?.slice(0, 40) ?? "", problem };
      return await questions.show(reply, { request, taskId: ref.taskId, page }, { snooze: draft });
    };
    if (read !== "back" && "problem" in read) return await again(read.problem);
    const snoozed = read === "back" ? await unsnoozeAsk(services, ref) : await snoozeAsk(services, { ...ref, untilMs: read.untilMs });
    switch (snoozed.type) {
      case "snoozed":
      case "unsnoozed":
        return await lead(reply, ref, body);
      case "not_then":
        return await again(words.notThen);
      case "closes_before":
        return await again(filled(words.closes, { when: momentText(reader, snoozed.deadlineMs) }));
      case "full":
        return await again(filled(words.full, { count: SNOOZES_MAX }));
      case "forbidden":
        return notice(reply, "of-others");
      case "late":
        return await noticeLate({ services, titleOf, onward }, reply, ref);
    }
  }

  function lead(reply: FastifyReply, { taskId, key }: ReturnType<typeof refOf>, body: URLSearchParams): FastifyReply {
    return reply.redirect(isInInbox(body) ? inInbox(addresses, { taskId, key }) : pathAndQuery(addresses.urlOf(taskId, key)), 303);
  }

  /** Undefined if the form is none of those. */
  async function joinedAs(
    request: FastifyRequest,
    body: URLSearchParams,
    { handed, said: text = "" }: Written,
  ): Promise<Joined | undefined> {
    const ref = refOf(request);
    const { caller } = request;
    switch (body.get("action")) {
      case "claim":
        return await claimAsk(services, ref);
      case "release":
        return await releaseAsk(services, ref);
      case "delegate":
        return handed && (await delegateAsk(services, { ...ref, ...handed }));
      case "takeBack": {
        const [name = caller.principal] = caller.names;
        return await delegateAsk(services, { ...ref, to: { people: [name] }, reason: readerOf(request).texts.handOn.takenBack });
      }
      case "askBack":
        return await askBack(services, { ...ref, text });
      case "reply":
        return await replyToAsk(services, { ...ref, text });
      default:
        return await commentOnAsk(services, { ...ref, text });
    }
  }

  interface Written {
    readonly handed: HandingOn | undefined;
    readonly said: string | undefined;
  }

  /** What a person writes to others around the question, without what surrounds it. Undefined if the form writes nothing. */
  function saidIn(body: URLSearchParams): string | undefined {
    const field = SAID_IN[body.get("action") ?? ""];
    return field && (body.get(field)?.replaceAll("\r\n", "\n").trim() ?? "");
  }

  interface Joining {
    readonly page: OpenPage;
    readonly body: URLSearchParams;
  }

  interface Accepted {
    readonly page: OpenPage;
    /** Digest of the question that the person was shown. */
    readonly shown: string;
    readonly body: URLSearchParams;
  }

  async function accept(request: FastifyRequest, reply: FastifyReply, { page, shown, body }: Accepted): Promise<FastifyReply> {
    const ref = refOf(request);
    const { secret: words, files: wordsOfFiles } = readerOf(request).texts;
    switch (page.page.kind) {
      case "form":
        return await questions.accept(request, reply, { ...ref, page, digest: shown, body });
      case "link":
        return await questions.answer(request, reply, {
          ...ref,
          page,
          digest: shown,
          reply: { action: "accept" },
          isInInbox: isInInbox(body),
        });
      case "oauth":
        return await grants.begin(request, reply, { taskId: ref.taskId, page });
      case "visit":
        return visits.begin(request, reply, { taskId: ref.taskId, page });
      case "files":
        return show(request, reply, page, wordsOfFiles.empty);
      case "secret": {
        const secret = body.get("secret");
        if (secret === null) return notice(reply, "unreadable");
        if (secret === "") return show(request, reply, page, words.empty);
        if (secret.length > SECRET_CHARS_MAX) return show(request, reply, page, filled(words.long, { count: SECRET_CHARS_MAX }));
        const deposit = seal.seal(ref.taskId, ref.key, secret);
        return await settle(reply, { ...ref, digest: shown, answer: { action: "accept", content: { deposit: ref.key }, deposit } });
      }
    }
  }

  /** Limits the size that the tool allows to the size that the deployment allows. */
  function within(wanted: FilesWanted): FilesWanted {
    return { ...wanted, bytesMax: Math.min(wanted.bytesMax, limits.fileBytesMax) };
  }

  interface Uploading {
    readonly page: OpenPage;
    readonly wanted: FilesWanted;
  }

  async function upload(request: FastifyRequest, reply: FastifyReply, { page, wanted }: Uploading): Promise<FastifyReply> {
    const { files } = services;
    if (!files) throw new ParleyError("FILES_UNAVAILABLE", "this front end stores no files (PARLEY_FILES)");
    const ref = refOf(request);
    const hasToken = (fields: ReadonlyMap<string, string>) => signatures.verify(formText(ref, page.ask.digest), fields.get("token") ?? "");
    const leave = uploads.enter(request.caller);
    const uploaded = await receiveUpload(request, { taskId: ref.taskId, wanted, files, hasToken }).finally(leave);
    if (uploaded.type === "notice") return notice(reply, uploaded.name);
    if (uploaded.type === "problem")
      return show(request, reply, page, filled(readerOf(request).texts.files.refused[uploaded.what], uploaded.parts));
    const discard = () => Promise.all(uploaded.files.map(({ id }) => files.remove(ref.taskId, id)));
    // The only button of the form sends `accept`. A form with any other action is not consent.
    if ((uploaded.fields.get("action") ?? "accept") !== "accept") {
      await discard();
      return notice(reply, "unreadable");
    }
    if (uploaded.files.length === 0) return show(request, reply, page, readerOf(request).texts.files.empty);
    const content = { files: uploaded.files.map((file) => ({ ...file })) };
    const { type } = await leavePage(services, { ...ref, digest: page.ask.digest, answer: { action: "accept", content } });
    if (type === "accepted") return (await onward.lead(reply, ref)) ?? notice(reply, "accepted");
    await discard();
    return await noticeLate({ services, titleOf, onward }, reply, ref);
  }

  async function settle(reply: FastifyReply, request: Parameters<typeof leavePage>[1]): Promise<FastifyReply> {
    const { type } = await leavePage(services, request);
    if (type === "accepted" || type === "duplicate")
      return (await onward.lead(reply, request)) ?? notice(reply, request.answer.action === "accept" ? "accepted" : "declined");
    return await noticeLate({ services, titleOf, onward }, reply, request);
  }

  async function show(request: FastifyRequest, reply: FastifyReply, page: OpenPage, problem?: string): Promise<FastifyReply> {
    const { taskId } = refOf(request);
    const toShow = { request, taskId, page, ...(problem !== undefined && { problem }) };
    if (page.required) return await questions.show(reply, toShow);
    switch (page.page.kind) {
      case "form":
      case "link":
        return await questions.show(reply, toShow);
      case "visit":
        return visits.show(reply, toShow);
      case "oauth":
        return grants.show(reply, toShow);
      case "files":
        return sendShown(
          reply,
          toShow,
          filesPage({ wanted: within(page.page), shown: withFormToken({ signatures, titleOf, onward }, toShow) }),
        );
      case "secret":
        return sendShown(reply, toShow, secretPage(withFormToken({ signatures, titleOf, onward }, toShow)));
    }
  }

  showErrors(scope, frontEnd, visitors, async (request, needsLogin) =>
    isOwnForm(request, addresses) ? await keptForm(request, { bytesMax: FORM_BYTES_MAX, needsLogin }) : undefined,
  );
}
