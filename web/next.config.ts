/** How Next builds web: one self-contained server, and nothing of any one environment in it. */

import { join } from 'node:path'
import { withSentryConfig } from '@sentry/nextjs/config'
import type { NextConfig } from 'next'
import { SAFETY_HEADERS } from './lib/security-headers.ts'
import { sourceMapOptions } from './lib/sentry/source-maps.ts'

/** Every browser over https does; nginx knows gzip alone. The files are made by `compress-static.ts`. */
const TAKES_BROTLI = { type: 'header', key: 'accept-encoding', value: '(?:|.*[ ,])br(?:[ ,;].*|)' } as const

/** Whoever keeps one has to tell both kinds apart. */
const COMPRESSED = '/_next/static/:path(.*\\.(?:js|css))'

function brotliHeaders(type: string) {
  return {
    source: `/_next/static/:path(.*\\.${type === 'css' ? 'css' : 'js'})`,
    has: [TAKES_BROTLI],
    headers: [
      { key: 'Content-Encoding', value: 'br' },
      { key: 'Content-Type', value: `text/${type}; charset=utf-8` },
    ],
  }
}

/** Bytes; more than all of it. */
const LARGE = 10_000_000

const config: NextConfig = {
  output: 'standalone',
  outputFileTracingRoot: join(import.meta.dirname, '..'),
  outputFileTracingExcludes: { '**': ['../node_modules/{sharp,@img}/**'] }, // no image here is resized
  transpilePackages: ['tunnel'],
  poweredByHeader: false,
  compress: false, // nginx does it
  experimental: {
    // What every page loads is one file rather than twelve: it compresses better.
    turbopackChunking: { minChunkSize: LARGE, maxMergeChunkSize: LARGE },
  },
  headers: async () => [
    { source: '/:path*', headers: SAFETY_HEADERS },
    { source: COMPRESSED, headers: [{ key: 'Vary', value: 'Accept-Encoding' }] },
    ...['javascript', 'css'].map(brotliHeaders),
  ],
  rewrites: async () => ({
    beforeFiles: [
      {
        source: COMPRESSED,
        has: [TAKES_BROTLI],
        destination: '/_next/static/:path.br',
      },
    ],
    afterFiles: [],
    fallback: [],
  }),
}

// No `tunnelRoute`: it makes the very URL that EasyPrivacy blocks, and would win over the tunnel set at run time.
export default withSentryConfig(config, {
  telemetry: false,
  ...sourceMapOptions(process.env, console.log),
})
