/** Reports that never became a request. */

/**
 * Of those that `fetch` `failed`, the ones of which Chromium tells no failed request, and that nobody has `taken`. It fails at once what is to
 * be kept alive beyond 64 KiB of such requests (the Fetch standard, HTTP-network-or-cache fetch), and in Chromium an answer counts among them
 * until its body is read, which SDKs do not do.
 */
export function refusedByBrowser(
  failed: readonly string[],
  lost: ReadonlySet<string>,
  taken: readonly string[],
): Set<string> {
  const arrived = new Set(taken)
  return new Set(failed.filter((id) => !lost.has(id) && !arrived.has(id)))
}
