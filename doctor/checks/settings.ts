/** Checks that running containers have the settings of `.env`. */

import { type Check, fail, pass, unknown, withAdmin } from '../check.ts'
import { findOutdatedServices } from '../compose-settings.ts'

export const settings: Check = {
  name: 'settings',
  title: 'The running containers have the settings of .env',
  verifies:
    'No container of Compose was started with other settings than those that .env and the environment have now.',
  remedy:
    'npm run deploy applies every setting without an interruption. docker compose restart applies none.',
  run: withAdmin((_, { env }) => {
    const outdated = findOutdatedServices(env)
    if (outdated === undefined)
      return unknown('Not checkable from here: Compose runs no Culvert on this machine.')
    if (outdated.length === 0) return pass('nginx, web and the tunnels have the settings of .env.')
    const sentences = outdated.map(({ service, names }) =>
      names.length > 0
        ? `${service} runs with other values of ${names.join(', ')}.`
        : `${service} runs with another configuration than these settings give.`,
    )
    return fail(sentences.join(' '))
  }),
}
