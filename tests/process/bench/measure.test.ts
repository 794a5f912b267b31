/** Measurements in which the counters disagree are rejected. */

import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { measure } from '../../../bench/cost/measure.ts'
import { dsnsOf } from '../../../bench/load/projects.ts'
import { buildRequests } from '../../../bench/load/requests.ts'
import { openSink, type Sink } from '../../../bench/load/sink.ts'
import { Invalid } from '../../../bench/report/run.ts'
import { requires } from '../../support/requirements.ts'

const POSTS = 20

it('measure accepts a run when sink and tunnel counted each posted envelope', requires('proc'), async () => {
  const { posts } = await run({ passesOn: () => true, counts: { 'log lines': POSTS } })
  expect(posts).toBe(POSTS)
})

it('measure rejects a run when one envelope did not reach the sink', requires('proc'), async () => {
  const running = run({ passesOn: (nth) => nth !== 7 })
  await expect(running).rejects.toThrow(Invalid)
  await expect(running).rejects.toThrow('20 posts, 19 arrived at the sink')
})

it('measure rejects a run when bytes of an envelope did not reach the sink', requires('proc'), async () => {
  await expect(run({ passesOn: () => true, cut: 1 })).rejects.toThrow(/bytes posted, \d+ arrived at the sink/)
})

it('measure rejects a run when the counts of the tunnel differ', requires('proc'), async () => {
  const running = run({ passesOn: () => true, counts: { 'log lines': POSTS, receipts: POSTS - 1 } })
  await expect(running).rejects.toThrow('20 posts, 19 receipts')
})

type Behaviour = { passesOn: (nth: number) => boolean; cut?: number; counts?: Record<string, number> }

/** Takes a sample through a server that always answers 200. */
async function run({ passesOn, cut = 0, counts = {} }: Behaviour) {
  await using sink = await openSink()
  let taken = 0
  const server = createServer(async (incoming, answer) => {
    const body = Buffer.concat(await Array.fromAsync(incoming))
    if (passesOn(++taken)) await post(sink, body.subarray(cut))
    answer.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const subject = {
    ...{
      name: 'it',
      posted: 0,
      connections: 4,
      requests: buildRequests('1 KB session', dsnsOf(sink.port, 1)),
    },
    server: {
      ...{ port, pids: () => [process.pid], counts: async () => counts },
      [Symbol.asyncDispose]: async () => {},
    },
  }
  try {
    return await measure(subject, sink, POSTS)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function post({ port }: Sink, body: Buffer): Promise<void> {
  const sent = request({ host: '127.0.0.1', port, method: 'POST', agent: false }).end(body)
  const [answer] = await once(sent, 'response')
  await Array.fromAsync(answer)
}
