/** Uploads source maps to Sentry when the build has a token. Browsers never get them. */

import type { SentryBuildOptions } from '@sentry/nextjs/config'

type Environment = Readonly<Record<string, string | undefined>>

/** Throws when the token lacks its organisation or project; calls `log` when there is no token. */
export function sourceMapOptions(env: Environment, log: (text: string) => void): SentryBuildOptions {
  const { SENTRY_AUTH_TOKEN, SENTRY_ORG, SENTRY_PROJECT, SENTRY_RELEASE, SENTRY_URL } = env
  if (!SENTRY_AUTH_TOKEN) {
    log('No source maps are uploaded: no SENTRY_AUTH_TOKEN is given to the build.')
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
