/** A host of MCP Apps for tests: a page whose `showView` puts a view into a frame, with the AppBridge of ext-apps. */
import { resolve } from "node:path";
import { build } from "vite";

/** As a host does it. Its frame forbids all but scripts, as the strictest hosts do: no forms, and no origin. */
const HOST_SCRIPT = `
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
window.showView = async ({ html, result, theme, locale, capabilities }) => {
  const frame = document.createElement("iframe");
  frame.title = "View";
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = "width: 480px; max-width: 100%; height: 10px; border: 0";
  document.querySelector("main").append(frame);
  const hostContext = { theme, locale, timeZone: "Europe/Berlin", safeAreaInsets: { top: 20, right: 0, bottom: 0, left: 0 } };
  const bridge = new AppBridge(null, { name: "host", version: "1" }, capabilities, { hostContext });
  bridge.oncalltool = (params) => window.callTool(params);
  bridge.onopenlink = async ({ url }) => (await window.told("link", url), {});
  bridge.onmessage = async ({ content }) => (await window.told("message", content[0].text), {});
  bridge.onupdatemodelcontext = async ({ content }) => (await window.told("context", content[0].text), {});
  bridge.onsizechange = ({ height }) => void (frame.style.height = height + "px");
  const ready = new Promise((resolve) => void (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await ready;
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(result);
  window.setTheme = (theme) => bridge.sendHostContextChange({ theme });
};
`;

/** The script with what it imports, in one. */
export async function appsHostScript(): Promise<string> {
  const ENTRY = "\0host";
  const built = await build({
    configFile: false,
    logLevel: "error",
    root: resolve(import.meta.dirname, "../.."),
    plugins: [
      { name: "host", resolveId: (id) => (id === "host" ? ENTRY : undefined), load: (id) => (id === ENTRY ? HOST_SCRIPT : undefined) },
    ],
    build: { write: false, modulePreload: false, rolldownOptions: { input: "host", output: { format: "es" } } },
  });
  const [output] = [built].flat();
  if (!output || !("output" in output)) throw new Error("the host was not built");
  return output.output[0].code.replaceAll("</script", String.raw`<\/script`);
}
