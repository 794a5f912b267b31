/** Start and shutdown of the web server. */

import { describe, expect, it } from 'vitest'
import { refuseWeb, startWeb } from '../../support/web/web.ts'

describe('A web server with invalid settings', () => {
  it('prints every problem and exits with 1', async () => {
    const exit = await refuseWeb({
      SENTRY_DSN: 'https://abc:secret@sentry.example',
      TUNNEL_PATHS: '/monitoring/|/_next/reports',
      TRUSTED_PROXIES: '10.0.0.0/33',
      MAX_ENVELOPE_BYTES: '1MB',
      SENTRY_TRACES_SAMPLE_RATE: '2',
      CA_FILE: '/nowhere/ca.pem',
    })
    expect(exit.code).toBe(1)
    expect(exit.stderr).toBe(`culvert web: cannot start, 7 problem(s):
TUNNEL_PATHS: "/monitoring/" is not a path; write one like /monitoring (letters, digits, -, _, . and ~ between slashes), several separated by |
TUNNEL_PATHS: "/_next/reports" is served by the web app; choose one outside /_next, /console, /healthz and /lab
SENTRY_DSN: "https://abc:…@sentry.example" is not a DSN; write it as Sentry shows it, like https://key@o1.ingest.us.sentry.io/2, several separated by spaces or commas
TRUSTED_PROXIES: "10.0.0.0/33" is not a network; write addresses or CIDRs like 10.0.0.0/8, separated by commas or spaces
MAX_ENVELOPE_BYTES: "1MB" is not a number of bytes; write a whole number from 1024 to 1073741824
SENTRY_TRACES_SAMPLE_RATE: "2" is not a share; write a number from 0 to 1, like 0.2
CA_FILE: "/nowhere/ca.pem" cannot be read; write the path of a file that this process may read, for containers one that all users may read
`)
  })
})

describe('A running web server', () => {
  it('answers health checks, and does not disclose its software', async () => {
    await using web = await startWeb()
    const response = await fetch(`${web.url}/healthz`)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('ok')
    expect(response.headers.get('x-powered-by')).toBeNull()
  })

  it('warns of a removed setting that is still in the environment', async () => {
    const web = await startWeb({ CHECK_PATH: '/check' })
    expect(await web.stop()).toMatchObject({
      stderr:
        'CHECK_PATH is no longer a setting and has no effect. The connection check is at /, and with APP_URL at /console/check.\n',
    })
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 on %s', async (signal) => {
    const web = await startWeb()
    await (await fetch(web.url)).text()
    expect(await web.stop(signal)).toMatchObject({ code: 0, stderr: '' })
  })
})
