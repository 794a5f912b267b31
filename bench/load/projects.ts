/** Builds the DSNs of the benchmark's projects. */

type Address = { protocol: 'http' | 'https'; port: number }

/** Returns the DSNs of `count` projects at a Sentry on this machine, each with its own key. */
export function dsnsOf({ protocol, port }: Address, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const key = (i + 1).toString(16).padStart(32, '0')
    return `${protocol}://${key}@127.0.0.1:${port}/${4505287138803712 + i}`
  })
}

/** Returns the URL for envelopes of a DSN. */
export function envelopeUrl(dsn: string): { origin: string; path: string } {
  const { origin, pathname, username } = new URL(dsn)
  return { origin, path: `/api${pathname}/envelope/?sentry_key=${username}&sentry_version=7` }
}
