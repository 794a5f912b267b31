/** Looks for the signs of a fault where an operator would: status, metrics, log, responses and output of commands. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Sign, Source } from './drill.ts'
import type { Answer } from './load.ts'
import type { Site } from './site.ts'

const LOOK_MS = 1_000
const PATHS: Partial<Record<Source, string>> = { status: '/status', metrics: '/metrics' }

/** Reads the sources every second until it is stopped. */
export function watchSigns(site: Site, signs: readonly Sign[], answers: readonly Answer[]) {
  const seen = new Set<Sign>()
  const ended = new AbortController()
  const began = Math.floor(Date.now() / 1000)
  const watching = watch()
  return {
    /** Reads the log of the running containers. */
    readLog: () => look('log'),
    /** Reads all sources a last time, and returns the signs that were seen. */
    async end(): Promise<Set<Sign>> {
      ended.abort()
      await watching
      await look('log')
      await look('response')
      await look('output')
      return seen
    },
  }

  async function watch(): Promise<void> {
    while (!ended.signal.aborted) {
      await look('status')
      await look('metrics')
      await sleep(LOOK_MS, undefined, { signal: ended.signal }).catch(() => undefined)
    }
  }

  async function look(source: Source): Promise<void> {
    const wanted = signs.filter((sign) => sign.source === source && !seen.has(sign))
    if (wanted.length === 0) return
    const text = await read(source)
    for (const sign of wanted) if (sign.shows.test(text)) seen.add(sign)
  }

  async function read(source: Source): Promise<string> {
    const path = PATHS[source]
    if (path) return (await site.askTunnels(path)).join('\n')
    if (source === 'log')
      return site.stack.compose('logs', '--no-color', '--no-log-prefix', '--since', String(began), 'tunnel')
    if (source === 'output') return site.output.join('\n')
    return [...new Set(answers.map(({ status, code }) => `${status} ${code}`.trim()))].join('\n')
  }
}
