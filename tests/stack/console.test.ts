/** Console in containers: one name resolves to all tunnels. */

import { describe, expect } from 'vitest'
import type { OverviewSnapshot } from '../../web/features/console/monitor/snapshot.ts'
import { PASSWORD } from '../support/docker/compose.ts'
import { it as base } from '../support/docker/fixtures.ts'
import { perFile } from '../support/lifetime.ts'
import { requires } from '../support/requirements.ts'
import { lookUntil, signIn } from '../support/web/operator.ts'

const SHOWN_WITHIN = 60_000 // ms: the machine may be busy
const SCALE = ['up', '--detach', '--no-deps', '--no-recreate', '--wait', '--scale']

const it = base.extend('composeOptions', perFile, { services: ['nginx', 'web', 'tunnel'] })

describe('The console of compose', requires('docker'), () => {
  const answering = ({ replicas }: OverviewSnapshot) => replicas.filter(({ state }) => state === 'responding')

  it('shows tunnels that are added, and one that was killed', async ({ stack }) => {
    const { cookie } = await signIn(stack.url, { password: PASSWORD })
    const shows = (many: number) =>
      lookUntil(stack.url, cookie, (overview) => answering(overview).length === many, SHOWN_WITHIN)
    const before = await shows(2)
    await stack.compose(...SCALE, 'tunnel=4', 'tunnel')
    const more = await shows(4)
    const added = answering(more).filter(
      ({ origin }) => !answering(before).some((old) => old.origin === origin),
    )
    expect(added).toHaveLength(2)
    const changes = more.changes.map(({ text }) => text)
    for (const { name } of added) expect(changes).toContain(`${name} started responding`)

    const [victim = ''] = await stack.containers('tunnel')
    await stack.docker('kill', victim)
    const fewer = await shows(3)
    const gone = fewer.replicas.filter(({ state }) => state !== 'responding')
    expect(gone).toHaveLength(1)
    expect(fewer.changes.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(new RegExp(`^${gone[0]?.name} (stopped|does not respond)$`)),
    )
  })
})
