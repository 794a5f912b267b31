/** Recording Sentry: it fails the tests of unexpected requests. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { readCertificate, type Sentry, startSentry } from '../../support/sentry/sentry.ts'

const ENVELOPE = '{"event_id":"9ec79c33ec9942ab8353589fcb2e04dc"}\n{"type":"event"}\n{"message":"a"}\n'

describe('The recording Sentry', () => {
  it('responds as Relay does, and returns each request once', async () => {
    await using sentry = await startSentry()
    expect(await post(sentry)).toEqual({ status: 200, body: '{"id":"9ec79c33ec9942ab8353589fcb2e04dc"}' })

    const { items, body } = await sentry.next()
    expect(items).toEqual([{ header: { type: 'event' }, payload: Buffer.from('{"message":"a"}') }])
    expect(String(body)).toBe(ENVELOPE)
    await expect(sentry.next(() => true, { timeout: 10 })).rejects.toThrow('No such request within 10 ms')
  })

  it.each([
    ['a cookie', { headers: { cookie: 'a=b' } }, 'has the header "cookie"'],
    ['a foreign key', { query: 'sentry_key=other&sentry_version=7' }, 'has a key that is not of project 456'],
    ['another project', { path: '/api/7/envelope/' }, 'is for the project 7, which does not exist'],
    ['another path', { path: '/api/456/store/' }, 'is not to an envelope endpoint'],
    [
      'a list of addresses',
      { headers: { 'x-forwarded-for': '1.1.1.1, 2.2.2.2' } },
      'which is not one address',
    ],
    ['a body that is no envelope', { body: 'hello' }, 'is not an envelope'],
  ])('fails the test at its end after %s', async (_, faulty, fault) => {
    const sentry = await startSentry()
    expect(await post(sentry, faulty)).toMatchObject({ status: 400 })
    await expect(sentry.close()).rejects.toThrow(fault)
  })

  it('fails the test when a redirect was followed', async () => {
    const sentry = await startSentry()
    sentry.once('redirecting')
    const response = await fetch(sentry.url, { method: 'POST' })
    await response.text()
    sentry.once('redirecting')
    sentry.allowUnexpected()
    const followed = await fetch(sentry.url, { method: 'POST' })
    expect(followed.redirected).toBe(true)
    expect(sentry.unexpected.join()).toContain('followed a redirect')
    await sentry.close()
  })

  it('stops at once although a connection has not finished its handshake', async () => {
    await using sentry = await startSentry({ tls: readCertificate() })
    const connection = connect(sentry.port, '127.0.0.1')
    await once(connection, 'connect')
    const cut = once(connection, 'close')
    await sentry.away()
    await cut
  })

  it('fails the test after a request that its sender ends before it is complete', async () => {
    const sentry = await startSentry()
    const connection = await beginRequest(sentry)
    connection.destroy()
    await expect.poll(() => sentry.unexpected).toEqual([expect.stringMatching(/^POST .*aborted/)])
    await expect(sentry.close()).rejects.toThrow('aborted')
  })

  it('does not fail the test after a request that it has cut off itself', async () => {
    await using sentry = await startSentry()
    await beginRequest(sentry)
    await sentry.away()
    await sentry.back()
    const second = await beginRequest(sentry, '/second')
    second.destroy()
    await expect.poll(() => sentry.unexpected).toEqual([expect.stringContaining('/second')])
    sentry.allowUnexpected()
  })

  it('fails on request, and then recovers', async () => {
    await using sentry = await startSentry()
    for (const misbehaviour of ['hanging-up', 'hanging-up-early'] as const) {
      sentry.once(misbehaviour)
      await expect(post(sentry)).rejects.toThrow()
    }
    sentry.once('limiting')
    expect(await post(sentry)).toMatchObject({ status: 429 })
    await sentry.away()
    await expect(post(sentry)).rejects.toThrow('ECONNREFUSED')
    await sentry.back()
    expect(await post(sentry)).toMatchObject({ status: 200 })
    expect(sentry.cut).toBe(1)
  })
})

/** Resolves when Sentry is receiving a request, of which the body does not come. */
async function beginRequest({ port }: Sentry, path = '/first'): Promise<Socket> {
  const connection = connect(port, '127.0.0.1').on('error', () => {})
  connection.write(
    `POST ${path} HTTP/1.1\r\nhost: sentry\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n`,
  )
  const [data] = await once(connection, 'data')
  expect(String(data)).toContain('100 Continue')
  return connection
}

type Faulty = { path?: string; query?: string; headers?: Record<string, string>; body?: string }

async function post(
  sentry: Sentry,
  { path, query, headers, body }: Faulty = {},
): Promise<{ status: number; body: string }> {
  const key = new URL(sentry.dsn()).username
  const url = `${sentry.url}${path ?? '/api/456/envelope/'}?${query ?? `sentry_key=${key}&sentry_version=7`}`
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-sentry-envelope', ...headers },
    body: body ?? ENVELOPE,
  })
  return { status: answer.statusCode, body: await answer.body.text() }
}
