/** The markup of the page of approvals. */
import type { ApprovalReport, ReportedRule } from "@parley/approvals";
import type { Caller, StandingApproval } from "@parley/core";
import type { Account } from "../../front-end/visitors.ts";
import { durationText, filled, type Reader } from "../../texts/texts.ts";
import { contextView } from "../asks/context-view.ts";
import { type Html, markup, page, say } from "../asks/html.ts";
import { moment } from "../asks/moment.ts";
import { inboxLink, loggedInAs } from "../asks/views.ts";

export interface ApprovalsView {
  readonly reader: Reader;
  readonly approvals: readonly {
    readonly approval: StandingApproval;
    /** Proves that the form comes from a page that this person was shown. */
    readonly token: string;
  }[];
  /** For operators. */
  readonly figures: Figures | undefined;
  readonly caller: Caller;
  readonly account: Account | undefined;
  /** What was just done. */
  readonly done?: string;
  readonly problem?: string;
}

interface Figures extends Pick<ApprovalReport, "rules" | "isMoreWaiting"> {
  readonly days: number;
  readonly quickMs: number;
}

export function approvalsPage({ reader, approvals: listed, figures, caller, account, done, problem }: ApprovalsView): string {
  const { approvals } = reader.texts;
  const said = done === undefined ? undefined : markup`<p class="done" role="status">${done}</p>`;
  const fault = problem === undefined ? undefined : markup`<p class="alert" role="alert">${problem}</p>`;
  const list =
    listed.length === 0
      ? markup`<p>${approvals.none}</p>`
      : markup`<p>${approvals.some}</p>
<ul class="list">${listed.map((each) => standing(reader, caller, each))}</ul>`;
  const decided = figures && figuresView(reader, figures);
  return page(
    { reader, title: approvals.title },
    markup`${said}${fault}${list}${decided}${inboxLink(reader)}${loggedInAs(reader.texts, caller, account)}`,
  );
}

function standing(reader: Reader, caller: Caller, { approval, token }: ApprovalsView["approvals"][number]): Html {
  const { approvals } = reader.texts;
  const { id, title, tool, principal, by, grantedAtMs, untilMs, uses, left } = approval;
  const isOfCaller = principal === caller.principal;
  const whose = isOfCaller ? (by === caller.principal ? approvals.own : approvals.yours) : approvals.given;
  const name = (text: string) => markup`<bdi translate="no">${text}</bdi>`;
  return markup`<li>
<h2 dir="auto">${title}</h2>
<p>${say(whose, { tool: markup`<strong translate="no">${tool}</strong>`, by: name(by), caller: name(principal) })}</p>
<p class="quiet">${say(approvals.times, { granted: moment(reader, grantedAtMs), left, uses, ends: moment(reader, untilMs) })}</p>
<form method="post">
<input type="hidden" name="approval" value="${id}"><input type="hidden" name="granted" value="${String(grantedAtMs)}"><input type="hidden" name="token" value="${token}">
<div class="actions"><button name="action" value="end">${filled(approvals.end, { title })}</button></div>
</form>
</li>`;
}

function figuresView(reader: Reader, { rules, isMoreWaiting, days, quickMs }: Figures): Html | undefined {
  const { texts } = reader;
  const { approvals } = texts;
  if (rules.length === 0) return markup`<p>${filled(approvals.noFigures, { days })}</p>`;
  const { columns } = approvals;
  const names = { ...columns, quick: filled(columns.quick, { time: durationText(reader, quickMs) }) };
  const rowOf = ({ medianMs, people, tests, ...rule }: ReportedRule): (string | number)[] => [
    rule.rule,
    rule.asked,
    rule.approved,
    rule.refused,
    rule.expired,
    medianMs === undefined ? "" : durationText(reader, Math.max(1_000, medianMs)),
    rule.quick,
    people.map((each) => filled(approvals.decider, { name: each.principal, yes: each.approved, no: each.refused })).join(", "),
    tests ? filled(approvals.tested, { caught: tests.caught, asked: tests.asked }) : "",
    isMoreWaiting ? filled(approvals.orMore, { count: rule.waiting }) : rule.waiting,
  ];
  const title = filled(approvals.figures, { days });
  return contextView(texts, [{ type: "table", title, columns: Object.values(names), rows: rules.map(rowOf) }], approvals.deciding);
}
