/** Pod of `helm test`, whose script runs against a tunnel. */

import { describe, expect } from 'vitest'
import { it } from '../../support/fixtures.ts'
import { renderChart, type Values } from '../../support/kubernetes/chart.ts'
import { run } from '../../support/kubernetes/cluster.ts'
import type { Manifest } from '../../support/kubernetes/manifests.ts'
import { NODE } from '../../support/node.ts'
import { requires } from '../../support/requirements.ts'

type Container = { args: string[]; env: { name: string; value?: string }[] }
const containerOf = (values: Values) => {
  const pod = renderChart(values).find(({ kind }) => kind === 'Pod') as Manifest & {
    spec: { containers: [Container] }
  }
  return pod.spec.containers[0]
}

describe('helm test', requires('helm'), () => {
  it('sends an event, and fails when it is not accepted', async ({ sentry, tunnel }) => {
    const [script = ''] = containerOf({}).args
    const start = (dsn: string) =>
      run('env', [
        `SENTRY_DSN=${dsn} https://b@other.example/2`,
        `URL=${tunnel.url}/monitoring`,
        NODE,
        '--eval',
        script,
      ])
    expect(await start(sentry.dsn())).toMatchObject({ code: 0, stdout: expect.stringMatching(/^200 /) })
    const { body } = await sentry.next(() => true)
    expect(body.toString()).toContain('helm test of Culvert')
    expect(await start('https://a@unknown.example/2')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^4/),
    })
  })

  it('asks nginx, also with HTTPS, or a tunnel without it', () => {
    const urlOf = (values: Values) => containerOf(values).env.find(({ name }) => name === 'URL')?.value
    const inner = 'http://culvert-nginx-inner.culvert.svc.cluster.local:8081'
    expect(urlOf({ nginx: { tlsSecret: 'tls' } })).toBe(`${inner}/monitoring`)
    expect(urlOf({ settings: { TUNNEL_PATHS: '/errors|/monitoring' } })).toBe(`${inner}/errors`)
    expect(
      urlOf({
        nginx: { enabled: false },
        web: { enabled: false },
        settings: { TRUSTED_PROXIES: '10.0.0.0/8' },
      }),
    ).toBe('http://culvert-tunnel.culvert.svc.cluster.local:9090/monitoring')
  })
})
