/** Requests to the admin ports of the replicas on behalf of an operator. Replicas that do not respond are not asked. */

import 'server-only'
import type { FiguresReading } from 'contract/situation/problems'
import { headers } from 'next/headers'
import { fetchAdmin } from '../../../lib/admin-client.ts'
import type { Config } from '../../../lib/config.ts'
import { firstResponse } from '../../../lib/first-response.ts'
import type { Range } from '../figures/range.ts'
import type { Snapshot } from '../monitor/replica-monitor.ts'
import { sharedMonitor } from '../shared-monitor.ts'

const MAX_AGE_MS = 1_500
const TIMEOUT_MS = 10_000
const LOGGED_HANGS_MS = 2_000 // longer than a busy store takes

/** `download`: the timeout ends with the response headers, since a download takes as long as its reader. */
export type Duration = 'page' | 'download'

/** Responses of several replicas to one request. */
export type Responses<T> = {
  results: T[]
  /** Number of running replicas. */
  replicas: number
  /** Number of those that did not respond, or failed. A response with 404 is no failure: the replica has no result. */
  failed: number
}

export class AdminRequests {
  readonly #settings: Config

  constructor(settings: Config) {
    this.#settings = settings
  }

  snapshot(): Promise<Snapshot> {
    return sharedMonitor(this.#settings).snapshot(MAX_AGE_MS)
  }

  figures(range: Range): Promise<FiguresReading> {
    return sharedMonitor(this.#settings).figures(range)
  }

  /** Polls all replicas, after an action. */
  async refresh(): Promise<void> {
    await sharedMonitor(this.#settings).refresh()
  }

  /** Returns the origins of the tunnels that respond for the store, any of which answers for all. */
  async origins(): Promise<string[]> {
    return (await this.snapshot()).origins
  }

  /** Sends one request. Returns `undefined` when there is no response. */
  async send(
    url: string,
    init: RequestInit = {},
    duration: Duration = 'page',
  ): Promise<Response | undefined> {
    const timeout = new Timeout()
    const options = { ...init, headers: await operatorHeaders(), signal: timeout.signal }
    const response = await fetchAdmin(this.#settings, url, options).catch(() => undefined)
    if (duration === 'download') timeout.clear()
    return response
  }

  /**
   * Asks one tunnel of the store. One that hangs or fails is replaced by another one, so that the request may run twice. The audit log has each
   * download and change, and a count of entries reads all of them: those are repeated only after a failure or some time.
   */
  async one(
    path: string,
    init: RequestInit = {},
    duration: Duration = 'page',
  ): Promise<Response | undefined> {
    const timeout = new Timeout()
    const asOperator = await operatorHeaders()
    const ask = (origin: string, signal: AbortSignal) => {
      const options = { ...init, headers: asOperator, signal: AbortSignal.any([signal, timeout.signal]) }
      return fetchAdmin(this.#settings, origin + path, options)
    }
    const isLogged = duration === 'download' || init.method !== undefined
    const response = await firstResponse(await this.origins(), ask, isLogged ? LOGGED_HANGS_MS : undefined)
    if (duration === 'download') timeout.clear()
    return response
  }

  /** Asks all replicas. Returns the results of `read` for the successful responses, and the failures. */
  async each<T>(
    path: string,
    read: (response: Response) => Promise<T>,
    init: RequestInit = {},
  ): Promise<Responses<T>> {
    const asOperator = await operatorHeaders()
    const running = (await this.snapshot()).replicas.filter(({ state }) => state !== 'stopped')
    const requests = running.map(async ({ origin, state }) => {
      if (state !== 'responding') throw new Error(`${origin} does not respond`)
      const response = await fetchAdmin(this.#settings, origin + path, { ...init, headers: asOperator })
      if (response.ok) return [await read(response)]
      if (response.status === 404) return []
      throw new Error(`${response.url} responded with ${response.status}`)
    })
    const settled = await Promise.allSettled(requests)
    const succeeded = settled.filter((request) => request.status === 'fulfilled')
    return {
      results: succeeded.flatMap(({ value }) => value),
      replicas: requests.length,
      failed: requests.length - succeeded.length,
    }
  }
}

/** Aborts requests with their bodies after `TIMEOUT_MS`, unless it is cleared before. */
class Timeout {
  readonly #controller = new AbortController()
  readonly #timer = setTimeout(() => this.#controller.abort(), TIMEOUT_MS).unref()

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}

/** Names the operator's address for the audit log. */
async function operatorHeaders(): Promise<Record<string, string>> {
  const address = (await headers()).get('x-forwarded-for')?.split(',').at(-1)?.trim()
  return address ? { 'x-operator-address': address } : {}
}

export class TooLargeError extends Error {}

/** Reads a body of at most `maxBytes`. Rejects with `TooLargeError` for a larger one, and reads it no further. */
async function readWithin(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes)
      throw new TooLargeError(`${response.url} responded with more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export async function jsonWithin(response: Response, maxBytes: number): Promise<unknown> {
  return JSON.parse((await readWithin(response, maxBytes)).toString('utf8'))
}
