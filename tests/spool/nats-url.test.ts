/** How `SPOOL_URL` names a NATS server, and what is said of one that does not. */

import { describe, expect, it } from 'vitest'
import { BadSettings, readConfig } from '../../tunnel/src/config.ts'
import { describeNats, parseNatsUrl } from '../../tunnel/src/spool/nats-url.ts'

const PLAIN = { tls: false, replicas: 1, credentials: undefined }

describe('SPOOL_URL', () => {
  it.each([
    ['nats://nats', { ...PLAIN, servers: ['nats:4222'] }],
    ['nats://a:4222,b:4223,[::1]/', { ...PLAIN, servers: ['a:4222', 'b:4223', '[::1]:4222'] }],
    ['tls://a?replicas=3', { ...PLAIN, servers: ['a:4222'], tls: true, replicas: 3 }],
    [
      'nats://spool:p%40ss@a,b',
      { ...PLAIN, servers: ['a:4222', 'b:4222'], credentials: { user: 'spool', pass: 'p@ss' } },
    ],
    ['nats://t0ken@a', { ...PLAIN, servers: ['a:4222'], credentials: { token: 't0ken' } }],
  ])('names servers and credentials: %s', (url, address) => expect(parseNatsUrl(url)).toEqual(address))

  it.each([
    'nats://',
    'nats://a:0',
    'nats://a:99999',
    'nats://a,,b',
    'http://a',
    'nats://a?replicas=2',
    'nats://%@a',
  ])('is refused when it is none: %s', (url) => expect(parseNatsUrl(url)).toBeUndefined())

  it('is refused in words that tell no password', () => {
    const refusal = problemsOf('nats://spool:secret@a:b:c')
    expect(refusal).toMatch(
      /^SPOOL_URL: "nats:\/\/…@a:b:c" is not a spool; write file:\/\/\/spool\/spool\.db /,
    )
  })

  it('is shown without its credentials', () => {
    const address = parseNatsUrl('tls://spool:secret@a,b?replicas=3')
    expect(address && describeNats(address)).toBe('tls://a:4222,b:4222?replicas=3')
  })
})

function problemsOf(url: string): string {
  try {
    readConfig({ SPOOL_URL: url })
  } catch (error) {
    if (error instanceof BadSettings) return error.problems.join('\n')
    throw error
  }
  return ''
}
