/** Destination of reports, from the form of the set-up. */

import { expect, it } from 'vitest'
import { INBOX_DSN } from '../../../../../contract/dsn.ts'
import { readDestination } from '../../../../../web/features/console/setup/destination.ts'

const DSN = 'https://key@o1.ingest.us.sentry.io/2'
const NONE = { configured: [], dsnPlace: '.env' } as const

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
  expect(readDestination(kind, text, { configured, dsnPlace: '.env' }).destination?.lines).toBe(lines)
})

it.each([
  ['a new project', 'sentry', 'https://b@c.example/3', `${DSN},https://b@c.example/3`],
  ['the inbox', 'inbox', '', 'SENTRY_DSN_FILE='],
] as const)('shows %s in a form that works beside SENTRY_DSN_FILE', (_, kind, text, lines) => {
  const given = { configured: [DSN], dsnPlace: 'SENTRY_DSN_FILE' } as const
  expect(readDestination(kind, text, given).destination?.lines).toBe(lines)
})

it('shows no lines while the DSNs in force are not known', () => {
  for (const kind of ['inbox', 'sentry'] as const)
    expect(readDestination(kind, DSN, { ...NONE, configured: undefined }).destination).not.toHaveProperty(
      'lines',
    )
})

it('names the project as receipts do', () => {
  expect(readDestination('sentry', DSN, NONE).destination?.project).toBe('o1.ingest.us.sentry.io/2')
})

it('shows nothing without a DSN', () => {
  expect(readDestination('sentry', '  ', NONE)).toEqual({})
})

it('states the problem with an invalid DSN, as the start does', () => {
  expect(readDestination('sentry', 'https://sentry.io/2', NONE).problem).toMatch(
    /^SENTRY_DSN: "https:\/\/sentry\.io\/2" is not a DSN; write it as Sentry shows it, like https:/,
  )
  expect(readDestination('sentry', `${DSN},${DSN}`, NONE).problem).toMatch(/^Paste one DSN here/)
})
