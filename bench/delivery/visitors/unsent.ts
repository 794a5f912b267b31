/** Finds reports that the browser did not send. */

/**
 * Returns the `failed` reports without a failed request (`lost`) that Sentry has not accepted (`taken`). Browsers fail keep-alive requests
 * beyond 64 KiB at once (Fetch standard, HTTP-network-or-cache fetch), and in Chromium a request counts among them until the body of its
 * response is read, which SDKs do not do.
 */
export function unsentReports(
  failed: readonly string[],
  lost: ReadonlySet<string>,
  taken: readonly string[],
): Set<string> {
  const arrived = new Set(taken)
  return new Set(failed.filter((id) => !lost.has(id) && !arrived.has(id)))
}
