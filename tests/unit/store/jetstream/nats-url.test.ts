/** Forms of `SPOOL_URL` for NATS, and the message for each invalid one. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeNats, parseNatsCredentials, parseNatsUrl } from '../../../../contract/nats-url.ts'
import { BadSettings, readConfig } from '../../../../tunnel/src/config/config.ts'
import { makeFolder } from '../../../support/temporary-folder.ts'

const DSN = 'https://key@sentry.example/1'
const PLAIN = { tls: false, replicas: 1, credentials: undefined }

describe('SPOOL_URL', () => {
  it.each([
    ['nats://nats', { ...PLAIN, servers: ['nats:4222'] }],
    ['nats://a:4222,b:4223,[::1]/', { ...PLAIN, servers: ['a:4222', 'b:4223', '[::1]:4222'] }],
    ['tls://a?replicas=3', { ...PLAIN, servers: ['a:4222'], tls: true, replicas: 3 }],
    [
      'nats://spool:p%40ss@a,b',
      { ...PLAIN, servers: ['a:4222', 'b:4222'], credentials: { user: 'spool', pass: 'p@ss' } },
    ],
    ['nats://t0ken@a', { ...PLAIN, servers: ['a:4222'], credentials: { token: 't0ken' } }],
  ])('is parsed into servers and credentials: %s', (url, address) =>
    expect(parseNatsUrl(url)).toEqual(address),
  )

  it.each([
    'nats://',
    'nats://a:0',
    'nats://a:99999',
    'nats://a,,b',
    'http://a',
    'nats://a?replicas=2',
    'nats://%@a',
  ])('is rejected when it is invalid: %s', (url) => expect(parseNatsUrl(url)).toBeUndefined())

  it('is rejected in a message without the password', () => {
    const rejection = problemsOf('nats://spool:secret@a:b:c')
    expect(rejection).toMatch(
      /^SPOOL_URL: "nats:\/\/…@a:b:c" is not a spool; write file:\/\/\/spool\/spool\.db /,
    )
  })

  it('is shown without its credentials', () => {
    const address = parseNatsUrl('tls://spool:secret@a,b?replicas=3')
    expect(address && describeNats(address)).toBe('tls://a:4222,b:4222?replicas=3')
  })
})

describe('SPOOL_CREDENTIALS_FILE', () => {
  it.each([
    ['culvert:s3:cr@t\n', { user: 'culvert', pass: 's3:cr@t' }],
    ['culvert', undefined],
    ['culvert:', undefined],
    ['culvert:one\nculvert:two\n', undefined],
  ])('is read as one line user:password: %j', (text, credentials) =>
    expect(parseNatsCredentials(text)).toEqual(credentials),
  )

  it('is rejected in a message without the password', async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'credentials')
    await writeFile(file, 'secret')
    expect(problemsOf('nats://a', file)).toBe(
      'SPOOL_CREDENTIALS: these are no credentials; write one line user:password',
    )
    expect(problemsOf('nats://a', folder.path)).toMatch(/^SPOOL_CREDENTIALS_FILE: ".+" cannot be read; /)
  })

  it('gives way to SPOOL_CREDENTIALS, since Compose always sets it', async () => {
    await using folder = await makeFolder()
    const SPOOL_CREDENTIALS_FILE = join(folder.path, 'credentials')
    await writeFile(SPOOL_CREDENTIALS_FILE, 'generated:secret')
    const env = { SENTRY_DSN: DSN, SPOOL_URL: 'nats://a', SPOOL_CREDENTIALS_FILE }
    const spool = (given: object) => readConfig({ ...env, ...given }).spool.place
    expect(spool({})).toMatchObject({ nats: { credentials: { user: 'generated' } } })
    expect(spool({ SPOOL_CREDENTIALS: 'own:secret' })).toMatchObject({
      nats: { credentials: { user: 'own' } },
    })
  })

  it('may be a file that does not exist', () => {
    expect(problemsOf('nats://a', '/nowhere/credentials')).toBe('')
  })
})

function problemsOf(url: string, file?: string): string {
  try {
    readConfig({ SENTRY_DSN: DSN, SPOOL_URL: url, SPOOL_CREDENTIALS_FILE: file })
  } catch (error) {
    if (error instanceof BadSettings) return error.problems.join('\n')
    throw error
  }
  return ''
}
