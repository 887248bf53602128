/** Each code is one that another program makes of the same text: segno 1.6.6, error="m", mode="byte", with the mask that was chosen here. */
import { expect, test } from "vitest";
import { qrOf } from "./qr.ts";

const TEXT = "https://x.example/".repeat(200);

// As many bytes as the version holds.
test.each([
  [14, 1, "a38579063d6ec5bf"],
  [26, 2, "1fc5906b24feaaac"],
  [106, 6, "23777a0140cb6e54"],
  [122, 7, "70e42ace70f74781"],
  [213, 10, "a0683da19ecf2eeb"],
  [362, 14, "c28e6d282168d2d0"],
  [711, 21, "40998d31a6d18651"],
  [2_331, 40, "f0f2c61c63af3ee2"],
])("a text of %i bytes is the code of version %i", async (length, version, digest) => {
  const rows = qrOf(TEXT.slice(0, length)) ?? [];
  expect(rows).toHaveLength(4 * version + 17);
  const drawn = rows.map((row) => row.map((isDark) => (isDark ? "1" : "0")).join("")).join("\n");
  const hashed = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(drawn)));
  expect(Array.from(hashed.slice(0, 8), (byte) => byte.toString(16).padStart(2, "0")).join("")).toBe(digest);
});

test("a shorter text is filled up in its version, bytes count and not characters, and what is too long has no code", () => {
  const [short, full] = [qrOf("a"), qrOf("a".repeat(14))];
  expect([short?.length, full?.length, qrOf("a".repeat(15))?.length]).toEqual([21, 21, 25]);
  expect([qrOf("ü".repeat(7))?.length, qrOf("ü".repeat(8))?.length]).toEqual([21, 25]);
  expect(qrOf("x".repeat(2_332))).toBeUndefined();
  expect(qrOf("")).toHaveLength(21);
});
