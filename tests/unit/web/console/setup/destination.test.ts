/** Destination of reports, from the form of the set-up. */

import { expect, it } from 'vitest'
import { INBOX_DSN } from '../../../../../tunnel/src/envelope/dsn.ts'
import { readDestination } from '../../../../../web/features/console/setup/destination.ts'

const DSN = 'https://key@o1.ingest.us.sentry.io/2'

it.each([
  ['the inbox of a site without a DSN', 'inbox', '', [INBOX_DSN], ''],
  ['the inbox instead of a Sentry', 'inbox', '', [DSN], 'SENTRY_DSN='],
  ['a new project', 'sentry', ` ${DSN}\n`, [INBOX_DSN], `SENTRY_DSN=${DSN}`],
  ['one more project', 'sentry', 'https://b@c.example/3', [DSN], `SENTRY_DSN=${DSN},https://b@c.example/3`],
  ['a project that is configured', 'sentry', DSN, [DSN], ''],
  [
    'a DSN with a secret',
    'sentry',
    'https://key:secret@c.example/3',
    [],
    'SENTRY_DSN=https://key@c.example/3',
  ],
] as const)('shows the lines for %s', (_, kind, text, configured, lines) => {
  expect(readDestination(kind, text, configured).destination?.lines).toBe(lines)
})

it('names the project as receipts do', () => {
  expect(readDestination('sentry', DSN, []).destination?.project).toBe('o1.ingest.us.sentry.io/2')
})

it('shows nothing without a DSN', () => {
  expect(readDestination('sentry', '  ', [])).toEqual({})
})

it('states the problem with an invalid DSN, as the start does', () => {
  expect(readDestination('sentry', 'https://sentry.io/2', []).problem).toMatch(
    /^SENTRY_DSN: "https:\/\/sentry\.io\/2" is not a DSN; write it as Sentry shows it, like https:/,
  )
  expect(readDestination('sentry', `${DSN},${DSN}`, []).problem).toMatch(/^Paste one DSN here/)
})
