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
