/** Build settings of Next.js: one self-contained server for every environment. */

import { join } from 'node:path'
import { withSentryConfig } from '@sentry/nextjs/config'
import type { NextConfig } from 'next'
import { ASSET_PREFIX } from './lib/asset-prefix.ts'
import { SAFETY_HEADERS } from './lib/security-headers.ts'

/** Matches browsers that accept brotli. `build-standalone.ts` makes the files, since nginx has gzip only. */
const TAKES_BROTLI = { type: 'header', key: 'accept-encoding', value: '(?:|.*[ ,])br(?:[ ,;].*|)' } as const

/** Paths whose responses vary by encoding. Rewrites come after Next.js has removed the prefix, headers before. */
const COMPRESSED = '/_next/static/:path(.*\\.(?:js|css))'

function brotliHeaders(type: string) {
  return {
    source: `${ASSET_PREFIX}/_next/static/:path(.*\\.${type === 'css' ? 'css' : 'js'})`,
    has: [TAKES_BROTLI],
    headers: [
      { key: 'Content-Encoding', value: 'br' },
      { key: 'Content-Type', value: `text/${type}; charset=utf-8` },
    ],
  }
}

/** Bytes; more than all scripts together. */
const LARGE = 10_000_000

const config: NextConfig = {
  output: 'standalone',
  outputFileTracingRoot: join(import.meta.dirname, '..'),
  outputFileTracingExcludes: { '**': ['../node_modules/{sharp,@img}/**'] }, // no image here is resized
  transpilePackages: ['contract', 'tunnel'],
  assetPrefix: ASSET_PREFIX,
  poweredByHeader: false,
  compress: false, // nginx does it
  productionBrowserSourceMaps: true, // `build-standalone.ts` takes them out of what is served
  experimental: {
    // One file for the scripts of every page compresses better than twelve.
    turbopackChunking: { minChunkSize: LARGE, maxMergeChunkSize: LARGE },
    turbopackCrossModuleConstants: true, // drops the code behind DEBUG_BUILD
    turbopackCjsTreeShaking: true,
  },
  turbopack: {
    resolveAlias: { 'next/router': { browser: './lib/sentry/no-pages-router.ts' } },
    rules: {
      '**/@sentry/*/build/**/debug-build.js': {
        condition: 'browser',
        loaders: [join(import.meta.dirname, 'sentry-debug-loader.cjs')],
      },
    },
  },
  headers: async () => [
    { source: '/:path*', headers: SAFETY_HEADERS },
    { source: ASSET_PREFIX + COMPRESSED, headers: [{ key: 'Vary', value: 'Accept-Encoding' }] },
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

// No `tunnelRoute`: EasyPrivacy blocks its URL, and it would override the tunnel that is set at run time.
export default withSentryConfig(config, {
  telemetry: false,
  release: { create: false },
  sourcemaps: { disable: true }, // those of the server stay in the image, where it reads them itself
})
