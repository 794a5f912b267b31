/** Line for .env that accepts what was rejected. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import type { RejectionSample } from '../../../../contract/admin-api.ts'
import { findRemedies } from '../../../../tunnel/src/admin/remedies.ts'
import { readConfig } from '../../../../tunnel/src/config/config.ts'
import { envLine, toYaml } from '../../../../web/features/console/env-line.ts'
import { makeFolder } from '../../../support/temporary-folder.ts'

const KNOWN = 'https://key@sentry.example/1'

/** Returns the line for a reason under these settings. */
function lineFor(reason: string, env: Record<string, string>, sample: Partial<RejectionSample> = {}) {
  const settings = findRemedies(readConfig(env))[reason] ?? []
  const given = { code: reason, last: 0, causes: [], request: 'POST /monitoring', headers: [], ...sample }
  return envLine({ reason, settings, sample: given })
}

it.each<[string, Record<string, string>, Partial<RejectionSample>, string | undefined]>([
  [
    'dsn-unknown',
    { SENTRY_DSN: KNOWN },
    { dsn: 'https://b@c.example/2' },
    `SENTRY_DSN=${KNOWN},https://b@c.example/2`,
  ],
  ['dsn-unknown', {}, { dsn: 'https://b@c.example/2' }, 'SENTRY_DSN=https://b@c.example/2'],
  ['dsn-unknown', { SENTRY_DSN: KNOWN }, {}, undefined],
  [
    'origin-foreign',
    { ALLOWED_ORIGINS: 'https://a.example' },
    { headers: [['origin', 'https://b.example']] },
    'ALLOWED_ORIGINS=https://a.example,https://b.example',
  ],
  ['origin-foreign', {}, { headers: [['origin', 'https://b.example']] }, 'ALLOWED_ORIGINS=https://b.example'],
  ['origin-foreign', {}, { headers: [['origin', 'null']] }, undefined],
  ['origin-foreign', {}, { headers: [['origin', 'https://a.example https://b.example']] }, undefined],
  ['origin-foreign', {}, { headers: [['origin', 'https://a.example,https://b.example']] }, undefined],
  [
    'origin-foreign',
    {},
    { headers: [['origin', 'capacitor://localhost']] },
    'ALLOWED_ORIGINS=capacitor://localhost',
  ],
  ['origin-foreign', {}, { headers: [['origin', 'https://*.shop.example']] }, undefined],
  ['origin-foreign', {}, { headers: [['origin', 'https://a.example:443']] }, undefined],
  ['envelope-too-large', { SENTRY_DSN: KNOWN, MAX_ENVELOPE_BYTES: '1073741824' }, {}, undefined],
  ['envelope-too-large', { SENTRY_DSN: KNOWN }, {}, 'MAX_ENVELOPE_BYTES=209715200'],
  ['envelope-too-large', { SPOOL_BYTES: '10737418240' }, {}, 'SPOOL_BYTES=21474836480'],
  ['localhost', { FILTERS: 'localhost web-crawlers' }, {}, 'FILTERS=web-crawlers'],
  ['csp-blob', {}, {}, 'FILTERS=-csp-blob'],
  ['csp-localhost', { FILTERS: 'csp-localhost -csp-blob' }, {}, 'FILTERS=-csp-blob'],
  ['filtered-transaction', { FILTERS: 'health-checks' }, {}, 'FILTERS='],
  ['next-noise', {}, {}, 'DROP_NEXT_NOISE=off'],
  ['not-an-envelope', {}, {}, undefined],
])('for %s with %j and %j is %s', (reason, env, sample, line) => {
  expect(lineFor(reason, env, sample)).toBe(line)
  if (line === undefined) return
  const [name = '', value = ''] = line.split(/=(.*)/s)
  expect(() => readConfig({ ...env, [name]: value })).not.toThrow()
})

it.each(['dsn-unknown', 'origin-foreign', 'csp-blob', 'envelope-too-large'])(
  'is not known for %s while no tunnel tells its settings',
  (code) => {
    const origin: [string, string] = ['origin', 'https://b.example']
    const sample = { code, last: 0, causes: [], request: 'POST /monitoring', headers: [origin], dsn: KNOWN }
    expect(envLine({ reason: code, sample, settings: [] })).toBeUndefined()
  },
)

it('is the content of the file from which SENTRY_DSN was read', async () => {
  await using folder = await makeFolder()
  const file = join(folder.path, 'dsn')
  await writeFile(file, KNOWN)
  const line = lineFor('dsn-unknown', { SENTRY_DSN_FILE: file }, { dsn: 'https://b@c.example/2' })
  expect(line).toBe(`${KNOWN},https://b@c.example/2`)
  await writeFile(file, `${line}`)
  expect(readConfig({ SENTRY_DSN_FILE: file }).dsns).toHaveLength(2)
})

it.each([
  ['REACH_SAMPLE_RATE=0.01', { REACH_SAMPLE_RATE: '0.01' }],
  [
    'SENTRY_DSN=https://a@b.example/1,https://c@d.example/2',
    { SENTRY_DSN: 'https://a@b.example/1,https://c@d.example/2' },
  ],
  ['FILTERS=', { FILTERS: '' }],
])('is YAML for the Helm chart: %s', (line, values) => {
  expect(parse(toYaml(line))).toEqual(values)
})
