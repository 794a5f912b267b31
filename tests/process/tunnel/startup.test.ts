/** Start of a tunnel process with settings that it rejects. */

import { describe, expect, it } from 'vitest'
import { problemsOf } from '../../support/tunnel/problems.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const DSN = 'https://key@o1.ingest.us.sentry.io/2'

describe('A tunnel with HOST=::', () => {
  it.each(['127.0.0.1', '[::1]'])('answers at %s', async (host) => {
    await using tunnel = await startTunnel({ env: { HOST: '::' } })
    const { status } = await fetch(`http://${host}:${tunnel.port}/monitoring`)
    expect(status).toBe(405)
  })
})

describe('A tunnel with invalid settings', () => {
  it('exits with 1 and prints each problem on its own line', async () => {
    const env = { PORT: '-1', TUNNEL_PATHS: '/lab', SENTRY_DSN: 'hello' }
    const starting = startTunnel({ env })
    await expect(starting).rejects.toThrow(/^The tunnel ended with 1:/)
    const said = await starting.catch((error: Error) => error.message.split('\n').slice(1))
    expect(said).toEqual(['culvert tunnel: cannot start, 3 problem(s):', ...problemsOf(env)])
  })

  it.each([
    [
      { BODY_DIR: '/dev/null/bodies' },
      /^BODY_DIR: "\/dev\/null\/bodies" cannot be written to; write .+ \(E.+\)$/,
    ],
    [
      { SENTRY_DSN: DSN, SPOOL_URL: 'file:///dev/null/spool.db' },
      /^SPOOL_URL: the spool cannot be opened; .+ \(E.+\)$/,
    ],
    [
      { HOST: '192.0.2.1', ADMIN_PORT: '127.0.0.1:0' },
      /^PORT: \d+ cannot be listened at; write .+ \(listen EADDRNOTAVAIL: .+\)$/,
    ],
  ])('does not start with %j, and prints in one line what to write instead', async (env, words) => {
    const starting = startTunnel({ env })
    const said = await starting.then(
      () => [],
      (error: Error) => error.message.split('\n').slice(1),
    )
    expect(said).toEqual(['culvert tunnel: cannot start, 1 problem(s):', expect.stringMatching(words)])
  })

  it('exits when another process listens at its port', async () => {
    await using first = await startTunnel()
    for (const name of ['PORT', 'ADMIN_PORT'])
      await expect(startTunnel({ env: { [name]: String(first.port) } })).rejects.toThrow(
        new RegExp(`\n${name}: ${first.port} cannot be listened at; write .+ \\(listen EADDRINUSE: .+\\)$`),
      )
  })
})
