/** Backup of a SQLite spool while a tunnel writes to it, by the command of `docs/storage.md`. */

import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { attachmentOf, errorOf } from '../../support/envelopes.ts'
import { NODE, ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startSentry } from '../../support/sentry/sentry.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const PAGE = readFileSync(join(ROOT, 'docs/storage.md'), 'utf8')
const [, SCRIPT = ''] = /exec -T tunnel sh -c '(.*?)' > spool\.tgz/s.exec(PAGE) ?? []

const LARGE = 2 * 1024 * 1024
const idOf = (n: number) => n.toString(16).padStart(32, '0')

it('an online backup has every envelope that was acknowledged before it, with large bodies', {
  timeout: 180_000,
}, async () => {
  await using sentry = await startSentry()
  sentry.answer({ status: 503 })
  await using folder = await makeFolder()
  const live = join(folder.path, 'live')
  const restored = join(folder.path, 'restored')
  for (const path of [live, restored]) mkdirSync(path, { mode: 0o700 })
  const startIn = (path: string) =>
    startTunnel({ env: { SENTRY_DSN: sentry.dsn(), SPOOL_URL: `file://${path}/spool.db` } })
  await using tunnel = await startIn(live)
  const postError = (n: number) => post(tunnel.url, { body: errorOf(sentry.dsn(), { event_id: idOf(n) }) })
  for (let n = 1; n <= 200; n++) expect(await postError(n)).toMatchObject({ outcome: 'spooled' })
  const large = attachmentOf(sentry.dsn(), Buffer.alloc(LARGE, 'a'), { event_id: idOf(201) })
  expect(await post(tunnel.url, { body: large })).toMatchObject({ outcome: 'spooled' })

  const meanwhile = Promise.all(Array.from({ length: 50 }, (_, n) => postError(202 + n)))
  const env = { ...process.env, PATH: `${dirname(NODE)}:${process.env.PATH}` }
  const options = { env, encoding: 'buffer', maxBuffer: 64 * LARGE } as const
  const { stdout: backup } = await promisify(execFile)('sh', ['-c', SCRIPT.replace('/spool', live)], options)
  expect((await meanwhile).map(({ outcome }) => outcome)).toEqual(Array(50).fill('spooled'))
  execFileSync('tar', ['-C', restored, '-xz'], { input: backup })
  await tunnel.stop()

  sentry.requests.length = 0
  sentry.answer({})
  await using _ = await startIn(restored)
  const delivered = () => new Set(sentry.requests.map(({ header }) => header.event_id))
  const acknowledged = Array.from({ length: 201 }, (_, n) => idOf(n + 1))
  await expect.poll(() => acknowledged.filter((id) => !delivered().has(id)), { timeout: 60_000 }).toEqual([])
})
