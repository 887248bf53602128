/** What a client on each rung is offered beside the catalogue of its caller. */
import type { Catalogue } from "@parley/core";
import type { Step } from "@parley/protocol";
import type { Ladder } from "../../../front-end/ladder.ts";
import type { Action } from "./action.ts";
import { withAskView } from "./ask-view.ts";
import { withPollTools } from "./poll-tools.ts";

export interface Offered {
  /** Of the caller. */
  readonly catalogue: Catalogue;
  readonly intent: Pick<Action, "type">;
  readonly ladder: Ladder;
}

const OFFERS: ReadonlySet<Action["type"]> = new Set(["discover", "listTools", "listResources", "readResource"]);

export function offeredOn({ rung, fallsToText }: Step, { catalogue, intent, ladder }: Offered): Catalogue {
  if (rung === "text") return intent.type === "listTools" ? withPollTools(catalogue, { ladder, rung }) : catalogue;
  // It waits with the tool for a call that fell to text. What its user is asked is answered on pages, or asked by the client itself.
  if (fallsToText && intent.type === "listTools")
    return withPollTools(catalogue, { ladder: { ...ladder, asksTool: undefined }, rung: "text" });
  if (rung !== "apps" || !OFFERS.has(intent.type)) return catalogue;
  return withPollTools(withAskView(catalogue, ladder), { ladder, rung });
}
