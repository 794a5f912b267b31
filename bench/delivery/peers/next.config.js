/** How the page is built: plainly, or with Sentry's own rewrite (`REWRITE=on`), as its documentation shows. */

import { resolve } from 'node:path'
import { withSentryConfig } from '@sentry/nextjs/config'

const root = resolve(import.meta.dirname, '../../..') // whose Next.js it is
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
