/** Bundles that replicas of several releases share. */

import { createHash } from 'node:crypto'
import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createContent } from '../../../tunnel/src/sdk/content.ts'
import { SharedBundles } from '../../../tunnel/src/sdk/shared-bundles.ts'

/** Returns the file of a bundle with this text. */
const fileOf = (text: string) => `errors-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.js`

const bundle = (text: string) => [fileOf(text), createContent(Buffer.from(text))] as const

/** Starts a replica of a release that has the bundles of these texts. */
async function startReplica(files: Map<string, Uint8Array>, texts: string[]) {
  const failures: unknown[] = []
  const replica = new SharedBundles({
    own: new Map(texts.map(bundle)),
    store: {
      read: async (file) => (files.has(file) ? new Uint8Array(files.get(file) ?? []) : undefined),
      write: async (bundles) => {
        for (const [file, bytes] of bundles) files.set(file, bytes)
      },
    },
    now: Date.now,
    onFailure: (error) => failures.push(error),
  })
  await replica.start()
  return Object.assign(replica, { failures, [Symbol.dispose]: () => replica.stop() })
}

const textOf = async (replica: SharedBundles, file: string) => {
  const content = await replica.read(file)
  return content && Buffer.from(content.bodies.identity).toString()
}

describe('SharedBundles', () => {
  it('has the bundles of an earlier and of a later release', async () => {
    const files = new Map<string, Uint8Array>()
    using first = await startReplica(files, ['first'])
    using second = await startReplica(files, ['second'])
    expect(await textOf(second, fileOf('first'))).toBe('first')
    expect(await textOf(first, fileOf('second'))).toBe('second')
    expect([...first.failures, ...second.failures]).toEqual([])
  })

  it('serves no file whose content is not that of its name', async () => {
    const bomb = '0'.repeat(5 * 1024 * 1024)
    const files = new Map<string, Uint8Array>([
      [fileOf('right'), brotliCompressSync('wrong')],
      [fileOf('damaged'), Buffer.from('no brotli')],
      [fileOf(bomb), brotliCompressSync(bomb)],
    ])
    using replica = await startReplica(files, [])
    for (const text of ['right', 'damaged', bomb]) expect(await textOf(replica, fileOf(text))).toBeUndefined()
  })

  it.each(['../spool.db', 'errors.js', 'errors-0123456789abcdef.js.new'])('asks for no %s', async (file) => {
    using replica = await startReplica(new Map([[file, brotliCompressSync('text')]]), [])
    expect(await replica.read(file)).toBeUndefined()
  })

  it('reports once that nothing can be written, and starts', async () => {
    const failures: unknown[] = []
    const store = { read: async () => undefined, write: () => Promise.reject(new Error('full')) }
    const onFailure = (error: unknown) => failures.push(error)
    const replica = new SharedBundles({ own: new Map(), store, now: Date.now, onFailure })
    await replica.start()
    await replica.start()
    replica.stop()
    expect(failures).toEqual([new Error('full')])
  })
})

describe('SharedBundles.read', () => {
  /** Opens bundles of a store that answers as `answer` says. `reads` counts its calls. */
  function open(answer: () => Promise<Uint8Array<ArrayBuffer> | undefined>) {
    const state = { reads: 0, now: 0, failures: [] as unknown[] }
    const read = () => {
      state.reads++
      return answer()
    }
    const bundles = new SharedBundles({
      own: new Map(),
      store: { read, write: async () => {} },
      now: () => state.now,
      onFailure: (error, operation) => state.failures.push([operation, error]),
    })
    return { bundles, state }
  }

  it('reads a bundle once for concurrent requests, and decompresses it once', async () => {
    const [file, { bodies }] = bundle('text')
    const { bundles, state } = open(async () => bodies.br)
    const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => bundles.read(file)))
    expect(first).toBeDefined()
    for (const content of others) expect(content).toBe(first)
    expect(await bundles.read(file)).toBe(first)
    expect(state.reads).toBe(1)
  })

  it('remembers for 5 s that a bundle is missing', async () => {
    const { bundles, state } = open(async () => undefined)
    for (const now of [0, 4_999]) {
      state.now = now
      expect(await bundles.read(fileOf('text'))).toBeUndefined()
    }
    expect(state.reads).toBe(1)
    state.now = 5_000
    await bundles.read(fileOf('text'))
    expect(state.reads).toBe(2)
  })

  it('rejects when the store fails, reports the first failure, and tries again', async () => {
    const [file, { bodies }] = bundle('text')
    const error = new Error('disk')
    const answers = [error, error, bodies.br]
    const { bundles, state } = open(async () => {
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer
    })
    for (const _ of ['first', 'second']) await expect(bundles.read(file)).rejects.toBe(error)
    expect(await bundles.read(file)).toBeDefined()
    expect(state.failures).toEqual([['read', error]])
  })
})
