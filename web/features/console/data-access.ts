/** The one door through which pages of the console read the tunnels: it opens to whoever is signed in, and to nobody else. */

import 'server-only'
import { headers } from 'next/headers'
import { redirect } from 'next/navigation'
import type {
  InboxEntry,
  InboxPage,
  ProjectSdks,
  Rejections,
  SpoolEntryDetails,
  SpoolPage,
  SpoolPurged,
  SpoolRetried,
} from 'tunnel/contract'
import { ask, originsOf } from '../../lib/admin-client.ts'
import { type Config, config } from '../../lib/config.ts'
import { READ_BYTES } from './bounds.ts'
import type { Cursor } from './live-feed/cursor.ts'
import { streamFeed } from './live-feed/feed.ts'
import type { Monitor, ReplicaView, Snapshot } from './monitor/replica-monitor.ts'
import { mergeSeen } from './projects/projects.ts'
import { returnPath, SIGN_IN } from './routes.ts'
import { currentSession, isSessionOpen } from './session/session.ts'
import { monitorOf, rejectionHistory, statusOf } from './shared-monitor.ts'

export type Console = {
  settings: Config
  /** Whether the operator is still signed in, for what goes on for long. */
  isOpen(): boolean
  /** All replicas added up, as of now or a moment ago. */
  look(): Promise<Snapshot>
  history: Monitor['history']
  /** Server-sent events with the receipts of all replicas after `from`. */
  receipts(from: Cursor): ReadableStream<Uint8Array>
  /** The newest sample of each code, of all replicas that there were, `first` being the earliest; and every value that a setting has in one of them. */
  rejections(): Promise<Rejections>
  /** Who has sent of late, by project, whichever replica they came to. */
  seen(): Promise<ProjectSdks[]>
  /**
   * Newest first, from where `after` says on, the `next` of the page before; with `type`, those that have such an item. `undefined` where
   * there is no inbox.
   */
  inbox(after?: string, type?: string): Promise<{ entries: InboxEntry[]; next?: string } | undefined>
  /** The beginning of a kept envelope, as much as a page shows, to be read within 10 s; and the size of all of it. */
  envelope(id: string): Promise<{ start: ReadableStream<Uint8Array>; bytes: number } | undefined>
  /** A kept envelope for a download, which takes as long as its reader does. */
  envelopeDownload(id: string): Promise<ReadableStream<Uint8Array> | undefined>
  /** The first bytes of a kept envelope. */
  envelopeStart(id: string): Promise<Buffer | undefined>
  removeEnvelope(id: string): Promise<boolean>
  /** What waits in one spool, a page of it; `undefined` when no replica tells. */
  waiting(spool: string, query: URLSearchParams): Promise<SpoolPage | undefined>
  /** `too large`: its headers are more than a page can show. */
  waitingOne(spool: string, id: string): Promise<SpoolEntryDetails | 'too large' | undefined>
  waitingBytes(spool: string, id: string): Promise<ReadableStream<Uint8Array> | undefined>
  actOnSpool(order: SpoolOrder): Promise<SpoolDone>
}

/** Done to one, or to those of a project or category, or to all. */
export type SpoolOrder = {
  act: 'retry' | 'pause' | 'resume' | 'purge'
  spool: string
  id?: string
  project?: string
  category?: string
  all: boolean
}

/** To how many it was done, and to how many more it could be; `unheard`: nobody has said whether it was. */
export type SpoolDone = { did: SpoolOrder['act']; many: number; left: number } | { did: 'failed' | 'unheard' }

/** `undefined` for whoever is not signed in. */
export async function openConsole(): Promise<Console | undefined> {
  const settings = config()
  const session = await currentSession(settings)
  return session === undefined ? undefined : createConsole(settings, session)
}

/** For a page: whoever is not signed in is led to where that is done, and back. */
export async function consoleFor(path: string): Promise<Console> {
  return (await openConsole()) ?? redirect(`${SIGN_IN}?to=${encodeURIComponent(returnPath(path))}`)
}

const FRESH_MS = 1_500
const INBOX_PAGE = 50
const LONGEST_MS = 10_000 // of an act, or of an envelope

function createConsole(settings: Config, session: string): Console {
  const origins = () => originsOf(settings)
  const monitor = monitorOf(settings)
  const isOpen = () => isSessionOpen(session)
  return {
    settings,
    isOpen,
    look: () => monitor.look(FRESH_MS),
    history: monitor.history,
    receipts,
    rejections,
    seen,
    inbox,
    envelope,
    envelopeDownload,
    envelopeStart,
    removeEnvelope,
    waiting,
    waitingOne,
    waitingBytes,
    actOnSpool,
  }

  function receipts(from: Cursor): ReadableStream<Uint8Array> {
    return streamFeed(
      {
        origins,
        nameOf: async (origin) => (await statusOf(settings, origin)).replica,
        ask: (url, init) => ask(settings, url, init),
        isWelcome: isOpen,
        now: Date.now,
      },
      from,
    )
  }

  async function rejections(): Promise<Rejections> {
    const told = await askEach(
      () => '/rejections',
      async (response) => (await response.json()) as Rejections,
    )
    return rejectionHistory().note(told)
  }

  async function seen(): Promise<ProjectSdks[]> {
    const lists = await askEach(
      () => '/projects',
      async (response) => ((await response.json()) as { projects: ProjectSdks[] }).projects,
    )
    return mergeSeen(lists.flat())
  }

  /** Of all inboxes: replicas of one machine share one, and those of others have their own, each with its own place. */
  async function inbox(
    after?: string,
    type?: string,
  ): Promise<{ entries: InboxEntry[]; next?: string } | undefined> {
    const places = after === undefined ? undefined : new URLSearchParams(after)
    const pages = await askEach(
      (origin) => {
        const place = places?.get(origin)
        if (places && !place) return undefined
        const query = new URLSearchParams({
          limit: `${INBOX_PAGE}`,
          ...(place && { after: place }),
          ...(type && { type }),
        })
        return `/inbox?${query}`
      },
      async (response, origin) => ({
        origin,
        page: (await jsonWithin(response, READ_BYTES.inboxPage)) as InboxPage,
      }),
    )
    if (pages.length === 0) return undefined
    const byId = new Map(pages.flatMap(({ page }) => page.entries).map((entry) => [entry.id, entry]))
    const next = new URLSearchParams(
      pages.flatMap(({ origin, page }) => (page.next === undefined ? [] : [[origin, `${page.next}`]])),
    )
    const entries = [...byId.values()].sort((a, b) => b.time - a.time)
    return { entries, ...(next.size > 0 && { next: next.toString() }) }
  }

  async function envelope(
    id: string,
  ): Promise<{ start: ReadableStream<Uint8Array>; bytes: number } | undefined> {
    const response = await askFirst(`/inbox/${encodeURIComponent(id)}?first=${READ_BYTES.envelope}`)
    if (!response?.body) return undefined
    return { start: response.body, bytes: Number(response.headers.get('x-envelope-bytes')) }
  }

  async function envelopeDownload(id: string): Promise<ReadableStream<Uint8Array> | undefined> {
    return (await askFirst(`/inbox/${encodeURIComponent(id)}`, true))?.body ?? undefined
  }

  async function envelopeStart(id: string): Promise<Buffer | undefined> {
    const response = await askFirst(`/inbox/${encodeURIComponent(id)}?first=${READ_BYTES.name}`)
    return response && readWithin(response, READ_BYTES.name).catch(() => undefined)
  }

  async function removeEnvelope(id: string): Promise<boolean> {
    const removed = await askEach(
      () => `/inbox/${encodeURIComponent(id)}`,
      async () => true,
      { method: 'DELETE', signal: AbortSignal.timeout(LONGEST_MS) },
    )
    return removed.length > 0
  }

  async function waiting(spool: string, query: URLSearchParams): Promise<SpoolPage | undefined> {
    const response = await askSpool(spool, `?${query}`)
    return response && ((await response.json()) as SpoolPage)
  }

  async function waitingOne(spool: string, id: string): Promise<SpoolEntryDetails | 'too large' | undefined> {
    const response = await askSpool(spool, `/${encodeURIComponent(id)}`)
    const json = response && (await jsonWithin(response, READ_BYTES.spoolEntry).catch(ifTooLarge))
    return json as SpoolEntryDetails | 'too large' | undefined
  }

  async function waitingBytes(spool: string, id: string): Promise<ReadableStream<Uint8Array> | undefined> {
    return (await askSpool(spool, `/${encodeURIComponent(id)}/envelope`, true))?.body ?? undefined
  }

  /** Once, and by one replica: what is not answered may have been done, and done again it would hit what came since. */
  async function actOnSpool(order: SpoolOrder): Promise<SpoolDone> {
    const [origin] = await sharing(order.spool)
    if (origin === undefined) return { did: 'failed' }
    const [method, path] = requestFor(order)
    const response = await askAtLength(`${origin}/spool${path}`, { method })
    if (!response) return { did: 'unheard' }
    if (!response.ok) return { did: 'failed' }
    const done: Partial<SpoolRetried & SpoolPurged> = await response.json()
    await monitor.lookAnew()
    return { did: order.act, many: done.retried ?? done.purged ?? 0, left: done.left ?? 0 }
  }

  /** Any replica that shares it will do; the first that answers. */
  async function askSpool(spool: string, path: string, isDownload = false): Promise<Response | undefined> {
    for (const origin of await sharing(spool)) {
      const response = await askAtLength(`${origin}/spool${path}`, {}, isDownload)
      if (response) return response.ok ? response : undefined
    }
    return undefined
  }

  async function sharing(spool: string): Promise<string[]> {
    return answering(({ status }) => status?.spool?.id === spool)
  }

  /** Whoever hangs keeps nobody waiting but the watch, which says so. */
  async function answering(which: (replica: ReplicaView) => boolean = () => true): Promise<string[]> {
    const { replicas } = await monitor.look(FRESH_MS)
    return replicas
      .filter((replica) => replica.state === 'answering' && which(replica))
      .map(({ origin }) => origin)
  }

  /** `undefined` when no answer comes. */
  async function askAtLength(
    url: string,
    init: RequestInit = {},
    isDownload = false,
  ): Promise<Response | undefined> {
    const timeout = startTimeout()
    const options = { ...init, headers: await onBehalf(), signal: timeout.signal }
    const response = await ask(settings, url, options).catch(() => undefined)
    if (isDownload) timeout.clear()
    return response
  }

  /** The first good answer; those of the others are not read. */
  async function askFirst(path: string, isDownload = false): Promise<Response | undefined> {
    const behalf = await onBehalf()
    const asked = (await answering()).map((origin) => {
      const timeout = startTimeout()
      return { timeout, answer: ask(settings, origin + path, { headers: behalf, signal: timeout.signal }) }
    })
    const good = asked.map(async (each) => {
      const response = await each.answer
      if (!response.ok) throw new Error(`${response.url} answered ${response.status}`)
      return { each, response }
    })
    const first = await Promise.any(good).catch(() => undefined)
    for (const each of asked) if (each !== first?.each) each.timeout.abort()
    if (isDownload) first?.each.timeout.clear()
    return first?.response
  }

  /** What those say that answer well, soon; who has no path is not asked. */
  async function askEach<T>(
    pathFor: (origin: string) => string | undefined,
    read: (response: Response, origin: string) => Promise<T>,
    init: RequestInit = {},
  ): Promise<T[]> {
    const behalf = await onBehalf()
    const answers = (await answering()).map(async (origin) => {
      const path = pathFor(origin)
      if (path === undefined) return []
      const response = await ask(settings, origin + path, { ...init, headers: behalf })
      return response.ok ? [await read(response, origin)] : []
    })
    return (await Promise.all(answers.map((outcome) => outcome.catch(() => [])))).flat()
  }
}

/** Aborts a request after 10 s, its body included, unless it is cleared before. */
function startTimeout() {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), LONGEST_MS).unref()
  const clear = () => clearTimeout(timer)
  const abort = () => {
    clear()
    controller.abort()
  }
  return { signal: controller.signal, clear, abort }
}

class TooLarge extends Error {}

function ifTooLarge(error: unknown): 'too large' {
  if (error instanceof TooLarge) return 'too large'
  throw error
}

/** Reads a body of at most `most` bytes. Rejects with `TooLarge` for a larger one, and reads it no further. */
async function readWithin(response: Response, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > most) throw new TooLarge(`${response.url} answered with more than ${most} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

async function jsonWithin(response: Response, most: number): Promise<unknown> {
  return JSON.parse((await readWithin(response, most)).toString('utf8'))
}

/** Whom an act is for: it stands in the tunnel's log. */
async function onBehalf(): Promise<Record<string, string>> {
  const address = (await headers()).get('x-forwarded-for')?.split(',').at(-1)?.trim()
  return address ? { 'x-operator-address': address } : {}
}

function requestFor({ act, id, project, category, all }: SpoolOrder): [method: string, path: string] {
  const query = new URLSearchParams({
    ...(project && { project }),
    ...(category && act !== 'pause' && act !== 'resume' && { category }),
    ...(all && { all: '1' }),
  })
  const one = id === undefined ? '' : `/${encodeURIComponent(id)}`
  const which = id === undefined && query.size > 0 ? `?${query}` : ''
  return act === 'purge' ? ['DELETE', one + which] : ['POST', `${one}/${act}${which}`]
}
