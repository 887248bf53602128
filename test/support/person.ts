/** A person in front of a browser, as a script: follows redirects, keeps cookies, and fills in one form after the other. */

interface Page {
  readonly url: URL;
  readonly status: number;
  readonly text: string;
}

/** More steps than any login has. */
const STEPS_MAX = 20;

/** Logs in and consents. The address that the client is called back at, with the code in its query. */
export async function logIn(authorizationUrl: URL, name: string, password = "any"): Promise<URL> {
  const end = await browse(authorizationUrl, { name, password });
  // The client's own address: nothing listens there.
  if (end.url.origin === authorizationUrl.origin) throw new Error(`nothing to log in with at ${shown(end)}`);
  return end.url;
}

/** Types in a device's code, or finds it filled in, logs in and agrees. Resolves when the provider says that the device may go ahead. */
export async function confirmDevice(page: URL, name: string): Promise<void> {
  const end = await browse(page, { name, password: "any" });
  if (end.status >= 400) throw new Error(`the device was refused: ${shown(end)}`);
}

/** Until a page has no form, or is another origin's. */
async function browse(from: URL, who: { readonly name: string; readonly password: string }): Promise<Page> {
  const jar = new Map<string, string>();
  let url = from;
  let body: URLSearchParams | undefined;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie }, ...(body && { method: "POST", body }) });
    for (const given of response.headers.getSetCookie()) {
      const [, key = "", value = ""] = /^([^=]+)=([^;]*)/.exec(given) ?? [];
      jar.set(key, value);
    }
    const text = await response.text();
    const location = response.headers.get("location");
    body = undefined;
    if (location !== null) {
      url = new URL(location, url);
      if (url.origin !== from.origin) return { url, status: response.status, text };
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
    if (action === undefined) return { url, status: response.status, text };
    url = new URL(action.replaceAll("&amp;", "&"), url);
    body = filledIn(text, who);
  }
  throw new Error("logging in never ends");
}

function filledIn(text: string, { name, password }: { readonly name: string; readonly password: string }): URLSearchParams {
  const form = new URLSearchParams();
  for (const [input] of text.matchAll(/<(?:input|button)\b[^>]*>/g)) {
    const field = / name="([^"]+)"/.exec(input)?.[1];
    if (field === undefined || ["abort", "cancel", "rememberMe"].includes(field)) continue;
    const isName = field === "login" || field === "username";
    form.set(field, isName ? name : field === "password" ? password : (/ value="([^"]*)"/.exec(input)?.[1] ?? ""));
  }
  if (form.has("user_code")) form.set("confirm", "yes");
  return form;
}

function shown({ url, status, text }: Page): string {
  return `${url.href}: ${status} ${text.slice(0, 500)}`;
}
