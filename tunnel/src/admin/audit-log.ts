/** Audit log: one line for each action of an operator, with time, address and subject, never a payload. */

import { isIP } from 'node:net'
import { getConnInfo } from '@hono/node-server/conninfo'
import type { OperatorAction } from 'contract/admin-api'
import type { Context } from 'hono'
import type { Logger } from 'pino'

const MAX_ACTIONS = 50 // kept in memory

type Subject = Omit<OperatorAction, 'time' | 'action' | 'operator' | 'client_address'>

export class AuditLog {
  readonly #logger: Logger
  readonly #always: Logger
  readonly #replica: string
  readonly #now: () => number
  #actions: OperatorAction[] = []

  /** `now` is in milliseconds since 1970. */
  constructor(logger: Logger, replica: string, now: () => number) {
    this.#logger = logger
    this.#replica = replica
    this.#now = now
    this.#always = logger.child({})
    this.#always.level = 'info' // its own: it does not follow the level of the parent
  }

  /** Returns the last changes, newest first. */
  actions(): OperatorAction[] {
    return this.#actions
  }

  /** Records a change at every log level, and keeps it for `actions`. */
  recordChange(c: Context, action: OperatorAction['action'], subject: Subject): void {
    this.record(c, action, subject)
    const change = { time: this.#now(), action, ...subject, ...addressesOf(c) }
    this.#actions = [change, ...this.#actions].slice(0, MAX_ACTIONS)
  }

  /** Records an action at every log level. */
  record(c: Context, action: string, subject: object): void {
    this.#always.info({ audit: this.#describe(c, action, subject) }, 'audit')
  }

  /** Records reading without payloads at level `debug`: the console does it every few seconds. */
  recordRead(c: Context, action: string, subject: object): void {
    this.#logger.debug({ audit: this.#describe(c, action, subject) }, 'audit')
  }

  #describe(c: Context, action: string, subject: object): object {
    return { action, ...subject, ...addressesOf(c), replica: this.#replica }
  }
}

/** Returns the address of the client, and of the operator for whom the console acts. Clients with the token are trusted. */
function addressesOf(c: Context): Pick<OperatorAction, 'client_address' | 'operator'> {
  const operator = c.req.header('x-operator-address') ?? ''
  const { address } = getConnInfo(c).remote
  return { ...(address && { client_address: address }), ...(isIP(operator) && { operator }) }
}
