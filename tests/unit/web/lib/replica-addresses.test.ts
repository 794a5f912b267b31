/** Addresses of the tunnels, resolved from their names. */

import { describe, expect, it } from 'vitest'
import { createAddresses, type Resolve } from '../../../../web/lib/replica-addresses.ts'

const failWith = (code: string) => Promise.reject(Object.assign(new Error(code), { code }))

describe('TUNNEL_ADMIN addresses', () => {
  it('contains each address of a name once, and an IP address as it is', async () => {
    const originsOf = createAddresses(async () => [
      { address: '10.0.0.1', family: 4 },
      { address: 'fd00::1', family: 6 },
    ])
    expect(await originsOf(['tunnel-admin:9091', '127.0.0.1:1', '[::1]:2', '127.0.0.1:1'])).toEqual([
      'http://10.0.0.1:9091',
      'http://[fd00::1]:9091',
      'http://127.0.0.1:1',
      'http://[::1]:2',
    ])
  })

  it('keeps its last addresses while the name server fails, and drops them when the name has none', async () => {
    let answer: Resolve = async () => [{ address: '10.0.0.1', family: 4 }]
    const originsOf = createAddresses((hostname) => answer(hostname))
    const found = async () => (await originsOf(['tunnel-admin:9091'])).length
    expect(await found()).toBe(1)
    for (const code of ['EAI_AGAIN', 'ESERVFAIL', 'ETIMEOUT']) {
      answer = () => failWith(code)
      expect([code, await found(), await found()]).toEqual([code, 1, 1])
    }
    answer = () => failWith('ENOTFOUND')
    expect(await found()).toBe(0)
    answer = () => failWith('EAI_AGAIN')
    expect(await found()).toBe(0)
  })
})
