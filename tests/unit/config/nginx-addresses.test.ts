/** Addresses in the settings of nginx that exclude each other. */

import { describe, expect, it } from 'vitest'
import { readNginxConfig } from '../../../deploy/nginx/render.ts'

function problemsOf(env: Record<string, string>): string[] {
  const problems: string[] = []
  readNginxConfig(env, problems)
  return problems
}

describe('The inner listener', () => {
  it.each([
    ['127.0.0.1:8081', '8081'],
    ['127.0.0.1:8081', '8080 192.0.2.1:8081'],
    ['127.0.0.1:08082', '[::]:8082 127.0.0.1:08082/inner'],
    ['127.0.0.1:8081', '8443/tls [::1]:8081/tls'],
  ])('is rejected with a port of another listener: %s, %s', (inner, LISTEN) => {
    expect(problemsOf({ LISTEN, TLS_FOLDER: '/tls' })).toEqual([
      `LISTEN: the port of ${inner}/inner is that of another listener; requests on it have no client address, so choose another`,
    ])
  })

  it('is accepted with a port of its own', () => {
    expect(problemsOf({ LISTEN: '8080 [::]:8080 8081/inner 8443/tls', TLS_FOLDER: '/tls' })).toEqual([])
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
