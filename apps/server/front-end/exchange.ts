import type { Actor, Catalogue } from "@parley/core";
import type { Encoder, RequestId, Wants } from "@parley/protocol";
import type { ReplyChannel } from "../streams/reply-channel.ts";

/** One request until it is answered. */
export interface Exchange<RevisionEncoder extends Encoder = Encoder> extends Required<Actor> {
  readonly id: RequestId;
  readonly method: string;
  /** The tools, prompts and resources that this caller is offered, read once for this request. */
  readonly catalogue: Catalogue;
  /** Which notifications the client wants before the answer. */
  readonly wants: Wants;
  /** Encodes messages in the protocol revision of the request. */
  readonly encode: RevisionEncoder;
  readonly channel: ReplyChannel;
}
