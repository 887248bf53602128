/**
 * What a token of an event looks like, in every implementation: the task's id, and behind two dots what is known to nobody else. So it is found in any text of
 * its task, and kept out of journals, logs and what clients see.
 */
const REST = "\\.[\\w-]+\\.[\\w-]{20,}";

export function hasEventToken(taskId: string, text: string): boolean {
  return text.includes(`${taskId}.`) && patternOf(taskId).test(text);
}

/** For logs and errors: the value as JSON says it, with tokens of the task left out. */
export function withoutEventTokens<T>(taskId: string, value: T): T {
  const text = JSON.stringify(value);
  if (text === undefined || !hasEventToken(taskId, text)) return value;
  return JSON.parse(text.replaceAll(patternOf(taskId), "[event token]")) as T;
}

function patternOf(taskId: string): RegExp {
  return new RegExp(taskId.replaceAll(/[^\w-]/g, "\\$&") + REST, "g");
}
