/** The gallery: example tools, each introducing one more feature than the one before. It is the default of PARLEY_TOOLS. */
import { research } from "./01-research.ts";
import { bookDinner } from "./02-book-dinner.ts";
import { deleteFiles } from "./03-delete-files.ts";
import { expenseReport } from "./04-expense-report.ts";
import { connectAccount } from "./05-connect-account.ts";
import { onboarding } from "./06-onboarding.ts";
import { deploy } from "./07-deploy.ts";
import { approveInvoice } from "./08-approve-invoice.ts";
import { reviewAccess } from "./09-review-access.ts";
import { weeklyNote } from "./10-weekly-note.ts";
import { planTrip } from "./11-plan-trip.ts";
import { compareOffers } from "./12-compare-offers.ts";
import { collectPayment } from "./13-collect-payment.ts";
import { planRetreat } from "./14-plan-retreat.ts";
import { findEvening } from "./15-find-evening.ts";
import { guestbook, signGuestbook } from "./16-sign-guestbook.ts";
import { hostEvening } from "./17-host-evening.ts";
import { releasePayment } from "./18-release-payment.ts";
import { joinCompany } from "./19-join-company.ts";

export default [
  research,
  bookDinner,
  deleteFiles,
  expenseReport,
  connectAccount,
  onboarding,
  deploy,
  approveInvoice,
  reviewAccess,
  weeklyNote,
  planTrip,
  compareOffers,
  collectPayment,
  planRetreat,
  findEvening,
  signGuestbook,
  hostEvening,
  releasePayment,
  joinCompany,
  guestbook,
];
