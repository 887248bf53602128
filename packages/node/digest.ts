import { hash } from "node:crypto";
import type { Digest } from "@parley/core";

/** 128 bits of SHA-256 in 22 characters: no two questions of one task share it by accident, and none is made to by intent (2^64 tries). */
export const sha256Digest: Digest = (text) => hash("sha256", text, "base64url").slice(0, 22);
