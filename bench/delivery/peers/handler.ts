/** Runs Sentry's own handler in a Hono service, as the documentation of both shows, with a longer keep-alive than nginx. */

import { serve } from '@hono/node-server'
import { handleTunnelRequest } from '@sentry/core'
import { Hono } from 'hono'

const [port, ...allowedDsns] = process.argv.slice(2)

const app = new Hono()
app.post('/monitoring', (c) => handleTunnelRequest({ request: c.req.raw, allowedDsns }))

const server = serve(
  {
    fetch: app.fetch,
    hostname: '127.0.0.1',
    port: Number(port),
    serverOptions: { keepAliveTimeout: 75_000 },
  },
  () => console.log('listening'),
)

process.on('SIGTERM', () => {
  server.close((error) => process.exit(error ? 1 : 0))
})
