/** The container's HEALTHCHECK: exits with 0 if the container's process reports that it is ready. The image has no curl. */
const port = process.env["PARLEY_METRICS_PORT"];
try {
  const response = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2_500) });
  console.log(await response.text());
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  console.log(String(error));
  process.exitCode = 1;
}
