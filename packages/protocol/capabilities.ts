/** What clients of any revision declare that they can be asked for. */
import type { AskRequest, ClientCapabilities } from "@parley/core";
import { isObject, own, type Wire } from "./json-rpc.ts";

/** Reads them as they were declared. The name of the first member that is no object comes back as a string. */
export function readCapabilities(declared: Wire): ClientCapabilities | string {
  for (const key of ["elicitation", "sampling", "roots"]) {
    const value = own(declared, key);
    if (value !== undefined && !isObject(value)) return key;
  }
  const elicitation = own(declared, "elicitation");
  const sampling = own(declared, "sampling");
  return {
    // A bare `elicitation: {}` means that forms are understood; `{url: {}}` alone means that they are not.
    ...(isObject(elicitation)
      ? {
          elicitation: {
            form: isObject(own(elicitation, "form")) || !isObject(own(elicitation, "url")),
            url: isObject(own(elicitation, "url")),
          },
        }
      : {}),
    ...(isObject(sampling) ? { sampling: { tools: isObject(own(sampling, "tools")) } } : {}),
    ...(isObject(own(declared, "roots")) ? { roots: true } : {}),
  };
}

/** Whether a client that declared these capabilities can be put that question, in the newest of its revisions. */
export function canBeAsked(request: AskRequest, { elicitation, sampling, roots }: ClientCapabilities): boolean {
  switch (request.type) {
    case "form":
      return elicitation?.form === true;
    case "url":
      return elicitation?.url === true;
    case "sampling":
      return usesTools(request) ? sampling?.tools === true : sampling !== undefined;
    case "roots":
      return roots === true;
  }
}

export function usesTools(request: AskRequest): boolean {
  return request.type === "sampling" && ("tools" in request.params || "toolChoice" in request.params);
}
