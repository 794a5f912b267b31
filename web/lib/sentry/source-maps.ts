/** What happens to source maps when web is built: they go to Sentry where a token is given, and never to a browser. */

import type { SentryBuildOptions } from '@sentry/nextjs/config'

type Environment = Readonly<Record<string, string | undefined>>

/** Throws a sentence for a token that cannot be used; tells `say` when there is none. */
export function sourceMapOptions(env: Environment, say: (sentence: string) => void): SentryBuildOptions {
  const { SENTRY_AUTH_TOKEN, SENTRY_ORG, SENTRY_PROJECT, SENTRY_RELEASE, SENTRY_URL } = env
  if (!SENTRY_AUTH_TOKEN) {
    say('No source maps are uploaded: no SENTRY_AUTH_TOKEN is given to the build.')
    return { release: { create: false }, sourcemaps: { disable: true } }
  }
  if (!SENTRY_ORG || !SENTRY_PROJECT)
    throw new Error('SENTRY_AUTH_TOKEN is given to the build; give SENTRY_ORG and SENTRY_PROJECT too.')
  return {
    authToken: SENTRY_AUTH_TOKEN,
    org: SENTRY_ORG,
    project: SENTRY_PROJECT,
    ...(SENTRY_URL && { sentryUrl: SENTRY_URL }),
    release: SENTRY_RELEASE ? { name: SENTRY_RELEASE } : { create: false },
    sourcemaps: { deleteSourcemapsAfterUpload: true },
  }
}
