/** Addresses in the settings of nginx that exclude each other. */

import { describe, expect, it } from 'vitest'
import { readNginxConfig } from '../../../deploy/nginx/render.ts'

function problemsOf(env: Record<string, string>): string[] {
  const problems: string[] = []
  readNginxConfig(env, problems)
  return problems
}

describe('INNER_LISTEN', () => {
  const tls = { TLS_CERTIFICATE: '/tls/a.pem', TLS_KEY: '/tls/b.pem' }

  it.each([
    { LISTEN: '8081' },
    { LISTEN: '8080 192.0.2.1:8081' },
    { LISTEN: '[::]:8082', INNER_LISTEN: '127.0.0.1:08082' },
    { LISTEN_TLS: '8443 [::1]:8081', ...tls },
  ])('is rejected with a port of another listener: %j', (env) => {
    const port = env.INNER_LISTEN ? 8082 : 8081
    expect(problemsOf(env)).toEqual([
      `INNER_LISTEN: port ${port} is that of LISTEN or LISTEN_TLS; requests on it have no client address, so choose another`,
    ])
  })

  it('is accepted with a port of its own', () => {
    expect(
      problemsOf({ LISTEN: '8080 [::]:8080', INNER_LISTEN: '8081', LISTEN_TLS: '8443', ...tls }),
    ).toEqual([])
  })
})

describe('APP_URL', () => {
  it.each([
    [{}, '127.0.0.1:8080'],
    [{}, 'localhost:8081'],
    [{ LISTEN: '80' }, '[::]:80'],
    [{ LISTEN: '127.0.0.1:8080' }, '0.0.0.0:8080'],
    [{ LISTEN: '*:8080' }, '127.1.2.3:8080'],
    [{ LISTEN: '[::]:8080' }, '[::1]:8080'],
    [{ LISTEN: '192.0.2.1:8080' }, '192.0.2.1:8080'],
  ])('is rejected with %j when nginx listens at it: %s', (env, app) => {
    expect(problemsOf({ ...env, APP_URL: `http://${app}` })).toEqual([
      `APP_URL: nginx itself listens at http://${app}; write the address of your app, or choose another port for nginx`,
    ])
  })

  it.each([
    [{}, '127.0.0.1:5173'],
    [{}, 'shop:8080'],
    [{ LISTEN: '192.0.2.1:8080' }, '127.0.0.1:8080'],
  ])('is accepted with %j when nginx does not listen at it: %s', (env, app) => {
    expect(problemsOf({ ...env, APP_URL: `http://${app}` })).toEqual([])
  })
})
