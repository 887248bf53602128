/** A codec that really encrypts: AES-256-GCM with a random nonce, so that one text is sealed differently each time. */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, randomBytes } from "node:crypto";
import type { ContentCodec, ContentContext } from "@parley/redis";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function sealingCodec(): ContentCodec {
  const key = createSecretKey(randomBytes(32));
  const bound = ({ taskId, part }: ContentContext) => Buffer.from(`${taskId} ${part}`);
  return {
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(bound(context));
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed, "base64url");
      const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(bound(context))
        .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      return cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + cipher.final("utf8");
    },
    fingerprint: (text, context) =>
      createHmac("sha256", key).update(bound(context)).update("\n").update(text).digest("base64url").slice(0, 22),
  };
}
