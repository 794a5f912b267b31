/** Sessions of the console, which the replicas keep for web, so that a restart of web ends none. */

import { type Context, Hono } from 'hono'
import { SharedMap, type SharedMapDeps } from '../pipeline/shared-state.ts'
import { createHandler, RequestError } from './responses.ts'

/** Time from the sign-in, after which a session ends. */
const SESSION_MS = 12 * 60 * 60 * 1000
const MAX_SESSIONS = 1_000
/** SHA-256 of the session's ID: whoever reads the spool cannot make a cookie of it. */
const HASH = /^[\w-]{43}$/

export function sessionRoutes(deps: Pick<SharedMapDeps<1>, 'state' | 'now'>): Hono {
  const app = new Hono()
  const sessions = new ConsoleSessions(deps)
  app.get('/:hash', createHandler({ run: (c) => sessions.read(c) }))
  app.put('/:hash', createHandler({ run: (c) => sessions.open(c) }))
  app.delete('/:hash', createHandler({ run: (c) => sessions.close(c) }))
  app.onError((error, c) => c.json({ detail: `The sessions cannot be read now: ${error.message}.` }, 503))
  return app
}

class ConsoleSessions {
  readonly #map: SharedMap<1>
  readonly #now: () => number

  constructor(deps: Pick<SharedMapDeps<1>, 'state' | 'now'>) {
    this.#now = deps.now
    this.#map = new SharedMap({
      ...deps,
      key: 'console-sessions',
      maxMs: SESSION_MS,
    })
  }

  async read(c: Context): Promise<{ open: boolean }> {
    const hash = hashOf(c)
    return { open: (await this.#map.read()).has(hash) }
  }

  /** Opens a session. Beyond the bound, the one that ends first is left out. */
  async open(c: Context): Promise<{ open: boolean }> {
    const hash = hashOf(c)
    await this.#map.update((sessions) => {
      if (sessions.has(hash)) return
      const [first] = [...sessions].sort(([, a], [, b]) => a.until - b.until)
      if (sessions.size >= MAX_SESSIONS && first) sessions.delete(first[0])
      sessions.set(hash, { value: 1, until: this.#now() + SESSION_MS })
    })
    return { open: true }
  }

  async close(c: Context): Promise<{ open: boolean }> {
    const hash = hashOf(c)
    await this.#map.update((sessions) => void sessions.delete(hash))
    return { open: false }
  }
}

function hashOf(c: Context): string {
  const hash = c.req.param('hash') ?? ''
  if (!HASH.test(hash)) throw new RequestError(400, 'A session is named by its SHA-256 in base64url.')
  return hash
}
