/**
 * The status of a task whose call waits for people at another server, whom only that server can ask. Like what a worker lacks (put-back.ts), it is said in
 * the status message, which every process can read: a gateway in front of this deployment must not count that time as work.
 */
const WAITING_AT = "Waiting for people at ";
const FORM = new RegExp(`^${WAITING_AT}[a-z0-9-]{1,32}(?:: |\\.(?:$|\\n))`);
/** How many children of a task its status names. */
export const WAITING_CHILDREN_MAX = 3;

/** `server` is its name in the file of upstreams, `said` what it says itself. */
export function waitingBehind(server: string, said: string | undefined): string {
  return `${WAITING_AT}${server}${said === undefined ? "." : `: ${said}`}`;
}

/**
 * The status of a task with those of children that wait so: their caller knows only the task that it made, and a gateway in front of it reads only that
 * one's status.
 */
export function withWaitingChildren(own: string | undefined, ofChildren: readonly string[]): string | undefined {
  const lines = [...new Set(ofChildren.slice(0, WAITING_CHILDREN_MAX)), ...(own === undefined ? [] : [own])];
  return lines.length === 0 ? undefined : lines.join("\n");
}

export function isWaitingBehind(message: string | undefined): boolean {
  return message !== undefined && FORM.test(message);
}
