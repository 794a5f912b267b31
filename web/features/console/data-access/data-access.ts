/** Data of the console, for signed-in operators only. Every page and route of the console goes through this file. */

import 'server-only'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { ProjectActivity, Receipt, Rejections } from 'contract/admin-api'
import type { AlertTest } from 'contract/alerts'
import type { Figures } from 'contract/figures'
import type { ScrubExample } from 'contract/policies'
import type { FiguresReading } from 'contract/situation/problems'
import { redirect } from 'next/navigation'
import { fetchAdmin, findReceipt, replicaOrigins } from '../../../lib/admin-client.ts'
import { type Config, config } from '../../../lib/config.ts'
import { processSingleton } from '../../../lib/process-singleton.ts'
import { READ_BYTES } from '../bounds.ts'
import type { RangeFigures } from '../figures/figure-sums.ts'
import type { LiveView } from '../figures/live-view.ts'
import { type Range, WEEK } from '../figures/range.ts'
import { SourceFolders } from '../inbox/source-folders.ts'
import type { Cursor } from '../live-feed/cursor.ts'
import { streamFeed } from '../live-feed/feed.ts'
import type { Snapshot } from '../monitor/replica-monitor.ts'
import { summarise } from '../monitor/snapshot.ts'
import { returnPath, SIGN_IN } from '../routes.ts'
import { currentSession, isSessionOpen } from '../session/session.ts'
import { readStatus, rejectionHistory } from '../shared-monitor.ts'
import { AdminRequests, jsonWithin } from './admin-requests.ts'
import { InboxData } from './inbox.ts'
import { SpoolData } from './spool.ts'

/** Returns `undefined` without a session. */
export async function getConsoleData(): Promise<ConsoleData | undefined> {
  const settings = config()
  const session = await currentSession(settings)
  return session === undefined ? undefined : new ConsoleData(settings, session)
}

/** Returns the data for a page, or redirects to the sign-in, and from there back to `path`. */
export async function requireConsoleData(path: string): Promise<ConsoleData> {
  return (await getConsoleData()) ?? redirect(`${SIGN_IN}?to=${encodeURIComponent(returnPath(path))}`)
}

const BROWSER_MAPS = join(/* turbopackIgnore: true */ process.cwd(), 'browser-maps')

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
  isSignedIn(): Promise<boolean> {
    return isSessionOpen(this.settings, this.#session)
  }

  /** Returns the source maps of web's own scripts, and those in SOURCE_MAPS. They hold the map in use. */
  sourceFolders(): SourceFolders {
    const { sourceMaps } = this.settings
    const own = existsSync(BROWSER_MAPS) ? [BROWSER_MAPS] : [] // `next dev` has none
    const folders = sourceMaps === undefined ? own : [...own, sourceMaps]
    return processSingleton('source-maps', () => new SourceFolders(folders, Date.now))
  }

  /** Returns the state of all replicas, at most `MAX_AGE_MS` old. */
  snapshot(): Promise<Snapshot> {
    return this.#requests.snapshot()
  }

  /** Returns the figures of all replicas, at most some seconds old. */
  figures(range: Range): Promise<FiguresReading> {
    return this.#requests.figures(range)
  }

  /** Returns the state of all replicas and the figures of a range. */
  async live(range: Range): Promise<LiveView> {
    const [snapshot, week, { figures, missing }] = await Promise.all([
      this.snapshot(),
      this.figures(WEEK),
      this.figures(range),
    ])
    return {
      overview: summarise(snapshot, week),
      range: range.key,
      ...(figures && { figures: withoutUpstreams(figures) }),
      ...(missing !== undefined && { missing }),
    }
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
  receipt(token: string): Promise<Receipt | undefined> {
    return findReceipt(this.settings, encodeURIComponent(token))
  }

  /** Returns the rejections of all replicas, also of those that stopped. */
  async rejections(): Promise<Rejections> {
    const { results } = await this.#requests.each(
      '/rejections',
      async (response) => (await response.json()) as Rejections,
    )
    return rejectionHistory().add(results)
  }

  /** Returns examples of changes by scrubbing; none from replicas that do not observe or have no inbox. */
  async scrubExamples(): Promise<ScrubExample[]> {
    const { results } = await this.#requests.each(
      '/policies/example',
      async (response) => (await jsonWithin(response, READ_BYTES.scrubExample)) as ScrubExample,
    )
    return results
  }

  /** Lets one replica send a test to each destination of alerts. Returns `undefined` when none has sent it. */
  async testAlerts(): Promise<AlertTest | undefined> {
    const [origin] = await this.#requests.origins()
    if (origin === undefined) return undefined
    const response = await this.#requests.send(`${origin}/alerts/test`, { method: 'POST' })
    return response?.ok ? ((await response.json()) as AlertTest) : undefined
  }

  /** Returns the traffic and the recent SDKs of each project, from each replica. */
  async projects(): Promise<{ reports: ProjectActivity[]; failed: number }> {
    const { results, failed } = await this.#requests.each(
      '/projects',
      async (response) => ((await response.json()) as { projects: ProjectActivity[] }).projects,
    )
    return { reports: results.flat(), failed }
  }
}

function withoutUpstreams({ replicas: _, points, ...rest }: Figures): RangeFigures {
  return { ...rest, points: points.map(({ upstreams: __, ...point }) => point) }
}
