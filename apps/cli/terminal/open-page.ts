import open from "open";

/** Opens a page in the browser and returns whether that worked. Only http and https are allowed: other schemes start other programs. */
export async function openPage(url: string): Promise<boolean> {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== "https:" && protocol !== "http:") return false;
  try {
    const child = await open(url);
    return await new Promise<boolean>((resolve) => {
      child.once("error", () => resolve(false));
      child.once("exit", (code) => resolve(code === 0));
      // A browser that keeps running in the foreground does not exit.
      setTimeout(() => resolve(true), 1_000).unref();
    });
  } catch {
    return false;
  }
}
