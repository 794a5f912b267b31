/** DSNs that lead back to Culvert. */

import { describe, expect, it } from 'vitest'
import { parseDsn } from '../../../contract/dsn.ts'
import { findOwnDsns } from '../../../contract/own-dsns.ts'
import { readNginxConfig } from '../../../deploy/nginx/render.ts'
import { findLoops } from '../../../scripts/dsn-loop.ts'
import { BadSettings, readConfig } from '../../../tunnel/src/config/config.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const problemsOf = (dsn: string, ...listeners: string[]) =>
  findOwnDsns(
    [dsn].flatMap((text) => parseDsn(text) ?? []),
    listeners,
  )

describe('findOwnDsns', () => {
  it.each([
    ['http://key@localhost:8080/1', '8080'],
    ['http://key@127.0.0.1:8081/a/1', '127.0.0.1:8081'],
    ['http://key@[::1]:9090/1', '0.0.0.0:9090'],
    ['http://key@localhost/1', '80'],
    ['https://key@localhost/1', '443'],
    ['http://key@10.0.0.7:9090/1', '10.0.0.7:9090'],
    ['http://key@nginx:8080/1', '1'],
    ['http://key@tunnel:9090/1', '1'],
  ])('finds %s where Culvert listens at %s', (dsn, listener) => {
    const [problem, ...more] = problemsOf(dsn, '1', listener)
    expect(problem).toMatch(/^SENTRY_DSN: .*leads back to Culvert; write the DSN of your Sentry/)
    expect(more).toEqual([])
  })

  it.each([
    ['http://key@localhost:9000/1', '8080'],
    ['http://key@sentry:8080/1', '8080'],
    ['https://key@o1.ingest.us.sentry.io/1', '443'],
    ['http://key@nginx/1', '8080'],
  ])('accepts %s where Culvert listens at %s', (dsn, listener) => {
    expect(problemsOf(dsn, listener)).toEqual([])
  })
})

describe('A process does not start with such a DSN:', () => {
  it('the tunnel', () => {
    const read = () => readConfig({ SENTRY_DSN: 'http://key@localhost:9090/1', PORT: '9090' })
    expect(read).toThrow(BadSettings)
    expect(read).toThrow(/leads back to Culvert/)
  })

  it('nginx', () => {
    const problems: string[] = []
    readNginxConfig({ SENTRY_DSN: 'http://key@localhost:8099/1', LISTEN: '8099' }, problems)
    expect(problems).toEqual([expect.stringMatching(/leads back to Culvert/)])
  })
})

describe('findLoops', () => {
  it('finds a public name that leads to a tunnel, and no other server', async () => {
    await using sentry = await startSentry()
    sentry.allowUnexpected()
    await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
    // The name of a site resolves only where it is published.
    const request: typeof fetch = (url, init) =>
      fetch(
        String(url).replace('https://shop.example', tunnel.url).replace('https://sentry.example', sentry.url),
        init,
      )
    const env = { SENTRY_DSN: 'https://a@shop.example/1 https://b@sentry.example/2 https://c@gone.invalid/3' }
    expect(await findLoops(env, request)).toEqual([
      expect.stringMatching(/"https:\/\/a@shop\.example\/1" leads back/),
    ])
  })
})
