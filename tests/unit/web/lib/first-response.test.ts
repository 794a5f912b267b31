/** Requests that any tunnel of a store can answer. */

import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { firstResponse } from '../../../../web/lib/first-response.ts'
import { listen } from '../../../support/listen.ts'

/** Answers of the tunnels by name: a status, an error, or none. */
function requestsTo(answers: Record<string, number | 'fails' | 'hangs'>, hangsMs?: number) {
  const asked: string[] = []
  const aborted: string[] = []
  const ask = (origin: string, signal: AbortSignal) => {
    asked.push(origin)
    signal.addEventListener('abort', () => aborted.push(origin))
    const answer = answers[origin]
    if (answer === 'hangs')
      return new Promise<Response>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
    return answer === 'fails'
      ? Promise.reject(new Error('refused'))
      : Promise.resolve(new Response(origin, { status: answer ?? 200 }))
  }
  return { asked, aborted, read: () => firstResponse(Object.keys(answers), ask, hangsMs) }
}

describe('firstResponse', () => {
  it('asks one tunnel, and no other one', async () => {
    const { read, asked, aborted } = requestsTo({ a: 404, b: 200 })
    expect((await read())?.status).toBe(404)
    expect([asked, aborted]).toEqual([['a'], []])
  })

  it.each(['fails', 503] as const)('asks the next one at once after %s', async (answer) => {
    const before = performance.now()
    expect(await (await requestsTo({ a: answer, b: 200 }).read())?.text()).toBe('b')
    expect(performance.now() - before).toBeLessThan(300) // after which it would ask the next one anyway
  })

  it('asks the next one beside a tunnel that hangs, whose request it aborts', async () => {
    const { read, asked, aborted } = requestsTo({ a: 'hangs', b: 200, c: 200 })
    expect(await (await read())?.text()).toBe('b')
    await sleep(0) // the aborted request ends
    expect([asked, aborted]).toEqual([['a', 'b'], ['a']])
  })

  it('asks further ones beside two that hang, each after a longer time', async () => {
    const { read, asked, aborted } = requestsTo({ a: 'hangs', b: 'hangs', c: 200, d: 200 }, 20)
    const before = performance.now()
    expect(await (await read())?.text()).toBe('c')
    expect(performance.now() - before).toBeGreaterThan(50) // 20 ms and 40 ms, not twice the same
    await sleep(0) // the aborted requests end
    expect([asked, aborted]).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b'],
    ])
  })

  it('returns the last failure, and nothing without a response', async () => {
    expect((await requestsTo({ a: 503, b: 'fails' }).read())?.status).toBe(503)
    expect(await requestsTo({ a: 'fails' }).read()).toBeUndefined()
    expect(await requestsTo({}).read()).toBeUndefined()
  })

  it('lets the body of the last failure be read, which has the reason', async () => {
    const server = createServer((_, response) => {
      response.writeHead(503).write('The store ')
      setTimeout(() => response.end('does not answer'), 50)
    })
    await using listening = await listen(server)
    const origins = [`http://127.0.0.1:${listening.port}`]
    const response = await firstResponse(origins, (origin, signal) => fetch(origin, { signal }))
    expect(await response?.text()).toBe('The store does not answer')
  })
})
