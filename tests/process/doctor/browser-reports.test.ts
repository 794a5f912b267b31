/** Check of the doctor for browser reports. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Finding } from '../../../doctor/check.ts'
import { browserReports } from '../../../doctor/checks/browser-reports.ts'
import { openDeployment } from '../../../doctor/deployment.ts'
import { startNginx } from '../../support/nginx/nginx.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'
import { openTunnel, type Tunnel } from '../../support/tunnel/in-process.ts'

describe('The check of browser reports', requires('nginx'), () => {
  const started = new AsyncDisposableStack()
  let tunnel: Tunnel

  beforeAll(async () => {
    tunnel = started.use(await openTunnel())
  })

  afterAll(() => started.disposeAsync())

  /** Runs the check on a site whose pages have `headers`, and whose nginx has another configuration. */
  async function check(
    headers: Record<string, string>,
    change = (config: string): string => config,
  ): Promise<Finding> {
    await using web = await startUpstream('web', (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html', ...headers }).end('<!doctype html>'),
    )
    await using nginx = await startNginx({
      tunnels: [`127.0.0.1:${tunnel.port}`],
      web: web.address,
      env: { LAB: 'off' },
      change,
    })
    const unset = { dsn: undefined, path: undefined, admin: undefined, env: {}, json: false }
    const options = { site: nginx.url, filterLists: [], closedPorts: [], ...unset }
    return await browserReports.run(await openDeployment(options))
  }

  it('passes when a tunnel answers below its path, without headers', async () => {
    expect(await check({})).toEqual({
      result: 'pass',
      message: 'A tunnel accepts reports. The page does not ask browsers for any.',
    })
  })

  it('passes when a tunnel answers at each URL that the headers name', async () => {
    const headers = {
      'content-security-policy': "default-src 'self'; report-uri /monitoring/reports?p=1",
      'reporting-endpoints': 'default="/monitoring/reports?p=1"',
      'report-to': '{"group":"default","max_age":1,"endpoints":[{"url":"/monitoring/reports"}]}',
    }
    expect(await check(headers)).toEqual({
      result: 'pass',
      message: 'The page asks browsers to report to /monitoring/reports?p=1 and /monitoring/reports.',
    })
  })

  it.each([
    ['Content-Security-Policy', { 'content-security-policy': 'report-uri /csp' }],
    ['Content-Security-Policy-Report-Only', { 'content-security-policy-report-only': 'report-uri /csp' }],
    ['Reporting-Endpoints', { 'reporting-endpoints': 'csp="/csp"' }],
    ['Report-To', { 'report-to': '{"group":"default","max_age":1,"endpoints":[{"url":"/csp"}]}' }],
  ])('fails when %s names a URL that leads to no tunnel', async (_, headers) => {
    expect(await check(headers)).toMatchObject({
      result: 'fail',
      message: expect.stringMatching(/^\/csp responds with 200 /),
    })
  })

  it.each([
    [
      'another host',
      { 'reporting-endpoints': 'a="https://o1.sentry.example/x"' },
      /to o1\.sentry\.example, another/,
    ],
    [
      'a group without Report-To',
      { nel: '{"report_to":"default","max_age":1}' },
      /nel names the group default/,
    ],
    ['JSON that is not valid', { nel: '{"report_to":default}' }, /nel is not JSON/],
    [
      'an endpoint that is not defined',
      { 'content-security-policy': 'report-to csp' },
      /names the endpoint csp/,
    ],
  ])('warns of %s in the headers', async (_, headers, message) => {
    expect(await check(headers)).toEqual({ result: 'warn', message: expect.stringMatching(message) })
  })

  it('fails when the proxy does not route the path to a tunnel', async () => {
    expect(await check({}, (config) => config.replaceAll('|/reports', ''))).toMatchObject({
      result: 'fail',
      message: expect.stringContaining('/monitoring/reports responds with'),
    })
  })
})
