/**
 * A question as its page and the inbox show it: its words, who asks and until when, and the form. It works without script.
 *
 * The texts of tools and people are in their own direction (`dir="auto"`, `<bdi>`), and are cut where a page would not end.
 */
import {
  aboutOf,
  type Ask,
  type Audience,
  type Caller,
  cut,
  isTestCall,
  type JsonObject,
  type Json,
  mayHandOn,
  type OpenPage,
  owns,
  type OwnWords,
  ownWords,
  REASON_CHARS_MAX,
  requiredOf,
  type RequiredAssurance,
  type SettledRead,
  shownName,
  upcomingPrompts,
  whoIs,
} from "@parley/core";
import { type Draft, fewChoices, type Input, type Problems, type Typed, untouched } from "@parley/web/form";
import { haste } from "@parley/web/times";
import type { TitleOf } from "../../front-end/tool-titles.ts";
import type { Texts } from "../../texts/en.ts";
import { distanceText, exactDurationText, filled, inNotes, inWords, type Reader } from "../../texts/texts.ts";
import { controlName, localMoment, type QuestionForm, questionForm } from "./form-body.ts";
import { contextView } from "./context-view.ts";
import { type Html, markup, say } from "./html.ts";
import { aroundView, type AroundView, heardView, nameOf } from "./around-view.ts";
import { type HandOnDraft, namesText, takeBackView } from "./hand-on.ts";
import { moment } from "./moment.ts";
import type { SnoozeDraft } from "./snooze.ts";
import { hiddenFields } from "./views.ts";
import { whoseCall } from "./whose-call.ts";

export interface QuestionView {
  readonly page: OpenPage;
  readonly caller: Caller;
  readonly reader: Reader;
  readonly nowMs: number;
  readonly titleOf: TitleOf;
  /** Proves that the form comes from a page that this person was shown. */
  readonly token: string;
  /** The address to which the form is sent. */
  readonly action: string;
  /** What people did around it. */
  readonly around?: Omit<AroundView, "joining" | "handOn" | "snooze"> | undefined;
  /** Of a question that the person must log in for, or do so again: where. Undefined if there is no login. */
  readonly logIn?: string | undefined;
  /** The person may read it and not answer. */
  readonly isOfOthers?: boolean;
  /** If the form answers several questions: what it sends to name them, how many there are, and in words. */
  readonly together?: { readonly hidden: Html; readonly count: number; readonly said: string } | undefined;
  /** Beside the list, to which a form without script returns. */
  readonly isInInbox?: boolean;
  /** Said first: about the answer that led to this question. */
  readonly before?: Html | undefined;
  /** What was typed and is shown again. */
  readonly draft?: Draft | undefined;
  readonly problems?: Problems | undefined;
  readonly handOn?: HandOnDraft | undefined;
  readonly snooze?: SnoozeDraft | undefined;
}

/** Longest shown message and longest shown name. The rest can be read by the client that asked. */
const MESSAGE_CHARS_MAX = 100_000;
const NAMES_MAX = 6;
const BUTTON_CHARS_MAX = 40;
const LONG = 1_500;

export function questionView(view: QuestionView): Html {
  const { page: asked, reader } = view;
  const { texts } = reader;
  const { said: words, step, problem } = wordsOf(asked);
  const said = cut(words, MESSAGE_CHARS_MAX);
  const isLong = said.length > LONG;
  const answering =
    view.isOfOthers === true
      ? undefined
      : asked.required
        ? logInView(reader, { required: asked.required, logIn: view.logIn })
        : asked.page.kind === "form"
          ? form(view)
          : asked.page.kind === "link"
            ? link(view, asked.page)
            : elsewhere(view);
  const region = isLong ? markup` tabindex="0" role="region" aria-label="${texts.record.question}"` : undefined;
  // An answer that the tool did not accept has arrived, but that is not what the person wants to know of it.
  return markup`${problem === undefined ? view.before : undefined}
${step && markup`<p class="quiet">${filled(texts.question.step, { number: step.number, count: step.count })}</p>`}
<p class="said${isLong ? " long" : ""}" id="said" dir="auto"${region}>${said}</p>
${view.isOfOthers === true ? waits(view) : undefined}
${facts(view)}
${contextView(reader.texts, aboutOf(asked.ask.request)?.context ?? [])}
${view.around && heardView(reader, view.around)}
${asked.ask.tally?.mine === true ? markup`<p class="done">${texts.question.quorumMine}</p>` : undefined}
${answering}
${around(view)}`;
}

/** The title of the page of a question that the person may read and not answer. */
export function waitsTitle({ handOn, question }: Texts, { gone }: Pick<AroundView, "gone">): string {
  return gone ? handOn.givenTitle : question.waitsTitle;
}

/** For whom it waits, said to those who may not answer it. */
function waits(view: QuestionView): Html {
  const {
    page: { ask, call },
    reader,
    caller,
    action,
    around: known,
  } = view;
  const { texts } = reader;
  const gone = known?.gone;
  if (!gone) {
    const names = ask.audience ? toText(texts, ask.audience) : texts.question.forOthers;
    return markup`<p class="done waits">${say(texts.question.waits, { names, when: moment(reader, ask.deadlineMs) })}</p>`;
  }
  const { by, to = {}, reason = "", atMs } = gone;
  const sentence = by === undefined || by.isCaller ? texts.handOn.given : texts.handOn.goneTo;
  const names = {
    to: markup`<bdi>${namesText(reader, to)}</bdi>`,
    name: markup`<bdi translate="no">${by === undefined ? "" : nameOf(reader, by)}</bdi>`,
  };
  const mayTakeBack = mayHandOn(caller, { call }, ask) !== undefined;
  return markup`<p class="done waits">${say(sentence, names)}</p>
<dl class="facts"><dt>${texts.handOn.reason}</dt><dd dir="auto">${reason}</dd>${atMs === undefined ? undefined : markup`<dt>${texts.record.when}</dt><dd>${moment(reader, atMs)}</dd>`}</dl>
${mayTakeBack ? takeBackView(reader, { action, hidden: hiddenOf(view) }) : undefined}`;
}

function hiddenOf({ page: { ask }, token, isInInbox = false }: QuestionView): Html {
  return markup`${hiddenFields(ask.digest, token)}${isInInbox ? markup`<input type="hidden" name="back" value="inbox">` : undefined}`;
}

/** Of a question that asks nobody else, nobody else would hear. */
function around(view: QuestionView): Html | undefined {
  const {
    page: { ask, call },
    reader,
    caller,
    action,
    around: known,
    isOfOthers = false,
    handOn: draft,
    nowMs,
    snooze,
  } = view;
  if (!known) return undefined;
  const { delegations = [], escalatedTo = [] } = ask.thread ?? {};
  const isAlone = ask.audience === undefined && delegations.length + escalatedTo.length === 0;
  const mayHand =
    !isOfOthers && aboutOf(ask.request)?.allow?.includes("delegate") === true && mayHandOn(caller, { call }, ask) !== undefined;
  const hidden = hiddenOf(view);
  return aroundView(reader, {
    ...known,
    joining:
      isAlone || caller.authenticatedBy === "nobody"
        ? undefined
        : { action, hidden, mayClaim: !isOfOthers, askingBack: askingBackOf(view) },
    handOn: mayHand ? { action, hidden, draft } : undefined,
    snooze: isOfOthers ? undefined : { action, hidden, nowMs, deadlineMs: ask.deadlineMs, draft: snooze },
  });
}

function askingBackOf({ page: { ask, call }, caller, isOfOthers = false }: QuestionView): "ask" | "reply" | undefined {
  if (owns(caller, call)) return ask.thread?.askedBack ? "reply" : undefined;
  const mayAsk = !isOfOthers && ask.tally?.mine !== true;
  return mayAsk && aboutOf(ask.request)?.allow?.includes("askBack") === true ? "ask" : undefined;
}

function facts({ page: asked, caller, reader, nowMs, around: known, titleOf }: QuestionView): Html {
  const { ask, call } = asked;
  const got = known?.got;
  const { texts } = reader;
  const { question } = texts;
  const tool = markup`<strong><bdi>${titleOf(call)}</bdi></strong>`;
  const by = whoseCall(caller, call);
  const from = { nobodys: question.fromTool, yours: question.fromYou, others: question.fromOther, named: question.fromNamed }[by.whose];
  const name = by.whose === "named" ? markup`<strong><bdi translate="no">${by.name}</bdi></strong>` : undefined;
  const then = whatThen(question, ask);
  const { priority, dueMs } = aboutOf(ask.request) ?? {};
  const { reminded, escalatedTo: alsoAsked } = ask.thread ?? {};
  // What it needs at present stands where the form would be.
  const required = asked.required ? undefined : requiredOf(ask);
  return markup`<dl class="facts">
<dt>${question.from}</dt><dd>${say(from, { tool, name })}</dd>
${got?.by && markup`<dt>${texts.handOn.by}</dt><dd><bdi translate="no">${nameOf(reader, got.by)}</bdi>: <span dir="auto">${got.reason ?? ""}</span></dd>`}
${ask.audience && markup`<dt>${question.for}</dt><dd>${audienceText(texts, ask.audience)}${quorumText(texts, ask)}</dd>`}
${alsoAsked && markup`<dt>${question.alsoAsked}</dt><dd><bdi>${alsoAsked.map((to) => toText(texts, { to })).join("; ")}</bdi></dd>`}
${required && markup`<dt>${texts.assurance.needs}</dt><dd>${requiredText(reader, required)}</dd>`}
<dt>${question.since}</dt><dd>${moment(reader, ask.askedAtMs)}</dd>
${reminded && markup`<dt>${question.reminded}</dt><dd>${moment(reader, reminded.atMs)}</dd>`}
${comes(reader, ask)}
${priority && markup`<dt>${question.priority}</dt><dd><strong>${question.priorities[priority]}</strong></dd>`}
${dueMs === undefined ? undefined : markup`<dt>${question.dueBy}</dt><dd>${moment(reader, ask.askedAtMs + dueMs)}${ask.askedAtMs + dueMs <= nowMs ? markup` <span class="tag soon">${texts.inbox.overdue}</span>` : undefined}</dd>`}
<dt>${question.until}</dt><dd>${moment(reader, ask.deadlineMs)} <span class="tag ${haste(ask.deadlineMs - nowMs)}" data-until="${ask.deadlineMs}">${distanceText(reader, ask.deadlineMs - nowMs)}</span>; ${then}</dd>
</dl>`;
}

/** What comes while nobody answers. Of several reminders only the next, so that an escalation is not lost among them. */
function comes(reader: Reader, ask: Ask): Html | undefined {
  const { texts } = reader;
  const { question } = texts;
  const upcoming = upcomingPrompts(ask);
  const next = upcoming.find(({ what }) => what === "reminded");
  const lines = upcoming.flatMap((each) => {
    const when = moment(reader, each.atMs);
    if (each.to !== undefined) return [say(question.asksOn, { when, names: markup`<bdi>${toText(texts, { to: each.to })}</bdi>` })];
    return each === next ? [say(question.remindsOn, { when })] : [];
  });
  if (lines.length === 0) return undefined;
  return markup`<dt>${question.unanswered}</dt><dd>${lines.map((line, index) => markup`${index === 0 ? undefined : markup`<br>`}${line}`)}</dd>`;
}

/** The first line, and what follows it in one line. An approval begins with what it is about, and goes on with the tool and its arguments. */
export function headline(message: string): readonly [first: string, rest: string] {
  const text = message.trim();
  const end = text.search(/[\r\n]/);
  return end === -1 ? [text, ""] : [text.slice(0, end), text.slice(end).replaceAll(/\s+/g, " ").trim()];
}

function audienceText(texts: Texts, audience: Audience): string {
  return audience.not === "caller" ? `${toText(texts, audience)}; ${texts.question.notCaller}` : toText(texts, audience);
}

export function toText({ question }: Texts, { to }: Pick<Audience, "to">): string {
  if (to === "tenant") return question.forTenant;
  const names = (of: readonly string[]) => `${of.slice(0, NAMES_MAX).join(", ")}${of.length > NAMES_MAX ? " …" : ""}`;
  return [
    ...(to.people?.length ? [filled(question.forPeople, { names: names(to.people.map(shownName)) })] : []),
    ...(to.groups?.length ? [filled(question.forGroups, { names: names(to.groups) })] : []),
    ...(to.roles?.length ? [filled(question.forRoles, { names: names(to.roles) })] : []),
  ].join("; ");
}

function quorumText({ question }: Texts, { audience, tally, accepted }: Ask): string {
  const count = audience?.quorum;
  if (count === undefined) return "";
  const soFar = tally?.accepted ?? accepted?.acceptances.length ?? 0;
  return `; ${filled(question.quorum, { count })}${soFar === 0 ? "" : `; ${filled(question.quorumSoFar, { accepted: soFar, count })}`}`;
}

function whatThen(question: Texts["question"], { onTimeout }: Ask): string {
  switch (onTimeout) {
    case "cancel":
      return question.thenCancel;
    case "decline":
      return question.thenDecline;
    case "fail":
      return question.thenFail;
    default:
      return filled(question.thenDefault, { answer: Object.values(onTimeout.default).map(shortly).join(", ") });
  }
}

function shortly(value: Json): string {
  return cut(typeof value === "string" ? value : JSON.stringify(value), 100);
}

export function form(view: QuestionView): Html {
  const { page: asked, reader, action, together } = view;
  const { texts } = reader;
  if (asked.page.kind !== "form") throw new TypeError("the page has no form");
  const { schema, hints } = asked.page;
  const made = questionForm({ schema, ...(hints && { hints }), quorum: asked.ask.audience?.quorum });
  // What the person is typing has other problems, or none.
  const isAgain = view.draft === undefined && view.problems === undefined;
  const problems = isAgain ? problemsOf(asked) : (view.problems ?? {});
  const count = Object.keys(problems).length;
  const many = count === 1 ? texts.question.problemsOne : filled(texts.question.problems, { count });
  const { "": general } = problems;
  const fault =
    count === 0
      ? undefined
      : markup`<div class="alert" role="alert"${isAgain ? undefined : markup` id="problems"`}><p>${isAgain ? texts.question.again : many}</p>
${general === undefined ? undefined : markup`<p dir="auto">${inWords(reader, general)}</p>`}</div>`;
  return markup`<form class="flow question" method="post" action="${action}" novalidate data-drafts${together && markup` data-said="${together.said}"`}${made.isRisky ? markup` data-risky` : undefined}${isWayBack(made.hints) ? markup` data-back` : undefined}${isPassing(made.hints) && !together ? markup` data-passing` : undefined}>
${together?.hidden ?? hiddenOf(view)}<input type="hidden" name="zone" value="${zoneOf(reader)}">
${fault}
${made.isRisky ? markup`<p class="risk">${made.isFilledIn ? texts.question.riskFilledIn : texts.question.risk}</p>` : undefined}
${made.isConfirm ? confirmNotes(reader, made, problems) : markup`<div class="fields">${made.inputs.map((input, index) => field({ ...view, problems }, input, index))}</div>`}
${made.isConfirm ? confirmButtons(texts, made, together?.count) : markup`${isWayBack(made.hints) ? undefined : why(texts)}${buttons(texts, made, together?.count)}`}
</form>`;
}

/** What the author says, and what Parley has added to it. */
export function wordsOf({ message, page }: Pick<OpenPage, "message" | "page">): OwnWords {
  const isAgain = page.kind === "form" && page.hints?.["problems"] !== undefined;
  return ownWords(message, { isAgain, isForFiles: page.kind === "files" });
}

/** Of a form that is asked again: what was wrong with the last answer, at the fields as far as it is known. */
function problemsOf({ message, page }: OpenPage): Problems {
  const { problem } = wordsOf({ message, page });
  if (problem === undefined || page.kind !== "form") return {};
  const at = Object.entries((page.hints?.["problems"] ?? {}) as JsonObject).filter(
    (each): each is [string, string] => typeof each[1] === "string",
  );
  return at.length === 0 ? { "": problem } : Object.fromEntries(at);
}

/** A page of a wizard that the person can come back to: it is sent at once, and nothing needs to be taken back. */
function isPassing({ step }: JsonObject = {}): boolean {
  const { number, count } = (step ?? {}) as JsonObject;
  return typeof number === "number" && typeof count === "number" && number < count;
}

/** A page of a wizard that has one before it: declining it goes there. */
export function isWayBack(hints: JsonObject = {}): boolean {
  return hints["back"] === true;
}

/** Asked of those who decline. Folded, so that it is in nobody's way. */
function why({ question }: Texts): Html {
  return markup`<details class="why"><summary>${question.why}</summary>
<div class="field"><label for="reason">${question.reason}</label><textarea id="reason" name="reason" rows="2" dir="auto" maxlength="${REASON_CHARS_MAX}" aria-describedby="reason-note"></textarea>
<p class="quiet" id="reason-note">${question.reasonNote}</p></div></details>
`;
}

/** Two buttons with the author's words. A third one, which refuses to say yes or no, would only be another no. */
function confirmButtons({ question }: Texts, { hints, isRisky }: QuestionForm, count: number | undefined): Html {
  const yes = label(hints["submitLabel"], question.yes);
  const no = label(hints["cancelLabel"], question.no);
  return markup`<div class="actions"><button class="${isRisky ? "danger" : "main"}" name="action" value="yes" data-key="a"><bdi>${yes}</bdi>${times(count)}</button><button name="action" value="no" data-key="d"><bdi>${no}</bdi>${times(count)}</button></div>`;
}

function confirmNotes(reader: Reader, { inputs: [input], hints }: QuestionForm, problems: Problems): Html | undefined {
  if (!input) return undefined;
  const { [input.name]: problem } = problems;
  // The words on the buttons say it already.
  const hasWords = typeof hints["submitLabel"] === "string" || typeof hints["cancelLabel"] === "string";
  const said = hasWords
    ? undefined
    : markup`<p dir="auto"><strong>${input.label}</strong>${input.description === undefined ? "" : ` · ${inNotes(reader, input.description)}`}</p>`;
  return markup`${said}
${problem === undefined ? undefined : markup`<p class="problem" dir="auto">${inWords(reader, problem)}</p>`}`;
}

/** To how many questions a button answers. */
function times(count: number | undefined): string {
  return count === undefined ? "" : ` (${count})`;
}

function buttons({ question }: Texts, { hints, isRisky, inputs }: QuestionForm, count: number | undefined): Html {
  const send = label(hints["submitLabel"], isPassing(hints) ? question.next : inputs.length === 0 ? question.accept : question.answer);
  const decline = label(hints["cancelLabel"], isWayBack(hints) ? question.back : question.decline);
  return markup`<div class="actions"><button class="${isRisky ? "danger" : "main"}" name="action" value="accept" data-key="a"><bdi>${send}</bdi>${times(count)}</button><button name="action" value="decline" data-key="d" formnovalidate><bdi>${decline}</bdi>${times(count)}</button></div>`;
}

function label(hint: Json | undefined, otherwise: string): string {
  return typeof hint === "string" && hint.trim() !== "" ? cut(hint, BUTTON_CHARS_MAX) : otherwise;
}

function link(view: QuestionView, page: { readonly url: string; readonly isReported: boolean }): Html {
  const { reader, action } = view;
  const { question } = reader.texts;
  const url = URL.parse(page.url);
  const canOpen = url?.protocol === "https:" || url?.protocol === "http:";
  const isEncoded = url?.host.split(".").some((part) => part.startsWith("xn--")) === true;
  return markup`<div class="flow"><p>${question.linkTo}</p>
<p class="host" translate="no"><bdi>${url?.host ?? ""}</bdi></p>
${isEncoded ? markup`<p class="risk">${question.linkEncoded}</p>` : undefined}
${url?.protocol === "http:" ? markup`<p class="risk">${question.linkPlain}</p>` : undefined}
<p class="quiet"><code translate="no">${cut(page.url, 2_000)}</code></p>
${canOpen ? markup`<p><a class="button main" href="${url.href}" target="_blank" rel="noopener noreferrer">${question.linkOpen}</a></p>` : markup`<p class="bad">${question.linkRefused}</p>`}</div>
<form class="question" method="post" action="${action}">
${hiddenOf(view)}
${why(reader.texts)}<div class="actions"><button name="action" value="accept" data-key="a">${page.isReported ? question.linkGo : question.linkDone}</button><button name="action" value="decline" data-key="d">${question.decline}</button></div>
</form>`;
}

/** In place of the form, or below the notice that an answer was not taken. */
export function logInView(
  reader: Reader,
  { required, logIn }: { readonly required: RequiredAssurance; readonly logIn: string | undefined },
): Html {
  const { assurance: words } = reader.texts;
  const needs = requiredText(reader, required);
  if (logIn === undefined) return markup`<p class="risk">${words.noLogin} ${needs}</p>`;
  return markup`<p class="risk">${needs}</p>
<p><a class="button main" href="${logIn}" data-key="a">${words.again}</a></p>`;
}

/** How the person must have logged in, in a sentence. */
function requiredText(reader: Reader, { withinMs, acr, amr }: RequiredAssurance): string {
  const { assurance: words } = reader.texts;
  return [
    withinMs === undefined ? words.login : filled(words.within, { time: exactDurationText(reader, withinMs) }),
    ...(acr ? [filled(words.acr, { values: acr.join(", ") })] : []),
    ...(amr ? [filled(words.amr, { values: amr.join(", ") })] : []),
  ].join(" ");
}

/** In the inbox, for what only its own page may collect. */
function elsewhere({ reader, action }: QuestionView): Html {
  const { question } = reader.texts;
  return markup`<p>${question.elsewhere}</p>
<p><a class="button main" href="${action}" data-key="a">${question.elsewhereOpen}</a></p>`;
}

function field({ reader, draft, problems = {} }: QuestionView, input: Input, index: number): Html {
  const { texts } = reader;
  const name = controlName(index);
  const typed = draft && Object.hasOwn(draft, input.name) ? (draft[input.name] ?? "") : initial(input, reader);
  const problem = Object.hasOwn(problems, input.name) ? inWords(reader, problems[input.name] ?? "") : undefined;
  const zone = input.control === "datetime" ? filled(texts.question.moment, { zone: zoneOf(reader) }) : "";
  const format = input.control === "lines" ? texts.question.lines : input.control === "json" ? texts.question.json : "";
  // The form names the zone of the person who reads it, which is the server's here.
  const hint = input.control === "datetime" ? "" : inWords(reader, input.hint);
  const notes = [inNotes(reader, input.description), hint, format, zone].filter(Boolean).join(" · ");
  const describedBy = [notes && `${name}-notes`, problem !== undefined && `${name}-problem`].filter(Boolean).join(" ");
  const described = describedBy === "" ? undefined : markup` aria-describedby="${describedBy}"`;
  const invalid = problem === undefined ? undefined : markup` aria-invalid="true"`;
  const said = markup`${notes === "" ? undefined : markup`<p class="quiet" id="${name}-notes" dir="auto">${cut(notes, 2_000)}</p>`}
${problem === undefined ? undefined : markup`<p class="problem" id="${name}-problem" dir="auto">${problem}</p>`}`;
  const words = markup`<span dir="auto">${input.isRest ? inWords(reader, input.label) : input.label}</span>${input.isRequired ? undefined : markup` <span class="optional">${texts.question.optional}</span>`}`;
  // Browsers tell screen readers that a required control is wrong while it is still empty.
  const common = markup`${described}${invalid ?? markup` aria-invalid="false"`}${input.isRequired ? markup` aria-required="true"` : undefined}`;

  const { yes, no, noChoice: none } = texts.question;
  const few = fewChoices(input, { yes, no, none, titleOf: (choice) => titled(texts, choice) });
  if (few !== undefined) {
    const required = input.isRequired ? markup` required` : undefined;
    return markup`<fieldset class="field" role="radiogroup"${described}${invalid}${input.isRequired ? markup` aria-required="true"` : undefined}><legend>${words}</legend>
<div class="choices">${few.map(([value, title]) => markup`<label class="choice"><input type="radio" name="${name}" value="${value}"${required}${typed === value ? markup` checked` : undefined}> <span dir="auto">${title}</span></label>`)}</div>
${said}</fieldset>`;
  }
  if (input.control === "checks") {
    const chosen: readonly string[] = Array.isArray(typed) ? typed : [];
    return markup`<fieldset class="field"${described}><legend>${words}</legend>
<div class="choices"${input.choices.length > 12 ? markup` tabindex="0" role="region" aria-label="${input.label}"` : undefined}>${input.choices.map(
      (choice) =>
        markup`<label class="choice"><input type="checkbox" name="${name}" value="${choice.value}"${invalid}${chosen.includes(choice.value) ? markup` checked` : undefined}> <span dir="auto">${titled(texts, choice)}</span></label>`,
    )}</div>
${said}</fieldset>`;
  }
  if (input.control === "checkbox") {
    return markup`<div class="field"><label class="choice"><input type="checkbox" id="${name}" name="${name}" value="true"${described}${invalid}${typed === true ? markup` checked` : undefined}> ${words}</label>
${said}</div>`;
  }
  return markup`<div class="field"><label for="${name}">${words}</label>
${control({ texts, input, name, typed, common })}
${said}</div>`;
}

/** The zone in which moments are typed. It is sent with the form, because the person may have another when they send it. */
function zoneOf({ zone = "UTC" }: Reader): string {
  return zone;
}

function initial(input: Input, reader: Reader): Typed {
  const preset = input.default;
  return input.control === "datetime" && typeof preset === "string" ? localMoment(preset, zoneOf(reader)) : untouched(input);
}

interface ControlView {
  readonly texts: Texts;
  readonly input: Input;
  readonly name: string;
  readonly typed: Typed;
  readonly common: Html;
}

const TYPES: Readonly<Record<string, string>> = { email: "email", url: "url", date: "date", datetime: "datetime-local" };

function control({ texts: { question }, input, name, typed, common }: ControlView): Html {
  const text = typeof typed === "string" ? typed : "";
  const required = input.isRequired ? markup` required` : undefined;
  const option = (value: string, title: string) =>
    markup`<option value="${value}"${value === text ? markup` selected` : undefined}>${title}</option>`;
  const texts = { question } as Texts;
  switch (input.control) {
    case "area":
    case "json":
    case "lines":
      // A browser drops the first line break in the element.
      return markup`<textarea id="${name}" name="${name}" rows="${input.control === "json" ? 6 : 4}" dir="auto"${required}${lengths(input)}${common}>\n${text}</textarea>`;
    case "select":
      return markup`<select id="${name}" name="${name}"${required}${common}>${option("", input.isRequired ? question.choose : question.noChoice)}${input.choices.map((choice, index) => option(String(index), titled(texts, choice)))}</select>`;
    case "number":
      return markup`<input id="${name}" name="${name}" value="${text}" inputmode="${input.kind === "integer" ? "numeric" : "decimal"}" autocomplete="off"${required}${ranges(input)}${common}>`;
    default: {
      const type = TYPES[input.control] ?? "text";
      const step = input.control === "datetime" ? markup` step="1"` : undefined;
      return markup`<input id="${name}" name="${name}" type="${type}" value="${text}" autocomplete="off" dir="${type === "text" ? "auto" : "ltr"}"${step}${required}${lengths(input)}${common}>`;
    }
  }
}

function lengths({ schema: { minLength, maxLength } }: Input): Html | undefined {
  const least = typeof minLength === "number" ? markup` minlength="${minLength}"` : undefined;
  return typeof maxLength === "number" ? markup`${least} maxlength="${maxLength}"` : least;
}

/** For the script, which checks them before it sends. The control itself takes text, because people write numbers in many ways. */
function ranges({ schema: { minimum, maximum } }: Input): Html | undefined {
  const least = typeof minimum === "number" ? markup` data-min="${minimum}"` : undefined;
  return typeof maximum === "number" ? markup`${least} data-max="${maximum}"` : least;
}

function titled(
  { question }: Pick<Texts, "question">,
  { value, title = value }: { readonly value: string; readonly title?: string },
): string {
  return title.trim() === "" ? question.blank : title;
}

/** How it ended, in a sentence. `hasAnswers`: they follow. */
function endText({ texts: { record } }: Reader, { end, by, answer, owner, acceptedBy }: SettledRead, hasAnswers: boolean): string {
  const isOwner = by?.principal === owner.principal;
  const who = by?.isCaller === true || answer !== undefined ? "you" : by?.name !== undefined ? "named" : isOwner ? "owner" : "other";
  const name = by?.name ?? "";
  const ends: Readonly<Record<SettledRead["end"], string>> = {
    accepted: {
      you: hasAnswers ? record.youAnswered : record.youAccepted,
      named: filled(record.namedAnswered, { name }),
      owner: record.ownerAnswered,
      other: record.otherAnswered,
    }[who],
    answered: record.answered,
    declined: {
      you: record.youDeclined,
      named: filled(record.namedDeclined, { name }),
      owner: record.ownerDeclined,
      other: record.otherDeclined,
    }[who],
    cancelled: record.cancelled,
    timed_out: record.timedOut,
    withdrawn: record.withdrawn,
    closed: record.ended,
  };
  return `${ends[end]}${acceptedBy ? ` ${filled(record.quorum, { count: acceptedBy.length })}` : ""}`;
}

/** One line of a list: how it ended, and what the person answered. */
export function settledLine(reader: Reader, settled: SettledRead): string {
  const content = typedContent(settled) ?? {};
  const values = filesIn(content)
    ? []
    : Object.values(content)
        .map((value) => valueText(reader.texts, value, undefined))
        .slice(0, LINE_VALUES_MAX);
  const said = endText(reader, settled, values.length > 0);
  return values.length === 0 ? said : cut(`${said.replace(/[.]$/, "")}: ${values.join(", ")}`, LINE_CHARS_MAX);
}

/** What the person typed or chose. What a page keeps apart from the answer is only named in it, in words of this server (leavePage). */
function typedContent({ answer, key }: SettledRead): JsonObject | undefined {
  const content = answer?.action === "accept" ? answer.content : undefined;
  const isApart = content && (content["deposit"] === key || Object.keys(content).toSorted().join() === "consent,provider,scopes");
  return isApart ? undefined : content;
}

const LINE_VALUES_MAX = 5;
const LINE_CHARS_MAX = 200;

/** How a question ended, for those who may know. */
export function settledRecord(reader: Reader, settled: SettledRead, titleOf: TitleOf): Html {
  const { called, owner, answer, atMs, reason, delegatedBy } = settled;
  const { record } = reader.texts;
  const content = typedContent(settled);
  const answers = content && answerList(reader, content, undefined);
  const why = (answer?.action === "decline" ? answer.reason : undefined) ?? reason;
  return markup`<p class="done">${endText(reader, settled, answers !== undefined)}</p>
${settled.isTest && testNotice(reader)}
${answers}
<dl class="facts">${why === undefined ? undefined : markup`<dt>${record.reason}</dt><dd dir="auto">${why}</dd>`}${delegatedBy && markup`<dt>${record.inPlaceOf}</dt><dd><bdi translate="no">${nameOf(reader, delegatedBy)}</bdi></dd>`}<dt>${record.tool}</dt><dd><bdi>${titleOf(called)}</bdi></dd>${inCallOf(reader, owner.isCaller ? undefined : whoIs(owner))}${atMs === undefined ? undefined : markup`<dt>${record.when}</dt><dd>${moment(reader, atMs)}</dd>`}</dl>
${settled.comments.length === 0 ? undefined : heardView(reader, settled)}
${aroundView(reader, settled)}`;
}

/** Of a question that was to show whether people look. */
export function testNotice({ texts }: Reader): Html {
  return markup`<p class="risk" data-lesson>${texts.record.test}</p>`;
}

/** That it was a test, once nobody is asked any more: with a quorum, others still are after an answer that counted. */
export function lesson(
  reader: Reader,
  { call, ask }: OpenPage,
  became: { readonly type: string; readonly missing?: number },
): Html | undefined {
  const isOver =
    became.type === "accepted" ? (became.missing ?? 0) === 0 : became.type === "duplicate" && ask.audience?.quorum === undefined;
  return isOver && isTestCall(call) ? testNotice(reader) : undefined;
}

/** For a list of facts: whose call it was, if that is known and it was not the reader's own. */
export function inCallOf({ texts: { record } }: Reader, name: string | undefined): Html | undefined {
  return name === undefined ? undefined : markup`<dt>${record.inCallOf}</dt><dd><bdi translate="no">${name}</bdi></dd>`;
}

/** What somebody answered, in the words of the form. */
export function answerList(reader: Reader, content: JsonObject, schema: JsonObject | undefined): Html | undefined {
  const { texts } = reader;
  const files = filesIn(content);
  if (files) return fileList(reader, files);
  const inputs = schema === undefined ? [] : questionForm({ schema, quorum: undefined }).inputs;
  const rows = Object.entries(content).map(([name, value]) => {
    const input = inputs.find((each) => each.name === name);
    return markup`<dt><span dir="auto">${cut(input?.label ?? name, 200)}</span></dt><dd dir="auto">${valueText(texts, value, input)}</dd>`;
  });
  return rows.length === 0 ? undefined : markup`<dl class="facts">${rows}</dl>`;
}

/** The files that were uploaded, if the answer is files. Only their page makes such an answer. */
function filesIn({ files, ...others }: JsonObject): readonly JsonObject[] | undefined {
  const isFile = (each: Json) =>
    typeof each === "object" && each !== null && "name" in each && "sha256" in each && typeof each["size"] === "number";
  if (!Array.isArray(files) || files.length === 0 || Object.keys(others).length > 0 || !files.every(isFile)) return undefined;
  return files as readonly JsonObject[];
}

function fileList({ locale }: Reader, files: readonly JsonObject[]): Html {
  const size = (bytes: Json | undefined) =>
    new Intl.NumberFormat(locale, { style: "unit", unit: "kilobyte", maximumFractionDigits: 1 }).format(Number(bytes) / 1_000);
  return markup`<ul class="files">${files.map((file) => markup`<li><bdi translate="no">${cut(typeof file["name"] === "string" ? file["name"] : "", 300)}</bdi> <span class="quiet">${size(file["size"])}</span></li>`)}</ul>`;
}

function valueText(texts: Texts, value: Json, input: Input | undefined): string {
  const { record } = texts;
  if (value === null || value === "") return record.empty;
  if (typeof value === "boolean") return value ? record.yes : record.no;
  if (Array.isArray(value))
    return value.length === 0 ? record.empty : cut(value.map((each) => valueText(texts, each, input)).join(", "), 2_000);
  if (typeof value !== "string") return cut(JSON.stringify(value), 2_000);
  const choice = input?.choices.find((each) => each.value === value);
  return cut(choice ? titled(texts, choice) : value, 2_000);
}
