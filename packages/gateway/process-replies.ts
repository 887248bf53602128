/** What other processes reply to requests of this one. A reply names its request, and may be lost. */
export interface Replies<Reply> {
  expect(id: string, withinMs: number): Expected<Reply>;
  close(): void;
}

export interface Expected<Reply> {
  /** Resolves to undefined if no reply came in time, or `giveUp` was called first. */
  readonly reply: Promise<Reply | undefined>;
  /** Ends the wait. Has no effect after the reply. */
  readonly giveUp: () => void;
}

type Listen = (listener: (text: string) => void) => Promise<() => void>;

export async function createReplies<Reply extends { readonly id: string }>(listen: Listen): Promise<Replies<Reply>> {
  const waiting = new Map<string, (reply?: Reply) => void>();
  const close = await listen((text) => {
    const reply = JSON.parse(text) as Reply;
    waiting.get(reply.id)?.(reply);
  });

  return {
    expect(id, withinMs) {
      const { promise, resolve } = Promise.withResolvers<Reply | undefined>();
      const settle = (reply?: Reply) => {
        clearTimeout(late);
        waiting.delete(id);
        resolve(reply);
      };
      const giveUp = () => settle();
      const late = setTimeout(giveUp, withinMs);
      waiting.set(id, settle);
      return { reply: promise, giveUp };
    },
    close,
  };
}
