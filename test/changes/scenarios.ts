/** How each tool of the gallery is called, and what happens to its task. It waits after the call and after each action except the last. */
import type { Duration, JsonObject } from "@parley/core";
import { accept, type Reply } from "@parley/sdk/testing";

export type Action = { readonly answer: { readonly [key: string]: Reply } } | { readonly advance: Duration };

export interface Scenario {
  readonly tool: keyof typeof FILES;
  readonly args: JsonObject;
  /** The last one lets the task end, or begin its next round. */
  readonly actions: readonly Action[];
}

export const FILES = {
  research: "01-research.ts",
  book_dinner: "02-book-dinner.ts",
  delete_files: "03-delete-files.ts",
  expense_report: "04-expense-report.ts",
  connect_account: "05-connect-account.ts",
  onboarding: "06-onboarding.ts",
  deploy: "07-deploy.ts",
  approve_invoice: "08-approve-invoice.ts",
  review_access: "09-review-access.ts",
  weekly_note: "10-weekly-note.ts",
  plan_trip: "11-plan-trip.ts",
  compare_offers: "12-compare-offers.ts",
} as const;

const member = (name: string, more: boolean) => ({ member: { name, email: `${name}@example.com`, role: "designer", more } });

export const SCENARIOS: readonly Scenario[] = [
  { tool: "research", args: { word: "elicit" }, actions: [{ advance: "1 day" }] },
  { tool: "book_dinner", args: { date: "2026-12-24", time: "19:30" }, actions: [{ answer: { "party-size": 4 } }] },
  { tool: "delete_files", args: {}, actions: [{ answer: { confirm: { value: true } } }] },
  {
    tool: "expense_report",
    args: {},
    actions: [
      {
        answer: {
          expense: { purpose: "Travel", amount: 120, date: "2026-12-01", category: "travel", projects: ["apollo"], billable: true },
        },
      },
    ],
  },
  { tool: "connect_account", args: { service: "calendar" }, actions: [{ answer: { authorize: accept } }] },
  {
    tool: "onboarding",
    args: { team: "web" },
    actions: [
      { answer: member("ada", true) },
      { answer: { "member#2": member("bob", true).member } },
      { answer: { "member#3": member("eve", false).member } },
    ],
  },
  {
    tool: "deploy",
    args: { service: "api", version: "1.2.3" },
    actions: [{ answer: { approval: { approve: true } } }, { answer: { window: "tonight" } }, { advance: "1 day" }],
  },
  {
    tool: "approve_invoice",
    args: { invoice: "2026-117", amount: 400, approver: "Ada", deputy: "Bob" },
    actions: [{ advance: "1 day" }, { answer: { deputy: { approve: true } } }],
  },
  {
    tool: "review_access",
    args: { project: "apollo", accounts: ["ada", "bob"] },
    actions: [{ answer: { "ada/keep": false } }, { answer: { "bob/keep": false } }],
  },
  {
    tool: "weekly_note",
    args: { journal: "garden" },
    actions: [
      { answer: { note: { note: "Roses", goOn: true } } },
      { advance: "7 days" },
      { answer: { "note@1": { note: "", goOn: false } } },
    ],
  },
  {
    tool: "plan_trip",
    args: { city: "Graz" },
    actions: [{ answer: { travellers: 3 } }, { answer: { train: "noon" } }, { answer: { day: "2026-12-26" } }, { answer: { book: true } }],
  },
  {
    tool: "compare_offers",
    args: { event: "party", suppliers: ["bakery", "bar"] },
    actions: [
      { answer: { "bakery/price": 12.5 } },
      { answer: { "bakery/delivery": "by car" } },
      { answer: { "bar/price": 9 } },
      { answer: { "bar/delivery": "not at all" } },
    ],
  },
];
