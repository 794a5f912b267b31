/** Lifetime of sessions, and the delay after wrong passwords, with an injected clock. */

import { beforeEach, describe, expect, it } from 'vitest'
import { networkOf, networksAround } from '../../../../../contract/networks.ts'
import {
  createDevices,
  createSessions,
  createSignInThrottle,
  createThrottle,
} from '../../../../../web/features/console/session/sign-ins.ts'
import { createQueue, QueueFull } from '../../../../../web/lib/password.ts'

const SECOND = 1_000
const HOUR = 60 * 60 * SECOND

let time: number

beforeEach(() => {
  time = 1_000_000
})

/** Keeper of the tunnels. `isAway`: it does not respond. */
function createKeeper() {
  const kept = new Set<string>()
  const keeper = {
    isAway: false,
    isOpen: async (id: string) => (keeper.isAway ? undefined : kept.has(id)),
    open: async (id: string) => !keeper.isAway && kept.add(id).has(id),
    close: async (id: string) => {
      if (!keeper.isAway) kept.delete(id)
      return !keeper.isAway
    },
  }
  return keeper
}

describe('Session store', () => {
  let keeper: ReturnType<typeof createKeeper>
  const startWeb = () => createSessions(() => time, keeper)

  beforeEach(() => {
    keeper = createKeeper()
  })

  it('ends a session after 12 hours, also when it is in use', async () => {
    const sessions = startWeb()
    const id = await sessions.open()
    for (let hour = 0; hour < 12; hour++) {
      expect(await sessions.isOpen(id)).toBe(true)
      time += HOUR
    }
    expect(await sessions.isOpen(id)).toBe(false)
  })

  it('ends a session at once when it is closed, also of another web and after a restart, and no other', async () => {
    const [sessions, elsewhere] = [startWeb(), startWeb()]
    const [mine, other] = [await sessions.open(), await sessions.open()]
    expect(await elsewhere.isOpen(mine)).toBe(true)
    await sessions.close(mine)
    time += 10 * SECOND
    for (const web of [sessions, elsewhere, startWeb()])
      expect([await web.isOpen(mine), await web.isOpen(other)]).toEqual([false, true])
  })

  it('decides alone while no tunnel responds, and knows no session after a restart then', async () => {
    keeper.isAway = true
    const sessions = startWeb()
    const [mine, closed] = [await sessions.open(), await sessions.open()]
    await sessions.close(closed)
    time += 10 * SECOND
    expect([await sessions.isOpen(mine), await sessions.isOpen(closed)]).toEqual([true, false])
    expect(await startWeb().isOpen(mine)).toBe(false)
  })

  it('tells the tunnels of sessions that began and ended without them', async () => {
    const sessions = startWeb()
    const closed = await sessions.open()
    keeper.isAway = true
    const mine = await sessions.open()
    await sessions.close(closed)
    keeper.isAway = false
    time += 10 * SECOND
    expect([await sessions.isOpen(mine), await sessions.isOpen(closed)]).toEqual([true, false])
    expect(await startWeb().isOpen(mine)).toBe(true)
    await expect.poll(() => startWeb().isOpen(closed)).toBe(false)
  })

  it('creates random IDs, and finds no session for names of Object.prototype', async () => {
    const sessions = startWeb()
    const ids = await Promise.all(Array.from({ length: 100 }, () => sessions.open()))
    expect(new Set(ids).size).toBe(100)
    for (const id of ids) expect(Buffer.from(id, 'base64url')).toHaveLength(32)
    for (const id of ['', '__proto__', 'constructor', 'undefined'])
      expect(await sessions.isOpen(id)).toBe(false)
  })
})

const take = (tries: ReturnType<typeof createThrottle>, network: string) =>
  tries.take(networksAround(network))

describe('The delay of sign-in attempts', () => {
  it('starts after five failures from one network and doubles up to 15 min', () => {
    const tries = createThrottle(() => time)
    expect(Array.from({ length: 5 }, () => take(tries, 'a'))).toEqual([0, 0, 0, 0, 0])
    const waits: number[] = []
    for (let n = 0; n < 13; n++) {
      const wait = take(tries, 'a')
      waits.push(wait)
      time += wait * SECOND - 1
      expect(take(tries, 'a')).toBe(1) // a moment too early, and not counted
      time += 1
      expect(take(tries, 'a')).toBe(0)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900])
  })

  it('applies to one network only, and ends with the right password', () => {
    const tries = createThrottle(() => time)
    for (let n = 0; n < 5; n++) take(tries, 'a')
    expect([take(tries, 'a'), take(tries, 'b')]).toEqual([1, 0])
    tries.forgive(networksAround('a'))
    expect(Array.from({ length: 5 }, () => take(tries, 'a'))).toEqual([0, 0, 0, 0, 0])
  })

  it('is kept for 10,000 networks, of which the least recent is dropped first', () => {
    const tries = createThrottle(() => time)
    for (let n = 0; n < 5; n++) for (const network of ['first', 'second']) take(tries, network)
    for (let n = 0; n < 9_999; n++) take(tries, `other-${n}`)
    expect([take(tries, 'second'), take(tries, 'first')]).toEqual([1, 0])
  })
})

describe('The delay of sign-in attempts over IPv6', () => {
  /** Makes an attempt from each of 250 networks that `address` returns, and returns how many had no wait. */
  const attemptFrom = (tries: ReturnType<typeof createThrottle>, address: (n: string) => string) =>
    Array.from({ length: 250 }, (_, n) => take(tries, networkOf(address(n.toString(16))))).filter(
      (wait) => wait === 0,
    ).length

  it('starts after 5 failures from a /64, 10 from a /56 and 20 from a /48', () => {
    const tries = createThrottle(() => time)
    expect(attemptFrom(tries, (n) => `2a00:1:1:1::${n}`)).toBe(5)
    expect(attemptFrom(tries, (n) => `2a00:1:2:${n.slice(-2)}::1`)).toBe(10)
    expect(attemptFrom(tries, (n) => `2a00:1:3:${n}00::1`)).toBe(20)
    expect(take(tries, networkOf('2a00:1:4::1'))).toBe(0)
  })

  it('is as before when an attempt was not checked', () => {
    const attempts = createSignInThrottle(() => time)
    for (let n = 0; n < 100; n++) {
      const attempt = attempts.begin(networkOf('2a00::1'), undefined)
      expect(attempt.wait).toBe(0)
      attempt.withdraw()
    }
  })
})

describe('createSignInThrottle', () => {
  const failUntilDelayed = (begin: () => { wait: number }) => {
    for (let n = 0; n < 50 && begin().wait === 0; n++);
    return begin().wait
  }

  it('is not applied to a known device whose network has used up its attempts', () => {
    const attempts = createSignInThrottle(() => time)
    expect(failUntilDelayed(() => attempts.begin('a', undefined))).toBeGreaterThan(0)
    expect(attempts.begin('a', 'laptop').wait).toBe(0)
  })

  it('is applied to a device with too many failures, and not to other devices or its network', () => {
    const attempts = createSignInThrottle(() => time)
    for (let n = 0; n < 5; n++) expect(attempts.begin('a', 'stolen').wait).toBe(0)
    expect(failUntilDelayed(() => attempts.begin('a', 'stolen'))).toBeGreaterThan(0) // delayed as its network
    expect(attempts.begin('a', 'laptop').wait).toBe(0)
    expect(attempts.begin('b', undefined).wait).toBe(0)
  })

  it('counts the attempts of a delayed device for its network', () => {
    const attempts = createSignInThrottle(() => time)
    for (let n = 0; n < 10; n++) expect(attempts.begin('a', 'stolen').wait).toBe(0)
    expect(attempts.begin('a', undefined).wait).toBeGreaterThan(0)
  })

  it('is not changed for a network when a known device there signs in', () => {
    const attempts = createSignInThrottle(() => time)
    const wait = failUntilDelayed(() => attempts.begin('a', undefined))
    attempts.begin('a', 'laptop').succeed()
    expect(attempts.begin('a', undefined).wait).toBe(wait)
  })
})

describe('createDevices', () => {
  const DAY = 24 * HOUR
  const devices = createDevices('key', () => time)

  it('identifies its own cookie for 180 days', () => {
    const cookie = devices.issue()
    const id = devices.identify(cookie)
    expect(id).toMatch(/^[\w-]{22}$/)
    time += 180 * DAY - 1
    expect(devices.identify(cookie)).toBe(id)
    time += 1
    expect(devices.identify(cookie)).toBeUndefined()
  })

  it('rejects a cookie that is forged, modified or signed with another key', () => {
    const cookie = devices.issue()
    const [id, expires, signature] = cookie.split('.')
    const later = `${id}.${Number(expires) + DAY}.${signature}`
    const other = `${'A'.repeat(22)}.${expires}.${signature}`
    const another = createDevices('another', () => time).issue()
    for (const forged of [undefined, '', 'x', later, other, another, `${cookie}x`, cookie.slice(0, -1)])
      expect(devices.identify(forged)).toBeUndefined()
  })

  it('gives each cookie its own ID', () => {
    const ids = Array.from({ length: 100 }, () => devices.identify(devices.issue()))
    expect(new Set(ids).size).toBe(100)
  })
})

describe('createQueue', () => {
  it('runs one task after the other in order, also after one that fails', async () => {
    const inTurn = createQueue(8)
    let running = 0
    const most: number[] = []
    const task = (n: number) =>
      inTurn('last', async () => {
        most.push(++running)
        await new Promise(setImmediate)
        running--
        if (n === 1) throw new Error('failed')
        return n
      }).catch(() => 'failed')
    expect(await Promise.all([0, 1, 2, 3].map(task))).toEqual([0, 'failed', 2, 3])
    expect(most).toEqual([1, 1, 1, 1])
  })

  it('lets at most eight tasks wait, known devices before all others and in their place', async () => {
    const inTurn = createQueue(8)
    const order: string[] = []
    const run = (turn: 'first' | 'last', name: string) =>
      inTurn(turn, async () => void order.push(name)).catch((error) => {
        expect(error).toBeInstanceOf(QueueFull)
        order.push(`${name} refused`)
      })
    const others = Array.from({ length: 10 }, (_, n) => run('last', `other ${n}`))
    const devices = Array.from({ length: 2 }, (_, n) => run('first', `device ${n}`))
    await Promise.all([...others, ...devices])
    const refused = order.filter((name) => name.endsWith('refused'))
    expect(refused.sort()).toEqual(['other 7 refused', 'other 8 refused', 'other 9 refused'])
    expect(order.filter((name) => !name.endsWith('refused'))).toEqual([
      'other 0',
      'device 0',
      'device 1',
      ...[1, 2, 3, 4, 5, 6].map((n) => `other ${n}`),
    ])
  })
})
