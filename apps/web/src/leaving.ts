/**
 * A person logs out on one page of their browser. The others hear of it: before, so that they send what the person gave there in the last seconds, and
 * afterwards, so that they show nothing of theirs any more.
 *
 *   leaving ──▶ each other page: sending … sent ──▶ the login ends ──▶ left
 *
 * What is told goes through the browser's storage. Where that is forbidden, nobody hears. A page that the browser has frozen, or keeps to go back to, hears
 * nothing either: it compares the mark of the last log-out with the one that it has seen when it comes to life.
 */
const LEAVING = "parley-leaving";
const SENDING = "parley-sending:";
const LEFT = "parley-left";
/** For a page in the background to hear. */
const HEARD_MS = 200;
const PATIENCE_MS = 3_000;

/** Does nothing where storage is full, or forbidden: then `localStorage` itself may throw, or be null. */
function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // Nobody hears.
  }
}

function tell(key: string): void {
  attempt(() => {
    localStorage.setItem(key, "");
    localStorage.removeItem(key);
  });
}

function onTold(key: string, act: () => void): void {
  addEventListener("storage", (event) => event.key === key && event.newValue !== null && act());
}

/** Of the last log-out in this browser. It stays, and says nothing about anybody. */
function markNow(): string {
  let mark = "";
  attempt(() => (mark = localStorage.getItem(LEFT) ?? ""));
  return mark;
}
let seen = markNow();

export function tellLeft(): void {
  seen = `${Math.random()}`;
  attempt(() => localStorage.setItem(LEFT, seen));
}

export function onLeft(act: () => void): void {
  onTold(LEFT, act);
}

/** `act` is run when the page is seen again after a log-out, of which it may have heard or not. */
export function onBack(act: () => void): void {
  const look = () => {
    if (document.hidden || markNow() === seen) return;
    seen = markNow();
    act();
  };
  document.addEventListener("visibilitychange", look);
  document.addEventListener("resume", look);
  addEventListener("pageshow", look);
}

/** `send`: sends what the person gave here. Undefined if there is nothing. */
export function onLeaving(send: () => Promise<unknown> | undefined): void {
  onTold(LEAVING, () => {
    const sent = send();
    const mine = `${SENDING}${Math.random()}`;
    if (!sent) return;
    attempt(() => localStorage.setItem(mine, ""));
    void sent.finally(() => attempt(() => localStorage.removeItem(mine)));
  });
}

function sending(): readonly string[] {
  let keys: readonly string[] = [];
  attempt(() => (keys = Object.keys(localStorage).filter((key) => key.startsWith(SENDING))));
  return keys;
}

/** Resolves when the other pages have sent what they have. They are waited for, but not for long. Never rejects: the person would stay logged in. */
export async function othersSent(): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  tell(LEAVING);
  do await new Promise((resolve) => setTimeout(resolve, HEARD_MS));
  while (sending().length > 0 && performance.now() < untilMs);
  // Of a page that was closed meanwhile.
  attempt(() => sending().forEach((key) => localStorage.removeItem(key)));
}
