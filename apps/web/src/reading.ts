/** Whether a person has come to the end of a message that is higher than its place: nobody says yes to what they have not seen, on any page. */

export function isAtEnd({ scrollTop, clientHeight, scrollHeight }: HTMLElement): boolean {
  return scrollTop + clientHeight >= scrollHeight - 2;
}

/** Notes that the end was seen. It stays seen when the person scrolls back. */
export function noteReading(text: HTMLElement): void {
  if (isAtEnd(text)) text.dataset["read"] = "";
}

export function wasRead(text: HTMLElement): boolean {
  return text.dataset["read"] !== undefined || isAtEnd(text);
}
