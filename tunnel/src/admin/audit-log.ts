/** Audit log: one line for each action of an operator, with time, address and subject, never a payload. */

import { isIP } from 'node:net'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { Context } from 'hono'
import type { Logger } from 'pino'

export class AuditLog {
  readonly #logger: Logger
  readonly #always: Logger
  readonly #replica: string

  constructor(logger: Logger, replica: string) {
    this.#logger = logger
    this.#replica = replica
    this.#always = logger.child({})
    this.#always.level = 'info' // its own: it does not follow the level of the parent
  }

  /** Records a change, or the reading of a payload, at every log level. */
  record(c: Context, action: string, subject: object): void {
    this.#always.info({ audit: this.#describe(c, action, subject) }, 'audit')
  }

  /** Records reading without payloads at level `debug`: the console does it every few seconds. */
  recordRead(c: Context, action: string, subject: object): void {
    this.#logger.debug({ audit: this.#describe(c, action, subject) }, 'audit')
  }

  #describe(c: Context, action: string, subject: object): object {
    const replica = this.#replica
    return { action, ...subject, client_address: getConnInfo(c).remote.address, ...operatorOf(c), replica }
  }
}

/** Returns the address of the operator for whom the console acts. Clients with the token are trusted. */
function operatorOf(c: Context): { operator?: string } {
  const address = c.req.header('x-operator-address') ?? ''
  return isIP(address) ? { operator: address } : {}
}
