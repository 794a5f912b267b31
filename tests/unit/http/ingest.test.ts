/** Pipeline: one outcome per envelope, and release of all memory. */

import { readdirSync, rmSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Receipt } from '../../../contract/admin-api.ts'
import { parseDsn } from '../../../contract/dsn.ts'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { Bodies, type BodySettings } from '../../../tunnel/src/envelope/body/bodies.ts'
import { MemoryBudget } from '../../../tunnel/src/envelope/body/memory-budget.ts'
import { DEFAULT_HEADER_LIMITS } from '../../../tunnel/src/envelope/headers.ts'
import { createForwarding } from '../../../tunnel/src/forward/forwarding.ts'
import { UpstreamLimits } from '../../../tunnel/src/forward/limits/upstream-limits.ts'
import type { Transport } from '../../../tunnel/src/forward/upstream/upstream-client.ts'
import { createClientResolver } from '../../../tunnel/src/http/client-address.ts'
import { Ingest } from '../../../tunnel/src/http/ingest.ts'
import { OpenBodies } from '../../../tunnel/src/http/receive.ts'
import { RejectionSamples } from '../../../tunnel/src/observe/rejection-samples.ts'
import { SdkInventory } from '../../../tunnel/src/observe/sdk-inventory.ts'
import { ClientReports } from '../../../tunnel/src/pipeline/client-reports.ts'
import { createProjects } from '../../../tunnel/src/pipeline/projects.ts'
import { Filters } from '../../../tunnel/src/policy/filters/filters.ts'
import { ProxyFaults } from '../../../tunnel/src/policy/proxy-detection.ts'
import { Throttle } from '../../../tunnel/src/policy/throttle.ts'
import { openStore } from '../../../tunnel/src/store/open-store.ts'
import { attachmentOf, envelopeOf, errorOf } from '../../support/envelopes.ts'
import { openInThisThread } from '../../support/spool/same-thread.ts'
import { makeMemoryFolder } from '../../support/temporary-folder.ts'
import { settingsOf } from '../../support/tunnel/running.ts'

const DSN = 'https://a@sentry.example/1'
const LONG_HEADER = { sdk: { name: 'x', packages: 'y'.repeat(10_000) } }

/** Builds a request with its whole body, or with a part of it when `isCut`. */
function requestOf(body: Buffer, headers: IncomingMessage['headers'] = {}, isCut = false): IncomingMessage {
  const incoming = new IncomingMessage(
    Object.defineProperty(new Socket(), 'remoteAddress', { value: '203.0.113.7' }),
  )
  incoming.url = '/monitoring'
  incoming.headers = headers
  incoming.push(body)
  if (isCut) incoming.destroy()
  else incoming.push(null)
  return incoming
}

/** Upstream that answers every envelope. */
function answering(status: number, onRequest = () => {}): Transport {
  return {
    dispatch(_, request) {
      onRequest()
      request.onResponseStart({ abort: () => {} }, status, {})
      request.onResponseEnd()
    },
    destroy: async () => {},
  }
}

async function createIngest(
  folder: string,
  transport = answering(200),
  bodySettings: Partial<BodySettings> = {},
) {
  const projects = createProjects([parseDsn(DSN)].flatMap((dsn) => dsn ?? []))
  const memory = new MemoryBudget(1024 * 1024, 1024)
  const recorded: Receipt[] = []
  const bugs: unknown[] = []
  const filters = new Filters({ nextNoise: true, on: new Set(), messages: [], releases: [], addresses: [] })
  const oneEnvelope = { addressRate: 1e-9, addressBurst: 1, addressBytes: 0 }
  const limits = { maxBytes: 1024 * 1024, shareBytes: 1024 * 1024, dir: '/nonexistent', timeoutMs: 10_000 }
  const onFileFault = (error: unknown) => bugs.push(error)
  const bodies = new Bodies({ ...limits, onFileFault, ...bodySettings }, memory)
  const upstreamLimits = new UpstreamLimits(Date.now)
  const config = readConfig({ SENTRY_DSN: DSN, ...settingsOf(folder) })
  const onNotice = (notice: string) => bugs.push(notice)
  const ofStore = { projectShare: 1, kept: config.keep, now: Date.now, onNotice }
  const forwarding = createForwarding({
    ...{ config, projects, limits: upstreamLimits, memory, bodies, ...ofStore },
    store: await openStore(config.spool, { ...ofStore, openSpoolFile: openInThisThread }),
    clock: () => performance.now(),
    onBreakerChange: (change) => bugs.push(change),
    onHealthChange: (health) => bugs.push(health),
    openTransport: () => transport,
  })
  const ingest = new Ingest({
    resolveClient: createClientResolver([], []),
    proxyFaults: new ProxyFaults(() => 0),
    projects,
    bodies,
    memory,
    openBodies: new OpenBodies(),
    filters,
    limits: upstreamLimits,
    throttle: new Throttle(oneEnvelope, () => performance.now()),
    reports: new ClientReports(async () => true, Date.now),
    storms: undefined,
    quotas: undefined,
    scrubbing: undefined,
    mirrors: undefined,
    clientAddress: 'forward',
    forwarding,
    upstreamEncoding: 'off',
    keeping: undefined,
    keptBytes: 0,
    onKeepFault: (error) => bugs.push(error),
    sdkInventory: new SdkInventory(projects),
    allowedOrigins: new Set(),
    itemSizes: {},
    reader: { ...DEFAULT_HEADER_LIMITS, items: 100, keep: filters.reads },
    maxBytes: limits.maxBytes,
    browserReports: { types: new Set(), release: undefined, environment: 'test' },
    tunnelPaths: [],
    replica: 'tunnel-1',
    receipts: { record: (receipt) => `token-${recorded.push(receipt)}` },
    rejectionSamples: new RejectionSamples(Date.now),
    now: Date.now,
    clock: () => performance.now(),
    onBug: (error) => bugs.push(error),
  })
  return { ingest, memory, recorded, bugs, spool: forwarding.spool }
}

const noise = envelopeOf({ dsn: DSN, ...LONG_HEADER }, [
  { header: { type: 'transaction' }, payload: '{"transaction":"/404"}' },
])
const twoEvents = envelopeOf({ dsn: DSN }, [
  { header: { type: 'event' }, payload: '{}' },
  { header: { type: 'event' }, payload: '{}' },
])

const bomb = gzipSync(attachmentOf(DSN, Buffer.alloc(2 * 1024 * 1024)))

describe('Ingest', () => {
  let opened: AsyncDisposableStack

  beforeEach(() => {
    opened = new AsyncDisposableStack()
  })

  afterEach(() => opened.disposeAsync())

  async function open(...args: [transport?: Transport, bodySettings?: Partial<BodySettings>]) {
    const created = await createIngest(opened.use(await makeMemoryFolder()).path, ...args)
    opened.defer(() => created.spool.close())
    return created
  }

  it.each<[outcome: string, reason: string | undefined, status: number, request: () => IncomingMessage]>([
    ['delivered', undefined, 200, () => requestOf(errorOf(DSN, LONG_HEADER))],
    ['delivered', undefined, 200, () => requestOf(gzipSync(errorOf(DSN)), { 'content-encoding': 'gzip' })],
    ['filtered', 'next-noise', 200, () => requestOf(noise)],
    ['filtered', 'empty', 200, () => requestOf(envelopeOf({ dsn: DSN }, []))],
    ['rejected', 'origin-foreign', 403, () => requestOf(errorOf(DSN), { 'sec-fetch-site': 'cross-site' })],
    ['rejected', 'dsn-unknown', 403, () => requestOf(errorOf('https://b@sentry.example/1', LONG_HEADER))],
    ['rejected', 'item-too-many', 413, () => requestOf(twoEvents)],
    ['rejected', 'envelope-too-large', 413, () => requestOf(bomb, { 'content-encoding': 'gzip' })],
    ['rejected', 'empty-body', 400, () => requestOf(Buffer.alloc(0))],
    ['rejected', 'items-missing', 400, () => requestOf(Buffer.from('{"message":"x"}'))],
    ['rejected', 'items-missing', 400, () => requestOf(envelopeOf({ dsn: DSN, message: 'x' }, []))],
    ['aborted', undefined, 400, () => requestOf(errorOf(DSN, LONG_HEADER), {}, true)],
  ])('records %s (%s) once and releases all memory', async (answer, reason, status, request) => {
    const { ingest, memory, recorded, bugs } = await open()
    const handled = ingest.handle(request())
    await ingest.idle()
    const response = await handled
    expect(bugs).toEqual([])
    expect(response.status).toBe(status)
    expect(recorded).toHaveLength(1)
    expect(recorded[0]).toMatchObject({ outcome: answer, ...(reason && { reason }) })
    expect(response.headers['x-culvert-receipt']).toBe('token-1')
    expect(ingest.inFlight()).toBe(0)
    expect(memory.usedBytes()).toBe(0)
  })

  it.each([
    ['delivered', 200],
    ['spooled', 503],
  ])('records %s once when the file of the body was removed before its release', async (outcome, status) => {
    const dir = opened.use(await makeMemoryFolder()).path
    const files = () => readdirSync(dir).map((name) => join(dir, name))
    const removed: string[] = []
    const transport = answering(status, () => {
      for (const file of files()) {
        removed.push(file)
        rmSync(file)
      }
    })
    const noted = Promise.withResolvers<unknown>()
    const { ingest, recorded, bugs } = await open(transport, {
      ...{ dir, shareBytes: 16, onFileFault: noted.resolve },
    })
    const response = await ingest.handle(requestOf(errorOf(DSN)))
    expect(response.status).toBe(200)
    expect(removed).toHaveLength(1)
    expect(recorded).toMatchObject([{ outcome }])
    expect(await noted.promise).toMatchObject({ code: 'ENOENT' })
    expect(bugs).toEqual([])
  })

  it('records rate_limited when the limit of the client address is used up, and releases all memory', async () => {
    const { ingest, memory, recorded } = await open()
    await ingest.handle(requestOf(errorOf(DSN)))
    const response = await ingest.handle(requestOf(errorOf(DSN)))
    expect(response.status).toBe(429)
    expect(response.headers['x-sentry-rate-limits']).toMatch(/^10:/)
    expect(recorded[1]).toMatchObject({ outcome: 'rate_limited', reason: 'throttled' })
    expect(memory.usedBytes()).toBe(0)
  })

  it('returns tunnel-busy for more than 32 KiB of headers while the memory budget is used up', async () => {
    const { ingest, memory, recorded } = await open()
    const others = 2 * 1024 * 1024
    memory.reserve(others)
    const header = { sdk: { name: 'x', packages: 'y'.repeat(40_000) } }
    await ingest.handle(requestOf(errorOf(DSN, header)))
    expect(recorded[0]).toMatchObject({ outcome: 'rejected', reason: 'tunnel-busy', status: 503 })
    expect(memory.usedBytes()).toBe(others)
  })

  it('charges the client address for an envelope of which a filter removes all items', async () => {
    const { ingest, recorded } = await open()
    await ingest.handle(requestOf(noise))
    await ingest.handle(requestOf(errorOf(DSN)))
    expect(recorded.map(({ outcome: answer }) => answer)).toEqual(['filtered', 'rate_limited'])
  })

  it('answers a connectivity probe and records nothing', async () => {
    const { ingest, memory, recorded } = await open()
    const response = await ingest.handle(requestOf(Buffer.from('{}\n')))
    expect(response).toMatchObject({ status: 200, body: '{}' })
    expect(recorded).toEqual([])
    expect(memory.usedBytes()).toBe(0)
  })
})
