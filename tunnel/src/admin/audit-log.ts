/**
 * What operators do, each in one line of the log: when, from where, and to what, never a payload. Acts, and looks at a payload, whatever the
 * level; looks at what holds none, which a console makes every few seconds, at `debug`.
 */

import { isIP } from 'node:net'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context } from 'hono'
import type { Logger } from 'pino'

type Tell = (c: Context, action: string, about: Record<string, unknown>) => void

export type AuditLog = { record: Tell; recordRead: Tell }

export function createAuditLog(logger: Logger, replica: string): AuditLog {
  const always = logger.child({})
  always.level = 'info' // its own: a child that is made with the level of its parent follows that
  return {
    record: (c, action, about) => always.info({ audit: describe(c, action, about) }, 'audit'),
    recordRead: (c, action, about) => logger.debug({ audit: describe(c, action, about) }, 'audit'),
  }

  function describe(c: Context, action: string, about: Record<string, unknown>): Record<string, unknown> {
    return { action, ...about, client_address: getConnInfo(c).remote.address, ...operatorOf(c), replica }
  }
}

/** The console acts for somebody, and says for whom; what has the token is believed. */
function operatorOf(c: Context): { operator?: string } {
  const address = c.req.header('x-operator-address') ?? ''
  return isIP(address) ? { operator: address } : {}
}
