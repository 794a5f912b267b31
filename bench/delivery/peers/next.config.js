/** Next.js configuration: plain, or with Sentry's own rewrite (`REWRITE=on`), as its documentation shows. */

import { resolve } from 'node:path'
import { withSentryConfig } from '@sentry/nextjs/config'

const root = resolve(import.meta.dirname, '../../..') // repository that has Next.js installed
const rewritten = process.env.REWRITE === 'on'

/** @type {import('next').NextConfig} */
const config = {
  output: 'standalone',
  distDir: rewritten ? '.next/rewritten' : '.next/plain',
  outputFileTracingRoot: root,
  turbopack: { root },
  poweredByHeader: false,
}

export default withSentryConfig(config, {
  silent: true,
  telemetry: false,
  sourcemaps: { disable: true },
  ...(rewritten && { tunnelRoute: '/monitoring' }),
})
