/** Bundles that replicas of several releases share. */

import { createHash } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
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
    expect(await replica.read(fileOf('text'))).toBeUndefined()
  })
})
