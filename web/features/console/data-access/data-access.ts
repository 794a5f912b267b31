/** Data of the console, for signed-in operators only. Every page and route of the console goes through this file. */

import 'server-only'
import type { ProjectSdks, Receipt, Rejections } from 'contract/admin-api'
import type { HistoryRange } from 'contract/history'
import type { ScrubExample } from 'contract/policies'
import { redirect } from 'next/navigation'
import { fetchAdmin, replicaOrigins } from '../../../lib/admin-client.ts'
import { type Config, config } from '../../../lib/config.ts'
import { READ_BYTES } from '../bounds.ts'
import type { Cursor } from '../live-feed/cursor.ts'
import { streamFeed } from '../live-feed/feed.ts'
import type { Point, Snapshot } from '../monitor/replica-monitor.ts'
import { continueWith } from '../monitor/stored-history.ts'
import { estimateReach, type Reach } from '../overview/reach/reach.ts'
import { mergeSdks } from '../projects/projects.ts'
import { returnPath, SIGN_IN } from '../routes.ts'
import { currentSession, isSessionOpen } from '../session/session.ts'
import { readStatus, rejectionHistory, sharedMonitor } from '../shared-monitor.ts'
import { AdminRequests, jsonWithin } from './admin-requests.ts'
import { type HistoryOfRange, readHistory } from './history.ts'
import { InboxData } from './inbox.ts'
import { SpoolData } from './spool.ts'

const LIVE_MS = 14 * 60_000

/** Returns `undefined` without a session. */
export async function getConsoleData(): Promise<ConsoleData | undefined> {
  const settings = config()
  const session = await currentSession(settings)
  return session === undefined ? undefined : new ConsoleData(settings, session)
}

/** For pages: redirects to the sign-in, and from there back to `path`. */
export async function requireConsoleData(path: string): Promise<ConsoleData> {
  return (await getConsoleData()) ?? redirect(`${SIGN_IN}?to=${encodeURIComponent(returnPath(path))}`)
}

export class ConsoleData {
  readonly settings: Config
  readonly inbox: InboxData
  readonly spool: SpoolData
  readonly #session: string
  readonly #requests: AdminRequests

  constructor(settings: Config, session: string) {
    this.settings = settings
    this.#session = session
    this.#requests = new AdminRequests(settings)
    this.inbox = new InboxData(this.#requests)
    this.spool = new SpoolData(this.#requests)
  }

  /** Reports whether the operator is still signed in, for responses that take long. */
  isSignedIn(): boolean {
    return isSessionOpen(this.#session)
  }

  /** Returns the state of all replicas, at most `MAX_AGE_MS` old. */
  snapshot(): Promise<Snapshot> {
    return this.#requests.snapshot()
  }

  /** Returns the points of the last 15 minutes: those of this process, and stored ones of the time before it started. */
  async history(): Promise<Point[]> {
    const live = sharedMonitor(this.settings).history()
    const [first] = live
    if (first && first.time < Date.now() - LIVE_MS) return live
    const { stored } = await this.storedHistory('15m')
    return stored ? continueWith(stored.points, live) : live
  }

  storedHistory(range: HistoryRange): Promise<HistoryOfRange> {
    return readHistory(this.#requests, range)
  }

  /** Returns the reach of the last 7 days, `off` while no browser tests it; `undefined` in inbox mode, or when no replica responds. */
  async reach(): Promise<Reach | 'off' | undefined> {
    if (this.settings.sentryHost === undefined) return undefined
    if (this.settings.reachTestUrl === undefined) return 'off'
    const { stored } = await this.storedHistory('7d')
    return stored && estimateReach(stored.reach, stored.browserErrors)
  }

  /** Streams the receipts of all replicas as server-sent events. */
  receipts(from: Cursor): ReadableStream<Uint8Array> {
    const { settings } = this
    return streamFeed(
      {
        origins: () => replicaOrigins(settings),
        nameOf: async (origin) => (await readStatus(settings, origin)).replica,
        ask: (url, init) => fetchAdmin(settings, url, init),
        isSignedIn: () => this.isSignedIn(),
        now: Date.now,
      },
      from,
    )
  }

  /** Returns the receipt of the token in a response, for 10 minutes at most. */
  async receipt(token: string): Promise<Receipt | undefined> {
    const response = await this.#requests.first(`/receipts/${encodeURIComponent(token)}`)
    return response && ((await response.json()) as Receipt)
  }

  /** Returns the rejections of all replicas, also of those that stopped. */
  async rejections(): Promise<Rejections> {
    const { results } = await this.#requests.each(
      () => '/rejections',
      async (response) => (await response.json()) as Rejections,
    )
    return rejectionHistory().add(results)
  }

  /** Returns examples of what scrubbing would change; none from replicas that do not observe or have no inbox. */
  async scrubExamples(): Promise<ScrubExample[]> {
    const { results } = await this.#requests.each(
      () => '/policies/example',
      async (response) => (await jsonWithin(response, READ_BYTES.scrubExample)) as ScrubExample,
    )
    return results
  }

  /** Returns the SDKs that sent recently, by project. */
  async sdks(): Promise<ProjectSdks[]> {
    const { results } = await this.#requests.each(
      () => '/projects',
      async (response) => ((await response.json()) as { projects: ProjectSdks[] }).projects,
    )
    return mergeSdks(results.flat())
  }
}
