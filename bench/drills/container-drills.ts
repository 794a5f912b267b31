/** Drills in which containers die, are replaced or change in number. */

import { type Drill, declareDrill } from './drill.ts'
import { CUT, deploy } from './sentry-drills.ts'
import type { Site } from './site.ts'

const SCALE = ['up', '--detach', '--no-deps', '--no-recreate', '--wait']
const TUNNEL_AWAY = {
  source: 'response',
  shows: /^502 tunnel-away/m,
  words: 'response 502 `tunnel-away`',
} as const

export const CONTAINER_DRILLS: readonly Drill[] = [
  declareDrill({
    name: 'one-tunnel-killed',
    title: 'One of two tunnels killed',
    fault: async (site) => killTunnels(site, (await site.stack.containers('tunnel')).slice(0, 1)),
    repair: startTunnels,
    signs: [],
    remedy: '`docker compose up --detach --no-recreate`; alert `CulvertNoSpareReplica`',
    bounds: { lost: 0, duplicates: CUT, notAccepted: 0 },
  }),
  declareDrill({
    name: 'all-tunnels-killed',
    title: 'All tunnels killed while Sentry is down',
    async fault(site) {
      await site.fillSpool()
      await killTunnels(site, await site.stack.containers('tunnel'))
    },
    async repair(site) {
      await startTunnels(site)
      await site.bringSentryBack()
    },
    signs: [TUNNEL_AWAY],
    remedy: '`docker compose up --detach tunnel`; alert `CulvertAway`',
    bounds: { lost: 0, duplicates: CUT },
  }),
  declareDrill({
    name: 'everything-killed',
    title: 'Everything killed and started again while Sentry is down',
    seconds: 3,
    async fault(site) {
      await site.fillSpool()
      await site.stack.compose('kill')
    },
    async repair(site) {
      await site.stack.compose('up', '--detach', '--no-recreate', '--wait')
      await site.bringSentryBack()
    },
    signs: [{ source: 'response', shows: /^0$/m, words: 'no connection: a probe from outside' }],
    remedy: '`docker compose up --detach --no-recreate`',
    bounds: { lost: 0, duplicates: CUT },
  }),
  declareDrill({
    name: 'deploy-and-rollback',
    title: 'Failed deploy, deploy, rollback',
    rate: 50,
    seconds: 0,
    async fault(site) {
      const nowhere = { SPOOL_URL: 'file:///nowhere/spool.db', REVISION: 'broken' }
      const { stderr = '' } = await deploy(site, nowhere).then(
        () => ({}) as { stderr?: string },
        (error) => error,
      )
      site.output.push(stderr)
    },
    async repair(site) {
      await deploy(site, { REVISION: 'next' })
      await deploy(site, {}, '--rollback')
    },
    signs: [
      {
        source: 'output',
        shows: /nothing was replaced, the old containers still run/,
        words: 'the command says why, and that nothing was replaced',
      },
      { source: 'output', shows: /^Rolled back to /m, words: '`Rolled back to …`' },
    ],
    remedy: '`npm run deploy -- --rollback`',
    bounds: { lost: 0, duplicates: CUT, notAccepted: 0 },
  }),
  declareDrill({
    name: 'scaling',
    title: 'Two tunnels to four and back',
    seconds: 5,
    fault: async ({ stack }) => void (await stack.compose(...SCALE, '--scale', 'tunnel=4', 'tunnel')),
    repair: async ({ stack }) => void (await stack.compose(...SCALE, '--scale', 'tunnel=2', 'tunnel')),
    signs: [],
    remedy: 'nothing',
    bounds: { lost: 0, duplicates: 0, notAccepted: 0 },
  }),
]

async function killTunnels({ stack }: Site, ids: string[]): Promise<void> {
  await stack.docker('kill', ...ids)
}

async function startTunnels(site: Site): Promise<void> {
  await site.stack.docker('start', ...(await site.containers('tunnel')))
}
