/** What a client can be asked, by its capabilities from `initialize`. */
import { type AskRequest, type ClientCapabilities, usesTools } from "@parley/core";

/** Forms, sampling without tools, and roots: every revision with sessions has these, or understands them if they are declared. */
export function canAsk(request: AskRequest, capabilities: ClientCapabilities): boolean {
  switch (request.type) {
    case "form":
      return capabilities.elicitation?.form === true;
    case "url":
      return false;
    case "sampling":
      return capabilities.sampling !== undefined && !usesTools(request);
    case "roots":
      return capabilities.roots === true;
  }
}
