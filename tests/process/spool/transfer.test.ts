/** `npm run spool -- export|import`: what waits is moved from one kind of store to another, and nothing of it is lost on the way. */

import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseNatsUrl } from '../../../tunnel/src/spool/jetstream/nats-url.ts'
import { openJetStreamSpool } from '../../../tunnel/src/spool/jetstream/store.ts'
import type { Found, Spool, Waiting } from '../../../tunnel/src/spool/spool.ts'
import { openSqliteSpool } from '../../../tunnel/src/spool/sqlite/client.ts'
import { copyOut } from '../../../tunnel/src/spool/transfer.ts'
import { attachmentOf, errorOf } from '../../support/envelopes.ts'
import { startNats } from '../../support/nats/nats.ts'
import { NODE } from '../../support/node.ts'
import { startProgram } from '../../support/program.ts'
import { requires } from '../../support/requirements.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { inOne, LARGE_BYTES, PLENTY, waitingOf } from '../../support/spool/entries.ts'
import { bytesOf, plain } from '../../support/spool/operations.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'
import { until } from '../../support/until.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const MANY = 3_000

describe('What waits in a spool', { timeout: 120_000 }, () => {
  let scope: AsyncDisposableStack
  let folder: string

  beforeEach(async () => {
    scope = new AsyncDisposableStack()
    folder = scope.use(await makeFolder()).path
  })

  afterEach(() => scope.disposeAsync())

  const sqlite = (name: string) => pathToFileURL(join(folder, name, 'spool.db')).href

  it(
    'goes from SQLite through a file to NATS JetStream and is delivered, byte for byte',
    requires('nats'),
    async () => {
      const sentry = scope.use(await startSentry())
      const nats = scope.use(await startNats())
      const bodies = [
        ...Array.from({ length: 20 }, (_, n) => errorOf(sentry.dsn(), { n })),
        attachmentOf(sentry.dsn(), Buffer.from(Array.from({ length: 256 }, (_, i) => i))),
        attachmentOf(sentry.dsn(), randomBytes(LARGE_BYTES)),
      ]
      await fill(sqlite('a'), bodies, { project: sentry.dsn() })
      const before = await contentsOf(sqlite('a'))
      expect(before).toHaveLength(bodies.length)

      expect(await move(sqlite('a'), 'export', file(), '--move')).toMatchObject({ code: 0 })
      expect(await contentsOf(sqlite('a'))).toEqual([])
      expect(statSync(file()).mode & 0o077).toBe(0)
      expect(await move(nats.url, 'import', file())).toMatchObject({ code: 0 })
      expect(await move(nats.url, 'import', file())).toMatchObject({
        code: 0,
        said: expect.stringMatching(/^0 envelopes/),
      })
      expect(await contentsOf(nats.url)).toEqual(before)

      scope.use(await startTunnel({ env: { SENTRY_DSN: sentry.dsn(), SPOOL_URL: nats.url } }))
      await until(async () => sentry.requests.length >= bodies.length)
      const arrived = sentry.requests.map(({ body }) => body.toString('base64'))
      expect(arrived.sort()).toEqual(bodies.map((body) => body.toString('base64')).sort())
      for (const { headers } of sentry.requests) expect(headers['user-agent']).toBe('Mozilla/5.0 (tests)')
    },
  )

  it('goes from NATS JetStream to SQLite with all that is known of it', requires('nats'), async () => {
    const nats = scope.use(await startNats())
    await fill(nats.url, [randomBytes(10), Buffer.alloc(0), randomBytes(LARGE_BYTES)])
    const before = await contentsOf(nats.url)
    expect(before).toHaveLength(3)
    const copied = await move(nats.url, 'export', file())
    expect(copied).toMatchObject({ code: 0, said: expect.stringContaining('wait in the spool as before') })
    expect(await contentsOf(nats.url)).toEqual(before)
    await move(sqlite('b'), 'import', file())
    expect(await contentsOf(sqlite('b'))).toEqual(before)
    await fill(sqlite('b'), []) // and another replica opens it meanwhile
    expect(await move(sqlite('b'), 'import', file())).toMatchObject({ code: 0 })
    expect(await contentsOf(sqlite('b'))).toEqual(before)
  })

  it('is in the file or in the spool when the export is killed, and all of it where it should be when it is done again', async () => {
    await fill(
      sqlite('a'),
      Array.from({ length: MANY }, () => randomBytes(2_000)),
    )
    const keys = (await contentsOf(sqlite('a'))).map(({ key }) => key)
    const exporting = start(sqlite('a'), 'export', file(), '--move')
    await until(async () => (statSync(file(), { throwIfNoEntry: false })?.size ?? 0) > 1_000_000)
    await exporting.kill()
    const left = (await contentsOf(sqlite('a'))).length
    expect(left).toBeLessThan(MANY)
    expect(left).toBeGreaterThan(0)

    const first = await move(sqlite('b'), 'import', file())
    expect(first).toMatchObject({ code: 1, words: expect.stringMatching(/was not written to the last/) })
    expect(await move(sqlite('a'), 'export', file('rest'), '--move')).toMatchObject({ code: 0 })
    const importing = start(sqlite('b'), 'import', file('rest'))
    await until(async () => statSync(`${file('rest')}.imported`, { throwIfNoEntry: false }) !== undefined)
    await importing.kill()
    expect(await move(sqlite('b'), 'import', file('rest'))).toMatchObject({ code: 0 })
    expect((await contentsOf(sqlite('b'))).map(({ key }) => key).sort()).toEqual(keys.sort())
  })

  it('is refused from a file that is damaged, and kept as far as it is whole', async () => {
    await fill(sqlite('a'), [randomBytes(100), randomBytes(100)])
    await move(sqlite('a'), 'export', file())
    const bytes = readFileSync(file())
    const at = bytes.length - 60 // in the second body
    bytes[at] = (bytes[at] ?? 0) ^ 1
    writeFileSync(file(), bytes)
    const { code, words } = await move(sqlite('b'), 'import', file())
    expect({ code, words }).toEqual({ code: 1, words: expect.stringMatching(/is damaged, .+ at byte \d+/) })
    expect(await contentsOf(sqlite('b'))).toHaveLength(1)
    writeFileSync(file('other'), 'hello\n')
    expect(await move(sqlite('b'), 'import', file('other'))).toMatchObject({
      code: 1,
      words: expect.stringContaining('is no file that a spool'),
    })
  })

  it('is put in from a file that bears the name of one that was put in before', async () => {
    await fill(sqlite('a'), [Buffer.from('old 1'), Buffer.from('old 2')])
    await move(sqlite('a'), 'export', file(), '--move')
    await move(sqlite('b'), 'import', file())
    rmSync(file())
    await fill(sqlite('a'), [Buffer.from('new 1'), Buffer.from('new 2')])
    await move(sqlite('a'), 'export', file(), '--move')
    expect(await move(sqlite('b'), 'import', file())).toMatchObject({ code: 0 })
    const bodies = (await contentsOf(sqlite('b'))).map(({ body }) => Buffer.from(body, 'base64').toString())
    expect(bodies.sort()).toEqual(['new 1', 'new 2', 'old 1', 'old 2'])
  })

  it('is copied without what comes to its end while it is written', async () => {
    await fill(sqlite('a'), [randomBytes(100), randomBytes(LARGE_BYTES), randomBytes(100)])
    const exported = await withSpool(sqlite('a'), (spool) => {
      async function read(found: Found) {
        const body = await spool.read(found)
        if (found.bytes === LARGE_BYTES) await spool.purge({ one: found })
        return body
      }
      return copyOut({ ...spool, read: (waiting) => read(waiting as Found) }, file())
    })
    expect(exported).toMatchObject({ envelopes: 2, bytes: 200 })
    expect(await move(sqlite('b'), 'import', file())).toMatchObject({ code: 0 })
    expect(await contentsOf(sqlite('b'))).toEqual(await contentsOf(sqlite('a')))
  })

  it('is not written over what is in a file, and a spool that is too small says so and takes the rest later', async () => {
    await fill(
      sqlite('a'),
      Array.from({ length: 40 }, () => randomBytes(50_000)),
    )
    await move(sqlite('a'), 'export', file())
    expect(await move(sqlite('a'), 'export', file())).toMatchObject({
      code: 1,
      words: expect.stringMatching(/EEXIST.+; name another file, or take this one away/),
    })
    expect(await move(sqlite('a'), 'import', file('none'))).toMatchObject({
      code: 1,
      words: expect.stringMatching(/ENOENT.+; look whether it is there; .+ name one in \/spool/),
    })
    const small = await move(sqlite('b'), 'import', file(), { SPOOL_BYTES: String(1024 * 1024) })
    expect(small).toMatchObject({ code: 1, words: expect.stringContaining('the spool is full') })
    expect(await move(sqlite('b'), 'import', file())).toMatchObject({ code: 0 })
    expect(await contentsOf(sqlite('b'))).toEqual(await contentsOf(sqlite('a')))
  })

  it('takes nothing else’s room: what waits there already, however unimportant, would be lost and not be told', async () => {
    await fill(sqlite('a'), [randomBytes(300_000)])
    await move(sqlite('a'), 'export', file())
    const replays = Array.from({ length: 3 }, () => randomBytes(300_000))
    await fill(sqlite('b'), replays, { category: 'replay', priority: 3 })
    const before = await contentsOf(sqlite('b'))
    const full = await move(sqlite('b'), 'import', file(), { SPOOL_BYTES: String(1024 * 1024) })
    expect(full).toMatchObject({ code: 1, words: expect.stringContaining('the spool is full') })
    expect(await contentsOf(sqlite('b'))).toEqual(before)
  })

  function file(name = 'waiting'): string {
    return join(folder, name)
  }

  function start(url: string, ...args: string[]) {
    return startProgram('The mover', NODE, ['tunnel/src/move-spool.ts', ...args], { SPOOL_URL: url })
  }

  /** To its end. */
  async function move(url: string, ...given: (string | Record<string, string>)[]) {
    const args = given.filter((each) => typeof each === 'string')
    const env = Object.assign({ SPOOL_URL: url }, ...given.filter((each) => typeof each !== 'string'))
    const program = startProgram('The mover', NODE, ['tunnel/src/move-spool.ts', ...args], env)
    const { code } = await program.exited
    return { code, said: program.stdout.join('\n'), words: program.stderr.join('\n') }
  }
})

async function withSpool<T>(url: string, act: (spool: Spool) => Promise<T>): Promise<T> {
  const nats = parseNatsUrl(url)
  const spool = nats
    ? await openJetStreamSpool(nats, { ...PLENTY, ageMs: DAY_MS }, Date.now)
    : await openSqliteSpool(new URL(url).pathname, PLENTY)
  return act(spool).finally(() => spool.close())
}

function fill(url: string, bodies: readonly Buffer[], parts: Partial<Waiting> = {}): Promise<void> {
  return withSpool(url, async (spool) => {
    const put = async (body: Buffer) =>
      spool.put(await waitingOf(body, { network: '203.0.113.7', ...parts }), inOne(body), 0)
    for (const { kind } of await Promise.all(bodies.map(put))) expect(kind).toBe('stored')
  })
}

/** All that waits, with its bytes, by age. */
function contentsOf(url: string) {
  return withSpool(url, async (spool) => {
    const all: Found[] = []
    for (let after: Found | undefined; ; after = all.at(-1)) {
      const page = await spool.list({ order: 'oldest', limit: 500, ...(after && { after }) })
      all.push(...page)
      if (page.length === 0) break
    }
    const read = async (found: Found) => ({
      ...plain(found),
      body: Buffer.from(await bytesOf(await spool.read(found))).toString('base64'),
    })
    return (await Promise.all(all.map(read))).sort((a, b) => a.received - b.received)
  })
}
