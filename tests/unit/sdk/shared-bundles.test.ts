/** Bundles that replicas of several releases share. */

import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it, vi } from 'vitest'
import { createContent } from '../../../tunnel/src/sdk/content.ts'
import { BundleFolder, SharedBundles } from '../../../tunnel/src/sdk/shared-bundles.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const HOUR_MS = 60 * 60 * 1000

/** Returns the file of a bundle with this text. */
const fileOf = (text: string) => `errors-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.js`

const bundle = (text: string) => [fileOf(text), createContent(Buffer.from(text))] as const

/** Starts a replica of a release that has the bundles of these texts. */
async function startReplica(folder: string, texts: string[], now = Date.now()) {
  const failures: unknown[] = []
  const replica = new SharedBundles({
    own: new Map(texts.map(bundle)),
    store: () => new BundleFolder(folder, () => now),
    now: () => now,
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
    await using folder = await makeFolder()
    using first = await startReplica(folder.path, ['first'])
    using second = await startReplica(folder.path, ['second'])
    expect(await textOf(second, fileOf('first'))).toBe('first')
    expect(await textOf(first, fileOf('second'))).toBe('second')
    expect([...first.failures, ...second.failures]).toEqual([])
  })

  it('has a bundle for a day after the last replica of its release, and removes it then', async () => {
    await using folder = await makeFolder()
    using first = await startReplica(folder.path, ['first'])
    first.stop()
    using nextDay = await startReplica(folder.path, ['second'], Date.now() + 24 * HOUR_MS)
    expect(await textOf(nextDay, fileOf('first'))).toBe('first')
    using later = await startReplica(folder.path, ['third'], Date.now() + 26 * HOUR_MS)
    expect(await textOf(later, fileOf('first'))).toBeUndefined()
    expect((await readdir(folder.path)).sort()).toEqual([fileOf('second'), fileOf('third')].sort())
  })

  it('keeps the 40 newest files', async () => {
    await using folder = await makeFolder()
    for (let i = 0; i < 5; i++) {
      const texts = Array.from({ length: 10 }, (_, n) => `${i} ${n}`)
      using _ = await startReplica(folder.path, texts, Date.now() + i * 1000)
    }
    const files = await readdir(folder.path)
    expect(files).toHaveLength(40)
    expect(files).not.toContain(fileOf('0 0'))
  })

  it('serves no file whose content is not that of its name', async () => {
    await using folder = await makeFolder()
    using replica = await startReplica(folder.path, [])
    await writeFile(join(folder.path, fileOf('right')), brotliCompressSync('wrong'))
    await writeFile(join(folder.path, fileOf('damaged')), 'no brotli')
    const bomb = '0'.repeat(5 * 1024 * 1024)
    await writeFile(join(folder.path, fileOf(bomb)), brotliCompressSync(bomb))
    for (const text of ['right', 'damaged', bomb]) expect(await textOf(replica, fileOf(text))).toBeUndefined()
  })

  it.each(['../spool.db', 'errors.js', 'errors-0123456789abcdef.js.new', 'errors-0123456789abcdef.js'])(
    'has no %s',
    async (file) => {
      await using folder = await makeFolder()
      using replica = await startReplica(join(folder.path, 'sdk-bundles'), ['text'])
      await writeFile(join(folder.path, 'spool.db'), brotliCompressSync('text'))
      expect(await replica.read(file)).toBeUndefined()
    },
  )

  it('reports once that the folder cannot be written, and starts', async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'file')
    await writeFile(file, '')
    using replica = await startReplica(file, ['text'])
    expect(replica.failures).toEqual([expect.objectContaining({ code: 'EEXIST' })])
    await expect(replica.read(fileOf('text'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it('removes the partial file of a failed write', async () => {
    await using folder = await makeFolder()
    const [file, { bodies }] = bundle('text')
    await mkdir(join(folder.path, file, 'in the way'), { recursive: true })
    const store = new BundleFolder(folder.path, Date.now)
    await expect(store.write(new Map([[file, bodies.br]]))).rejects.toMatchObject({ code: 'EISDIR' })
    expect(await readdir(folder.path)).toEqual([file])
  })

  it('keeps the bundles of an earlier release beside many partial and other files', async () => {
    await using folder = await makeFolder()
    using _first = await startReplica(folder.path, ['first'])
    const hourAgo = new Date(Date.now() - HOUR_MS)
    const hourLater = new Date(Date.now() + HOUR_MS)
    for (let i = 0; i < 50; i++) {
      await writeFile(join(folder.path, `${i}.new`), '')
      await utimes(join(folder.path, `${i}.new`), hourAgo, hourAgo)
      await writeFile(join(folder.path, `${i}.txt`), '')
      await utimes(join(folder.path, `${i}.txt`), hourLater, hourLater)
    }
    await writeFile(join(folder.path, 'current.new'), '')
    using second = await startReplica(folder.path, ['second'])
    expect(await textOf(second, fileOf('first'))).toBe('first')
    const names = await readdir(folder.path)
    expect(names.filter((name) => name.endsWith('.new'))).toEqual(['current.new'])
    expect(names.filter((name) => name.endsWith('.txt'))).toHaveLength(50)
  })

  it('removes the write permission of other users from the folder', async () => {
    await using folder = await makeFolder()
    await chmod(folder.path, 0o777)
    using replica = await startReplica(folder.path, ['text'])
    expect(replica.failures).toEqual([])
    expect((await stat(folder.path)).mode & 0o777).toBe(0o700)
  })

  it('neither reads nor writes a folder of another user', async () => {
    await using folder = await makeFolder()
    const [file, { bodies }] = bundle('text')
    await writeFile(join(folder.path, file), bodies.br)
    const { uid } = await stat(folder.path)
    using _ = vi.spyOn(process, 'getuid').mockReturnValue(uid + 1)
    using replica = await startReplica(folder.path, ['other'])
    const message = expect.stringContaining(`belongs to the user ${uid}, not to ${uid + 1}`)
    expect(replica.failures).toEqual([expect.objectContaining({ message })])
    await expect(replica.read(file)).rejects.toMatchObject({ message })
    expect(await readdir(folder.path)).toEqual([file])
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
      store: () => ({ read, write: async () => {} }),
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
