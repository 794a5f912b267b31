/** Tests which URLs this browser can reach, with an empty client report that costs no quota. */

/** URLs to test. Made by the server, which knows the DSN. */
export type Plan = {
  dsn: string
  /** Same-origin URL of the tunnel. */
  tunnel: string
  /** URL that an SDK without a tunnel would post to; absent in inbox mode. */
  direct?: string
}

export type Attempt =
  | { outcome: 'answered'; status: number; durationMs: number; token?: string; isSpooled?: boolean }
  /** No response. A page cannot tell whether a blocker, the network or the server is the cause. */
  | { outcome: 'stopped'; durationMs: number }
  /** Blocked by the Content-Security-Policy of this site. */
  | { outcome: 'forbidden'; durationMs: number }
  /** There was a response that pages of other origins may not read. */
  | { outcome: 'unreadable'; durationMs: number }
  | { outcome: 'late'; durationMs: number }

const TIMEOUT_MS = 10_000
const VIOLATION_DELAY_MS = 100 // until the browser reports it

/** Tests a URL once. Never rejects. */
export async function probe(url: string, dsn: string): Promise<Attempt> {
  const { origin } = new URL(url, location.href)
  const watch = watchPolicy(origin)
  const started = performance.now()
  const elapsed = () => Math.round(performance.now() - started)
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: emptyReport(dsn),
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'strict-origin',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const token = response.headers.get('x-culvert-receipt')
    const isSpooled = response.headers.get('x-culvert-outcome') === 'spooled'
    return {
      outcome: 'answered',
      status: response.status,
      durationMs: elapsed(),
      isSpooled,
      ...(token && { token }),
    }
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError')
      return { outcome: 'late', durationMs: elapsed() }
    const durationMs = elapsed()
    if (await watch.violated()) return { outcome: 'forbidden', durationMs }
    return { outcome: (await hasResponse(url)) ? 'unreadable' : 'stopped', durationMs }
  } finally {
    watch.end()
  }
}

/** Reports whether there is any response, readable or not. The request carries no report. */
async function hasResponse(url: string): Promise<boolean> {
  return fetch(url, {
    mode: 'no-cors',
    credentials: 'omit',
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).then(
    () => true,
    () => false,
  )
}

/** Returns an envelope with an empty client report. */
function emptyReport(dsn: string): string {
  const now = new Date()
  return [
    { dsn, sent_at: now.toISOString() },
    { type: 'client_report' },
    { timestamp: now.getTime() / 1000, discarded_events: [] },
  ]
    .map((line) => JSON.stringify(line))
    .join('\n')
}

/** Watches for policy violations, which browsers report shortly after the request has failed. */
function watchPolicy(origin: string) {
  const reported = Promise.withResolvers<boolean>()
  const listen = ({ blockedURI, disposition }: SecurityPolicyViolationEvent) => {
    if (disposition === 'enforce' && blockedURI.startsWith(origin)) reported.resolve(true)
  }
  document.addEventListener('securitypolicyviolation', listen)
  return {
    violated(): Promise<boolean> {
      setTimeout(() => reported.resolve(false), VIOLATION_DELAY_MS)
      return reported.promise
    },
    end: () => document.removeEventListener('securitypolicyviolation', listen),
  }
}
