/** How Next builds web: one self-contained server, and nothing of any one environment in it. */

import { join } from 'node:path'
import { withSentryConfig } from '@sentry/nextjs/config'
import type { NextConfig } from 'next'

const config: NextConfig = {
  output: 'standalone',
  outputFileTracingRoot: join(import.meta.dirname, '..'),
  outputFileTracingExcludes: { '**': ['../node_modules/{sharp,@img}/**'] }, // no image here is resized
  transpilePackages: ['tunnel'],
  poweredByHeader: false,
  compress: false, // nginx does it
}

// No `tunnelRoute`: it makes the very URL that EasyPrivacy blocks, and would win over the tunnel set at run time.
export default withSentryConfig(config, {
  telemetry: false,
  release: { create: false },
  sourcemaps: { disable: true },
})
