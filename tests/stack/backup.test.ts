/** Backup of the spool: entries survive the containers and move to another machine. */

import { describe, expect, it } from 'vitest'
import { BRIDGE, startCompose } from '../support/docker/compose.ts'
import { errorOf } from '../support/envelopes.ts'
import { post } from '../support/post.ts'
import { requires } from '../support/requirements.ts'
import { startSentry } from '../support/sentry/sentry.ts'
import { makeFolder } from '../support/temporary-folder.ts'

const IMAGE = process.env.NODE_IMAGE || 'node:24-slim'
const SERVICES = ['nginx', 'tunnel']

describe('The spool of compose', requires('docker'), () => {
  it('survives docker compose down, is part of a backup, and is delivered from a restored one', async () => {
    await using folder = await makeFolder()
    await using sentry = await startSentry({ host: BRIDGE })
    await using stack = await startCompose({ services: SERVICES, env: { SENTRY_DSN: sentry.dsn() } })
    const volume = `${stack.project}_spool`
    const tar = (mount: string, ...args: string[]) =>
      stack.docker(
        'run',
        '--rm',
        '-v',
        mount,
        '-v',
        `${folder.path}:/backup`,
        IMAGE,
        'tar',
        '-C',
        '/spool',
        ...args,
      )

    await sentry.away()
    const body = errorOf(sentry.dsn())
    expect((await post(stack.url, { body })).outcome).toBe('spooled')

    await stack.compose('down')
    await tar(`${volume}:/spool:ro`, '-czf', '/backup/spool.tgz', '.')
    await stack.docker('volume', 'rm', volume)

    await stack.compose('create', ...SERVICES)
    await tar(`${volume}:/spool`, '-xzf', '/backup/spool.tgz')
    await sentry.back()
    await stack.up(...SERVICES)
    const { body: delivered } = await sentry.next(() => true)
    expect(String(delivered)).toContain(String(body).split('\n').slice(1).join('\n'))
  })
})
