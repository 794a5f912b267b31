/** Memory of web and size of its pages with hostile envelopes. */

import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InboxEntry, InboxGroup, InboxGroups } from '../../../contract/inbox.ts'
import { startFakeTunnel } from '../../support/tunnel/fake-admin-port.ts'
import { get, PASSWORD, signIn } from '../../support/web/operator.ts'
import { startWeb, type Web } from '../../support/web/web.ts'

const MB = 1_000_000
const ENVELOPE_BYTES = 65 * MB
const HEADER = '{"event_id":"e"}\n'
const MOST_PAGE_BYTES = 2 * MB
const MOST_MEMORY_MB = 340 // 192 MiB of heap, which garbage fills whatever a page needs, and 139 MB
const MOST_CONTAINER_MB = 0.75 * 536 // of 512 MiB
/** Flags of the web image, which may use 512 MB. */
const NODE_OPTIONS = '--max-old-space-size=192 --max-semi-space-size=1'

const part = (type: string, payload: string) =>
  `{"type":"${type}","length":${Buffer.byteLength(payload)}}\n${payload}\n`
const repeated = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length))
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const contexts = (count: number) =>
  Array.from({ length: count }, (_, n) => `"c${n}":[${Array(15).fill(nested(47)).join()}]`).join()
const event = part('event', `{"contexts":{${contexts(200)}}}`)

/** Elements that are repeated until the envelope is large enough. */
const HOSTILE: Record<string, { first?: string; each: string }> = {
  'nested-contexts': { first: event, each: part('attachment', repeated('x', 500_000)) },
  'empty-objects': { each: part('log', `{"items":[${repeated('{},', 990_000)}{}]}`) },
  spans: {
    first: part('span', `{"items":[${repeated('{"name":"\\"\\"<<","start_timestamp":1},', 990_000)}{}]}`),
    each: part('replay_recording', repeated('\u0001', 5 * MB)),
  },
  'small-items': { each: repeated('{"type":"x","length":0}\n\n', 24 * 10_000) },
  'one-item': { first: `{"type":"text","length":${ENVELOPE_BYTES}}\n`, each: repeated('<"', 100_000) },
}

function* chunksOf({ first = '', each }: { first?: string; each: string }, bytes: number): Generator<Buffer> {
  const [start, chunk] = [Buffer.from(HEADER + first), Buffer.from(each)]
  yield start.subarray(0, bytes)
  for (let sent = start.length; sent < bytes; sent += chunk.length) yield chunk.subarray(0, bytes - sent)
}

describe('web', () => {
  const started = new AsyncDisposableStack()
  let web: Web
  let cookie: string | undefined

  beforeAll(async () => {
    const groups = Array.from({ length: 50 }, (_, n): InboxGroup => {
      const newest: InboxEntry = {
        ...{
          id: `${n}`,
          time: n,
          event_id: null,
          bytes: ENVELOPE_BYTES,
          group: `${n}`,
          kind: '<'.repeat(64),
        },
        ...{
          title: '<'.repeat(300),
          culprit: '"'.repeat(200),
          browser: '',
          is_error: true,
          release: '"'.repeat(200),
          environment: '&'.repeat(64),
        },
        ...{ replay: '', segment: null, raised: null, types: ['event', ...Array(99).fill('"'.repeat(64))] },
      }
      return { envelopes: 2, users: 1, first: 0, newest, counts: Array(24).fill(n) }
    })
    const names = Array.from({ length: 50 }, (_, n) => '"'.repeat(190) + n)
    const page: InboxGroups = { inbox: 'one', groups, releases: names, environments: names }
    const tunnel = await startFakeTunnel('one', {
      'GET /inbox/groups': (_, response) => response.end(JSON.stringify(page)),
      ...Object.fromEntries(
        Object.entries(HOSTILE).map(([name, hostile]) => [
          `GET /inbox/${name}`,
          (request, response) => {
            const first = Number(new URL(request.url ?? '', 'http://tunnel').searchParams.get('first'))
            if (first > 0) response.setHeader('x-envelope-bytes', ENVELOPE_BYTES)
            void pipeline(Readable.from(chunksOf(hostile, first || ENVELOPE_BYTES)), response).catch(() => {})
          },
        ]),
      ),
    })
    const { adminUrl } = started.use(tunnel)
    web = started.use(
      await startWeb({
        ...{ NODE_OPTIONS, OPERATOR_PASSWORD: PASSWORD, ADMIN_TOKEN: 'token-of-the-tests' },
        TUNNEL_ADMIN: new URL(adminUrl).host,
      }),
    )
    cookie = (await signIn(web.url)).cookie
  }, 300_000)

  afterAll(() => started.disposeAsync())

  const peakMemory = () =>
    Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${web.pid}/status`, 'utf8'))?.[1]) / 1_000

  async function sizeOf(path: string): Promise<number> {
    const response = await get(web.url + path, cookie)
    expect(response.status).toBe(200)
    let bytes = 0
    for await (const chunk of response.body ?? []) bytes += chunk.length
    return bytes
  }

  it.each(Object.keys(HOSTILE))('renders %s of 65 MB on a page below 2 MB, within 340 MB', async (name) => {
    expect(await sizeOf(`/console/inbox/${name}`)).toBeLessThan(MOST_PAGE_BYTES)
    expect(peakMemory()).toBeLessThan(MOST_MEMORY_MB)
  })

  it('lists the inbox on a page below 2 MB, within 340 MB', async () => {
    expect(await sizeOf('/console/inbox')).toBeLessThan(MOST_PAGE_BYTES)
    expect(peakMemory()).toBeLessThan(MOST_MEMORY_MB)
  })

  it('serves an envelope of 65 MB and an item of it within 75 % of the memory limit', async () => {
    expect(await sizeOf('/console/inbox/one-item/envelope')).toBe(ENVELOPE_BYTES)
    const headers = Buffer.byteLength(HEADER + HOSTILE['one-item']?.first)
    expect(await sizeOf('/console/inbox/one-item/items/0')).toBe(ENVELOPE_BYTES - headers)
    expect(peakMemory()).toBeLessThan(MOST_CONTAINER_MB) // chunks in transit are collected late
  })
})
