import open from "open";

/** Whether a browser took the page. Only http and https: other schemes start other programs. */
export async function openPage(url: string): Promise<boolean> {
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== "https:" && protocol !== "http:") return false;
  try {
    const child = await open(url);
    return await new Promise<boolean>((resolve) => {
      child.once("error", () => resolve(false));
      child.once("exit", (code) => resolve(code === 0));
      // A browser that runs in this process's stead does not end.
      setTimeout(() => resolve(true), 1_000).unref();
    });
  } catch {
    return false;
  }
}
