/** Runs Sentry's own handler on Hono, as its documentation shows. */

import { serve } from '@hono/node-server'
import { handleTunnelRequest } from '@sentry/core'
import { Hono } from 'hono'

const [port, ...allowedDsns] = process.argv.slice(2)

const app = new Hono()
app.post('/monitoring', (c) => handleTunnelRequest({ request: c.req.raw, allowedDsns }))

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(port) }, () => console.log('listening'))
