/** Next.js configuration with the options that `withSentryConfig` adds for `tunnelRoute`, and a local Sentry. */

const query = (key, value) => ({ type: 'query', key, value })
const ORGANISATION = query('o', '(?<orgid>\\d*)')
const PROJECT = query('p', '(?<projectid>\\d*)')
const REGION = query('r', '(?<region>[a-z]{2})')

// Port 1 is where the benchmark's Sentry is put in when it is known.
const rewrite = (...has) => ({
  source: '/monitoring(/?)',
  has,
  destination: 'http://127.0.0.1:1/api/:projectid/envelope/?hsts=0',
})

const root = new URL('..', import.meta.url).pathname

export default {
  output: 'standalone',
  outputFileTracingRoot: root,
  turbopack: { root },
  rewrites: async () => [rewrite(ORGANISATION, PROJECT, REGION), rewrite(ORGANISATION, PROJECT)],
}
