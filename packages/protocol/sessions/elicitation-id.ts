/** The elicitation id names task and ask, so it alone routes an answer. Task ids contain no colon. */

export function elicitationId(taskId: string, key: string): string {
  return `${taskId}:${key}`;
}

/** Undefined if it is not such an id. */
export function parseElicitationId(id: string): { readonly taskId: string; readonly key: string } | undefined {
  const colon = id.indexOf(":");
  return colon < 1 || colon === id.length - 1 ? undefined : { taskId: id.slice(0, colon), key: id.slice(colon + 1) };
}
