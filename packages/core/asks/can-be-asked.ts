import type { AskRequest, ClientCapabilities } from "../task.ts";

/** Whether a client with these capabilities can be asked that question, in the newest revision. */
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

/** Whether there is anything that the client can be asked. */
export function canBeAskedAnything({ elicitation, sampling, roots }: ClientCapabilities): boolean {
  return elicitation?.form === true || elicitation?.url === true || sampling !== undefined || roots === true;
}

export function usesTools(request: AskRequest): boolean {
  return request.type === "sampling" && ("tools" in request.params || "toolChoice" in request.params);
}

/** Whether only a client can answer: its model, or the names of its folders. A person has other ways to answer a form or a page. */
export function isForClientOnly({ type }: AskRequest): boolean {
  return type === "sampling" || type === "roots";
}
