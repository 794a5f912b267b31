/** Projects of the benchmark's Sentry, by their DSNs. */

/** DSNs of `count` projects at a Sentry that listens on `port` of this machine; each has a key of its own. */
export function dsnsOf(port: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const key = (i + 1).toString(16).padStart(32, '0')
    return `http://${key}@127.0.0.1:${port}/${4505287138803712 + i}`
  })
}

/** Where the envelopes of a DSN are posted. */
export function envelopeUrl(dsn: string): { origin: string; path: string } {
  const { origin, pathname, username } = new URL(dsn)
  return { origin, path: `/api${pathname}/envelope/?sentry_key=${username}&sentry_version=7` }
}
