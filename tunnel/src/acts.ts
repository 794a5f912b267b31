/** What operators do, each in one line of the log, whatever its level: when, from where, and to what, never a payload. */

import { isIP } from 'node:net'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context } from 'hono'
import type { Logger } from 'pino'

export type Acts = (c: Context, act: string, about: Record<string, unknown>) => void

export function createActs(logger: Logger, replica: string): Acts {
  const always = logger.child({})
  always.level = 'info' // its own: a child that is made with the level of its parent follows that
  return function tell(c, act, about) {
    always.info(
      { act: { act, ...about, from: getConnInfo(c).remote.address, ...operatorOf(c), replica } },
      'act',
    )
  }
}

/** The console acts for somebody, and says for whom; what has the token is believed. */
function operatorOf(c: Context): { operator?: string } {
  const address = c.req.header('x-operator-address') ?? ''
  return isIP(address) ? { operator: address } : {}
}
