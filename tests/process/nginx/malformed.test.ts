/** Requests that nginx accepts and Node rejects: each gets the JSON of a rejection from a tunnel behind nginx. */

import { describe, expect } from 'vitest'
import { it as base } from '../../support/fixtures.ts'
import { perFile } from '../../support/lifetime.ts'
import { expectRejection } from '../../support/nginx/expected-rejection.ts'
import { sendRaw } from '../../support/raw-request.ts'
import { requires } from '../../support/requirements.ts'

const POST = 'POST /monitoring HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n'
const MIB = 1024 * 1024

const it = base.extend('tunnelOptions', perFile, {})

describe('On the tunnel paths nginx and the tunnel', requires('nginx'), () => {
  it.for<[name: string, bytes: string]>([
    ['an HTTP/1.0 request without Host', 'POST /monitoring HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}'],
    ['a Host with a user name', `${POST}Host: a@b\r\n\r\n{}`],
    ['a Host with two ports', `${POST}Host: a:1:2\r\n\r\n{}`],
    ['a control character in a header', `${POST}Host: x\r\nUser-Agent: a\x01b\r\n\r\n{}`],
    [
      'a control character in a header before a large body',
      `${POST.replace('2', String(8 * MIB))}Host: x\r\nUser-Agent: a\x01b\r\n\r\n${'x'.repeat(8 * MIB)}`,
    ],
  ])('return request-malformed for %s', async ([, bytes], { nginx }) => {
    expectRejection(await sendRaw(nginx.port, bytes), 'request-malformed')
  })

  // Every size must be either accepted or rejected in JSON.
  it.for([1, 7, 14, 15, 16, 17, 21, 24, 28, 31, 32, 33, 40, 64, 80])(
    'either accept %i KB of headers, or reject them in JSON',
    async (kilobytes, { nginx }) => {
      const headers = `X: ${'x'.repeat(994)}\r\n`.repeat(kilobytes)
      const answer = await sendRaw(nginx.port, `${POST}Host: x\r\n${headers}\r\n{}`)
      if (kilobytes <= 28) expect([answer.status, answer.text]).toEqual([200, '{}'])
      else if (answer.status !== 200) expectRejection(answer, 'request-malformed')
    },
  )

  it.for([
    'shop.example',
    'shop.example:8443',
    '192.0.2.1',
    '[2001:db8::1]:8080',
    'my_host',
    'XN--NXASMQ6B.example.',
  ])('accept the Host %s', async (host, { nginx }) => {
    expect((await sendRaw(nginx.port, `${POST}Host: ${host}\r\n\r\n{}`)).status).toBe(200)
  })
})
