// Next.js, for development: routes /monitoring to a tunnel on this machine. Rewrites cannot remove cookies or set the client address, so use a
// proxy in production. A proxy.ts or middleware.ts with a catch-all matcher has to exclude /monitoring. docs/install.md shows such a matcher.

import type { NextConfig } from 'next'

export default {
  skipTrailingSlashRedirect: true, // SDKs do not follow redirects
  experimental: { proxyClientMaxBodySize: '100mb' }, // instead of 10 MB; middlewareClientMaxBodySize before Next.js 16
  async rewrites() {
    return [{ source: '/monitoring/:path*', destination: 'http://127.0.0.1:9090/monitoring/:path*' }]
  },
} satisfies NextConfig
