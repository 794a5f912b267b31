/** Time limits of an attempt: the late limit counts from the post, the deadline from the first sent byte. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseDsn } from '../../../../contract/dsn.ts'
import type { OutgoingBody } from '../../../../tunnel/src/envelope/body/outgoing.ts'
import { UpstreamLimits } from '../../../../tunnel/src/forward/limits/upstream-limits.ts'
import type { DeliveryAttempt } from '../../../../tunnel/src/forward/upstream/request.ts'
import { UpstreamClient } from '../../../../tunnel/src/forward/upstream/upstream-client.ts'
import { createProjects } from '../../../../tunnel/src/pipeline/projects.ts'
import { attachmentOf, errorOf } from '../../../support/envelopes.ts'
import { type Sentry, startSentry } from '../../../support/sentry/sentry.ts'

const LARGE_BYTES = 1024 * 1024
const NOT_SENT = { kind: 'undecided', reason: 'not-sent' }

const SENDER = { network: '' }

describe('An attempt that waits for the only connection', () => {
  let scope: AsyncDisposableStack
  let sentry: Sentry
  let gate: PromiseWithResolvers<object>

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    sentry = scope.use(await startSentry())
    gate = Promise.withResolvers()
  })

  afterEach(() => scope.disposeAsync())

  function open(times: { lateMs: number; answerMs: number }) {
    const projects = createProjects([parseDsn(sentry.dsn())].flatMap((parsed) => parsed ?? []))
    const settings = { connectMs: 10_000, connections: 1, proxies: undefined, ...times }
    const client = new UpstreamClient(projects.all, settings, new UpstreamLimits(Date.now), () => 0)
    scope.defer(() => client.close())
    const [project] = projects.all
    if (!project) throw new Error('no project')
    const send = (): DeliveryAttempt => client.send(project, bodyOf(errorOf(sentry.dsn())), [], SENDER)
    const large = bodyOf(attachmentOf(sentry.dsn(), Buffer.alloc(LARGE_BYTES)))
    const sendLarge = (): DeliveryAttempt => client.send(project, large, [], SENDER)
    return { client, send, sendLarge, isOpen: () => client.isOpen(project.origin) }
  }

  it('is never sent after it was dropped', async () => {
    sentry.once(() => gate.promise)
    const { send } = open({ lateMs: 100, answerMs: 60_000 })
    const [first, second] = [send(), send()]
    expect(await Promise.all([first.soon, second.soon])).toEqual(['late', 'late'])
    first.drop() // has no effect: it was sent
    second.drop()
    expect(await second.final).toMatchObject(NOT_SENT)
    gate.resolve({})
    expect(await first.final).toMatchObject({ kind: 'answered' })
    expect(await send().final).toMatchObject({ kind: 'answered' })
    expect(sentry.requests).toHaveLength(2)
  })

  it('does not count for the circuit breaker while its body is large', async () => {
    sentry.once(() => gate.promise)
    const { send, sendLarge, isOpen } = open({ lateMs: 50, answerMs: 60_000 })
    const large = Array.from({ length: 12 }, sendLarge)
    for (const { soon } of large) expect(await soon).toBe('late')
    for (const attempt of large) attempt.drop()
    expect(isOpen()).toBe(false)
    await Promise.all(Array.from({ length: 12 }, () => send().soon))
    expect(isOpen()).toBe(true)
    gate.resolve({})
    expect(await large[0]?.final).toMatchObject({ kind: 'answered' })
    expect(isOpen()).toBe(false)
  })

  it('has its whole deadline from its first byte', async () => {
    const [delayMs, answerMs] = [900, 1_500]
    sentry.answer({ delayMs })
    const { send } = open({ lateMs: answerMs, answerMs })
    const results = await Promise.all([send().final, send().final])
    expect(results).toMatchObject([{ kind: 'answered' }, { kind: 'answered' }])
    expect(sentry.requests).toHaveLength(2)
  })

  it('ends at the deadline, and the next one is sent', async () => {
    sentry.once('silent')
    const { send } = open({ lateMs: 700, answerMs: 1_000 })
    const started = performance.now()
    expect(await send().final).toMatchObject({ kind: 'undecided', reason: 'deadline' })
    expect(performance.now() - started).toBeGreaterThanOrEqual(999)
    expect(await send().final).toMatchObject({ kind: 'answered' })
  })

  it('ends when the client closes', async () => {
    sentry.once('silent')
    const { client, send } = open({ lateMs: 30_000, answerMs: 60_000 })
    const attempts = Array.from({ length: 200 }, send)
    await sentry.next()
    await client.close()
    const ended = Promise.all(attempts.map(({ final }) => final))
    for (const result of await ended) expect(result).toMatchObject({ kind: 'undecided' })
    expect(sentry.requests).toHaveLength(1)
  })
})

function bodyOf(bytes: Buffer): OutgoingBody {
  return { content: () => [bytes], bytes: bytes.length, encoding: 'identity' }
}
