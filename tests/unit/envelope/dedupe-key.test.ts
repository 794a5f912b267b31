/** Dedupe key of an envelope, a hash of its upstream and its bytes. */

import { describe, expect, it } from 'vitest'
import { identify } from '../../../tunnel/src/envelope/dedupe-key.ts'

const UPSTREAM = 'https://k@sentry.example/456'

describe('The dedupe key of an envelope', () => {
  it('is the first 16 bytes of SHA-256 over upstream and body', async () => {
    // printf 'https://k@sentry.example/456\nhello' | sha256sum
    expect(await identify(UPSTREAM, Buffer.from('hello'))).toBe('4d7bb90a2f52c467e1e265d5610739c3')
  })

  it('depends on its bytes, and not on their division into chunks', async () => {
    const whole = await identify(UPSTREAM, Buffer.from('hello'))
    async function* slowly() {
      yield Buffer.from('hell')
      yield Buffer.from('o')
    }
    expect(await identify(UPSTREAM, [Buffer.from('he'), Buffer.alloc(0), Buffer.from('llo')])).toBe(whole)
    expect(await identify(UPSTREAM, slowly())).toBe(whole)
    expect(await identify(UPSTREAM, Buffer.from('hello '))).not.toBe(whole)
  })

  it('depends on the upstream URL, its project and its key', async () => {
    const body = Buffer.from('hello')
    expect(await identify('https://k@sentry.example/457', body)).not.toBe(await identify(UPSTREAM, body))
    expect(await identify('https://other@sentry.example/456', body)).not.toBe(await identify(UPSTREAM, body))
  })

  it('exists for an empty body', async () => {
    expect(await identify(UPSTREAM, Buffer.alloc(0))).toMatch(/^[0-9a-f]{32}$/)
    expect(await identify(UPSTREAM, [])).toBe(await identify(UPSTREAM, Buffer.alloc(0)))
  })
})
