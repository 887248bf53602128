import type { Actor, Catalogue } from "@parley/core";
import type { Encoder, RequestId, Wants } from "@parley/protocol";
import type { ReplyChannel } from "../streams/reply-channel.ts";

/** One request on its way to its answer. */
export interface Exchange<Says extends Encoder = Encoder> extends Required<Actor> {
  readonly id: RequestId;
  readonly method: string;
  /** What is offered to this caller, as of this request. */
  readonly catalogue: Catalogue;
  /** How its client wants to be told of what happens before the answer. */
  readonly wants: Wants;
  /** The words of its revision. */
  readonly encode: Says;
  readonly channel: ReplyChannel;
}
