import { hash } from "node:crypto";
import type { Digest } from "@parley/core";

/** 128 bits of SHA-256 in 22 characters. Two questions of a task do not collide by accident, and a deliberate collision takes 2^64 attempts. */
export const sha256Digest: Digest = (text) => hash("sha256", text, "base64url").slice(0, 22);
