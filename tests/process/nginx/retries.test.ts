/** Retries on tunnel paths: every replica while nothing was sent, and one more replica after one has died. */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { expectRejection } from '../../support/nginx/expected-rejection.ts'
import { startNginx } from '../../support/nginx/nginx.ts'
import { startSilent } from '../../support/nginx/unresponsive-server.ts'
import { post } from '../../support/post.ts'
import { startUpstream, type Upstream } from '../../support/recording-server.ts'
import { requires } from '../../support/requirements.ts'

const CLOSED_PORT = '127.0.0.1:1' // nothing listens there
const POISON = 'poison'
const FIRST_ROUND_MS = 700 // twice 150 ms, and some
const ON_DISK = 300_000 // bytes, more than nginx buffers in memory

let started = new AsyncDisposableStack()

afterEach(async () => {
  await started.disposeAsync()
  started = new AsyncDisposableStack()
})

/** Starts nginx in front of four replicas that die when they receive a poisonous envelope. */
async function startReplicas() {
  const replicas = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) =>
      startUpstream(name, ({ body }, response) => {
        if (body.toString().startsWith(POISON)) replicaOf(name).die()
        else response.end(name)
      }),
    ),
  )
  for (const replica of replicas) started.use(replica)
  const tunnels = replicas.map(({ address }) => address)
  const nginx = started.use(await startNginx({ tunnels, web: CLOSED_PORT }))
  return { replicas, nginx }

  function replicaOf(name: string): Upstream {
    return replicas['abcd'.indexOf(name)] as Upstream
  }
}

describe('An envelope that kills each replica it reaches', requires('nginx'), () => {
  it.each([
    ['small', POISON],
    ['on disk', POISON.padEnd(ON_DISK, '.')],
  ])('kills two of four, and the response is tunnel-away (%s)', async (_, body) => {
    const { replicas, nginx } = await startReplicas()
    expectRejection(await post(nginx.url, { body }), 'tunnel-away')
    const dead = replicas.filter(({ server }) => !server.listening)
    expect(dead).toHaveLength(2)
    expect(replicas.flatMap(({ asked }) => asked).map((one) => one.body.length)).toEqual([
      body.length,
      body.length,
    ])
    const answers = await Promise.all(Array.from({ length: 16 }, () => post(nginx.url, { body: 'honest' })))
    expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200))
  })

  it('has X-Culvert-Retry on its second attempt only, also when the client sends the header', async () => {
    const { replicas, nginx } = await startReplicas()
    await post(nginx.url, { body: 'honest', headers: { 'x-culvert-retry': '1' } })
    const marks = () => replicas.flatMap(({ asked }) => asked.map((one) => one.headers['x-culvert-retry']))
    expect(marks()).toEqual([undefined])
    await post(nginx.url, { body: POISON, headers: { 'x-culvert-retry': '1' } })
    expect(marks().toSorted()).toEqual(['1', undefined, undefined])
  })
})

describe('A valid envelope', requires('nginx'), () => {
  it('has no X-Culvert-Retry on its second attempt when the first one reached no replica', async () => {
    const silent = started.use(await startSilent())
    const nginx = started.use(await startNginx({ tunnels: [silent.address], web: CLOSED_PORT }))
    const answer = post(nginx.url, { body: 'honest' })
    await sleep(FIRST_ROUND_MS) // the start of the second round cannot be observed
    silent.wake()
    const { status, json } = await answer
    expect(status).toBe(200)
    expect(json).not.toHaveProperty('x-culvert-retry')
  })

  it('is delivered without X-Culvert-Retry while three of four replicas refuse connections', async () => {
    const kind = started.use(await startUpstream('kind'))
    const tunnels = [CLOSED_PORT, '127.0.0.1:2', '127.0.0.1:3', kind.address]
    const nginx = started.use(await startNginx({ tunnels, web: CLOSED_PORT }))
    const answers = await Promise.all(Array.from({ length: 16 }, () => post(nginx.url, { body: 'honest' })))
    expect(answers.map(({ text }) => text)).toEqual(Array(16).fill('kind'))
    for (const { headers } of kind.asked) expect(headers).not.toHaveProperty('x-culvert-retry')
  })

  it.each([
    ['two', 2, 'honest'],
    ['four', 4, 'honest'],
    ['four, with a body on disk', 4, 'honest'.padEnd(ON_DISK, '.')],
  ])('is delivered when one of %s replicas dies while it handles many', async (_, count, body) => {
    let holding = false
    let held = 0
    const reached = Promise.withResolvers<void>()
    const victim = started.use(
      await startUpstream('victim', (_, response) => {
        if (!holding) return void response.end('victim')
        if (++held === 8) reached.resolve()
      }),
    )
    const others = Array.from({ length: count - 1 }, () => startUpstream('survivor'))
    const survivors = await Promise.all(others)
    for (const survivor of survivors) started.use(survivor)
    const tunnels = [victim, ...survivors].map(({ address }) => address)
    const nginx = started.use(await startNginx({ tunnels, web: CLOSED_PORT }))
    await Promise.all(Array.from({ length: count * 16 }, () => post(nginx.url, { body }))) // kept connections to all of them
    holding = true
    const posts = Array.from({ length: count * 8 }, () => post(nginx.url, { body }))
    await reached.promise
    victim.die()
    const answers = await Promise.all(posts)
    expect(answers.map(({ text }) => text)).toEqual(Array(count * 8).fill('survivor'))
    const asked = survivors.flatMap((survivor) => survivor.asked)
    expect(asked.filter(({ headers }) => headers['x-culvert-retry'] === '1')).toHaveLength(8)
    for (const one of asked) expect(one.body.toString()).toBe(body)
  })

  it('is delivered right after each replica has failed', async () => {
    const replicas = await Promise.all(
      ['a', 'b'].map((name) =>
        startUpstream(name, ({ body }, response) => {
          if (body.toString() === POISON) response.destroy()
          else response.end(name)
        }),
      ),
    )
    for (const replica of replicas) started.use(replica)
    const tunnels = replicas.map(({ address }) => address)
    const nginx = started.use(await startNginx({ tunnels, web: CLOSED_PORT }))
    expectRejection(await post(nginx.url, { body: POISON }), 'tunnel-away')
    expect((await post(nginx.url, { body: 'honest' })).status).toBe(200)
  })
})
