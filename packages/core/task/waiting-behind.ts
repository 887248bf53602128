/**
 * The status of a task whose call waits for people at another server, whom only that server can ask. Like what a worker lacks (put-back.ts), it is said in
 * the status message, which every process can read: a gateway in front of this deployment must not count that time as work.
 */
const WAITING_AT = "Waiting for people at ";
const FORM = new RegExp(`^${WAITING_AT}[a-z0-9-]{1,32}(?:: |\\.$)`);

/** `server` is its name in the file of upstreams, `said` what it says itself. */
export function waitingBehind(server: string, said: string | undefined): string {
  return `${WAITING_AT}${server}${said === undefined ? "." : `: ${said}`}`;
}

export function isWaitingBehind(message: string | undefined): boolean {
  return message !== undefined && FORM.test(message);
}
