/** A person in front of a browser, as a script: follows a client's authorization request, logs in, consents, and ends at the client's address. */

/** The address that the client is called back at, with the code in its query. */
export async function logIn(authorizationUrl: URL, name: string): Promise<URL> {
  const jar = new Map<string, string>();
  let url = authorizationUrl;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step += 1) {
    const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie }, ...(form && { method: "POST", body: form }) });
    for (const given of response.headers.getSetCookie()) {
      const [, key = "", value = ""] = /^([^=]+)=([^;]*)/.exec(given) ?? [];
      jar.set(key, value);
    }
    const location = response.headers.get("location");
    const page = await response.text();
    form = undefined;
    if (location !== null) {
      url = new URL(location, url);
      // The client's own address: nothing listens there.
      if (url.origin !== authorizationUrl.origin) return url;
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
    if (action === undefined || prompt === undefined)
      throw new Error(`nothing to log in with at ${url.href}: ${response.status} ${page.slice(0, 500)}`);
    url = new URL(action, url);
    form = new URLSearchParams({ prompt, ...(prompt === "login" && { login: name, password: "any" }) });
  }
  throw new Error("logging in never ends");
}

/** Types in a device's code, or finds it filled in, logs in and agrees. Resolves when the provider says that the device may go on. */
export async function confirmDevice(page: URL, name: string): Promise<void> {
  const jar = new Map<string, string>();
  let url = page;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step += 1) {
    const cookie = [...jar].map(([key, value]) => `${key}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie }, ...(form && { method: "POST", body: form }) });
    for (const given of response.headers.getSetCookie()) {
      const [, key = "", value = ""] = /^([^=]+)=([^;]*)/.exec(given) ?? [];
      jar.set(key, value);
    }
    const text = await response.text();
    const location = response.headers.get("location");
    form = undefined;
    if (location !== null) {
      url = new URL(location, url);
      continue;
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1];
    if (action === undefined) {
      if (response.ok) return;
      throw new Error(`the device was refused: ${response.status} ${text.slice(0, 500)}`);
    }
    url = new URL(action, url);
    const hidden = [...text.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]): [string, string] => [
      /name="([^"]+)"/.exec(input)?.[1] ?? "",
      /value="([^"]*)"/.exec(input)?.[1] ?? "",
    ]);
    form = new URLSearchParams(hidden);
    if (form.get("prompt") === "login") form.set("login", name);
    if (form.get("prompt") === "login") form.set("password", "any");
    if (form.has("user_code")) form.set("confirm", "yes");
  }
  throw new Error("confirming the device never ends");
}
