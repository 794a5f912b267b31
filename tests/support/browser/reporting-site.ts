/** Pages behind nginx and a tunnel, over HTTP and HTTPS, with the headers that ask browsers for reports. */

import { freePort } from '../../../scripts/start/free-port.ts'
import { reportingHeaders } from '../../../web/lib/security-headers.ts'
import { startNginx } from '../nginx/nginx.ts'
import { post } from '../post.ts'
import { startUpstream } from '../recording-server.ts'
import { startSentry } from '../sentry/sentry.ts'
import { startTunnel } from '../tunnel/tunnel.ts'
import { SITE_HOST } from './chromium.ts'

const CSP = "script-src 'nonce-a' 'report-sample'"
const REPORTS = '/monitoring/reports?p=456'
const REPORT_URI = `report-uri ${REPORTS}`
const VIOLATION = '<script>blocked()</script>'

type Page = { policy?: string; headers?: Record<string, string>; html: string }

/** Pages that violate their policy: `default` is the endpoint that the headers of web name. */
const VIOLATIONS: Record<string, Page> = {
  '/report-uri': { policy: `${CSP}; ${REPORT_URI}`, html: VIOLATION },
  '/report-to': { policy: `${CSP}; report-to default`, html: VIOLATION },
  '/sandbox': { policy: `${CSP}; sandbox allow-scripts; ${REPORT_URI}`, html: VIOLATION },
}

export type ReportingSite = Awaited<ReturnType<typeof startReportingSite>>

/** Starts Sentry, a tunnel, nginx and an app with the pages above and `pages`. `await using` stops all of them. */
export async function startReportingSite(pages: Record<string, Page> = {}) {
  await using starting = new AsyncDisposableStack()
  const sentry = starting.use(await startSentry())
  const env = { SENTRY_DSN: sentry.dsn(), LAB: 'on' }
  const tunnel = starting.use(await startTunnel({ env }))
  const recorder = starting.use(
    await startUpstream('tunnel', async ({ url, headers, body }, response) => {
      const { connection: _, ...forwarded } = headers as Record<string, string>
      const { status, text } = await post(tunnel.url, { path: url, headers: forwarded, body })
      response.writeHead(status).end(text)
    }),
  )
  const all = { ...VIOLATIONS, ...pages }
  const web = starting.use(
    await startUpstream('web', ({ url, headers }, response) => {
      const page = all[url]
      for (const [name, value] of reportingHeaders(
        new Headers(headers as Record<string, string>),
        url,
        REPORTS,
      ))
        response.setHeader(name, value)
      if (page?.policy) response.setHeader('content-security-policy', page.policy)
      response.writeHead(page ? 200 : 404, { 'content-type': 'text/html', ...page?.headers })
      response.end(`<!doctype html><link rel="icon" href="data:,">${page?.html ?? ''}`)
    }),
  )
  const tlsPort = await freePort()
  const nginx = starting.use(
    await startNginx({
      tunnels: [recorder.address],
      web: web.address,
      tlsPort,
      env,
    }),
  )
  const started = starting.move()
  return {
    sentry,
    http: `http://${SITE_HOST}:${nginx.port}`,
    https: `https://${SITE_HOST}:${tlsPort}`,
    /** Posts of browsers, as nginx forwards them to the tunnel. */
    posts: recorder.asked,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
