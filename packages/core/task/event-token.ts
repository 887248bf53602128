/**
 * The shape of every event token: the task's id and two more parts, separated by dots; the last part is secret. The
 * shape makes tokens recognisable in any text of their task, so that they are kept out of journals, logs and what
 * clients see.
 */
const REST = "\\.[\\w-]+\\.[\\w-]{20,}";

export function hasEventToken(taskId: string, text: string): boolean {
  return text.includes(`${taskId}.`) && patternOf(taskId).test(text);
}

/** For logs and errors: the value after a JSON round trip, with the task's tokens removed. */
export function withoutEventTokens<T>(taskId: string, value: T): T {
  const text = JSON.stringify(value);
  if (text === undefined || !hasEventToken(taskId, text)) return value;
  return JSON.parse(text.replaceAll(patternOf(taskId), "[event token]")) as T;
}

function patternOf(taskId: string): RegExp {
  return new RegExp(taskId.replaceAll(/[^\w-]/g, "\\$&") + REST, "g");
}
