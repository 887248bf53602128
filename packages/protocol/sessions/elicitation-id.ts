/** The id of a question on the wire names task and ask, so that an answer finds its way from it alone. Ids of tasks have no colon. */

export function elicitationId(taskId: string, key: string): string {
  return `${taskId}:${key}`;
}

/** Undefined for what is no such id. */
export function parseElicitationId(id: string): { readonly taskId: string; readonly key: string } | undefined {
  const colon = id.indexOf(":");
  return colon < 1 || colon === id.length - 1 ? undefined : { taskId: id.slice(0, colon), key: id.slice(colon + 1) };
}
