/** Envelopes that a simulated outage has left in its spool, when `SENTRY_DSN` is set afterwards. They are for the inbox, never for Sentry. */

import { existsSync } from 'node:fs'
import { INBOX } from 'contract/dsn'
import type { Logger } from 'pino'
import { createProjects } from '../projects.ts'
import type { OnFinalOutcome } from '../spool/final-outcomes.ts'
import type { DeliveryUpstreams } from '../spool/upstream-capacity.ts'
import { ProjectHealth } from '../upstream/project-health.ts'
import type { InboxClient } from './inbox-client.ts'
import { InboxUpstream } from './inbox-upstream.ts'
import { OutageSpool, type OutageSpoolDeps } from './outage-spool.ts'

type LeftOverDeps = Omit<OutageSpoolDeps, 'projects' | 'onError'> & {
  /** Absent with `INBOX=off`: the envelopes wait until they expire. */
  inbox: InboxClient | undefined
  logger: Pick<Logger, 'info' | 'warn'>
}

const REMEDY =
  'They are for the inbox, and are not delivered: set INBOX=on and restart. Otherwise they expire after SPOOL_HOURS.'

export class LeftOverOutage {
  readonly #deps: LeftOverDeps
  #opened: OutageSpool | undefined

  constructor(deps: LeftOverDeps) {
    this.#deps = deps
  }

  /** Delivers the envelopes to the inbox. Without an inbox, warns of them, and reports those that expire. */
  async start(onFinalOutcome: OnFinalOutcome): Promise<void> {
    const { file, logger } = this.#deps
    try {
      if (existsSync(file)) await this.#open(onFinalOutcome)
    } catch (err) {
      logger.warn({ err, file }, 'the spool of a simulated outage cannot be read; delete its folder')
    }
  }

  async stop(): Promise<void> {
    await this.#opened?.close()
  }

  /** Returns a warning for the operator while envelopes are left that have no inbox. */
  async warning(): Promise<string | undefined> {
    const { inbox, file } = this.#deps
    if (inbox || !this.#opened) return undefined
    const { envelopes } = await this.#opened.spool.totals().catch(() => ({ envelopes: 0 }))
    return envelopes > 0
      ? `A simulated outage has left ${envelopes} envelopes in ${file}. ${REMEDY}`
      : undefined
  }

  async #open(onFinalOutcome: OnFinalOutcome): Promise<void> {
    const { inbox, file, logger } = this.#deps
    const onError = (err: unknown) => logger.warn({ err }, 'the simulated outage failed')
    const deps = { ...this.#deps, projects: createProjects([INBOX]), onError }
    const opened = await OutageSpool.open(deps, inbox ? new InboxUpstream({ ...deps, inbox }) : NO_INBOX)
    const { envelopes } = await opened.spool.totals().catch(async (error) => {
      await opened.close()
      throw error
    })
    if (envelopes === 0) return opened.close()
    if (inbox) logger.info({ file, envelopes }, 'the inbox gets envelopes of a simulated outage')
    else logger.warn({ file, envelopes }, `a simulated outage has left envelopes. ${REMEDY}`)
    opened.deliver(onFinalOutcome)
    this.#opened = opened
  }
}

/** Upstream that never responds. */
const NO_INBOX: DeliveryUpstreams = {
  isOpen: () => true,
  mayProbe: () => false,
  spendProbe: () => {},
  spareConnections: () => 0,
  attemptMs: () => 0,
  health: () => new ProjectHealth(() => 0),
  blames: () => false,
  send() {
    throw new Error('there is no inbox')
  },
}
