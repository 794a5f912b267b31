/** Finds DSNs whose server is a Culvert, by asking it: the public name of a site is in no setting. */

import { isLocal } from 'contract/addresses'
import { formatDsn, identifiersOf, originOf } from 'contract/dsn'
import { describeOwnDsn } from 'contract/own-dsns'
import type { Environment } from 'contract/settings'
import { SettingsReader } from 'contract/settings-reader'

const TIMEOUT_MS = 3_000

/** Returns a warning for each DSN that leads to a Culvert. Servers that do not respond, and those of this machine, are left out. */
export async function findLoops(env: Environment, request: typeof fetch = fetch): Promise<string[]> {
  const settings = new SettingsReader(env, [])
  const [path = '/'] = settings.read('TUNNEL_PATHS')
  const all = [
    ...settings.read('SENTRY_DSN').map((dsn) => ({ dsn, setting: 'SENTRY_DSN' as const })),
    ...settings.read('MIRROR_DSN').map(({ target }) => ({ dsn: target, setting: 'MIRROR_DSN' as const })),
  ]
  const asked = all.filter(({ dsn }) => identifiersOf(dsn).o === undefined && !isLocal(`${dsn.host}:1`))
  const answers = await Promise.all(asked.map(({ dsn }) => isCulvert(`${originOf(dsn)}${path}`, request)))
  return asked.flatMap(({ dsn, setting }, i) =>
    answers[i] ? `Warning: ${describeOwnDsn(formatDsn(dsn), setting)}.` : [],
  )
}

/** A tunnel answers a GET with its own JSON. */
async function isCulvert(url: string, request: typeof fetch): Promise<boolean> {
  try {
    const response = await request(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    const { code, request_id: id } = (await response.json()) as Record<string, unknown>
    return code === 'method-unknown' && typeof id === 'string'
  } catch {
    return false
  }
}
