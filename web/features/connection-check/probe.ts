/** What this browser can reach, tried with a report that says nothing: an empty client report costs nobody anything. */

/** Where to try. Made by the server, which knows the DSN. */
export type Plan = {
  dsn: string
  /** Same-origin URL of the tunnel. */
  tunnel: string
  /** URL that the SDK would post to by itself; absent in inbox mode. */
  direct?: string
}

export type Try =
  | { outcome: 'answered'; status: number; took: number; token?: string }
  /** Nothing came back: a blocker, the network or the other end; a page cannot tell which. */
  | { outcome: 'stopped'; took: number }
  /** Our own Content-Security-Policy does not let the page ask. */
  | { outcome: 'forbidden'; took: number }
  /** Something answered, and does not let a page of another origin read what. */
  | { outcome: 'unreadable'; took: number }
  | { outcome: 'late'; took: number }

const LONGEST = 10_000 // ms
const VIOLATION_GRACE = 100 // ms within which the browser tells that a policy was the reason

/** Tries the URL once. Never rejects. */
export async function attempt(url: string, dsn: string): Promise<Try> {
  const { origin } = new URL(url, location.href)
  const watch = watchPolicy(origin)
  const started = performance.now()
  const took = () => Math.round(performance.now() - started)
  try {
    const response = await fetch(url, {
      method: 'POST',
      body: emptyReport(dsn),
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'strict-origin',
      signal: AbortSignal.timeout(LONGEST),
    })
    const token = response.headers.get('x-culvert-receipt')
    return { outcome: 'answered', status: response.status, took: took(), ...(token && { token }) }
  } catch (error) {
    if (error instanceof DOMException && error.name === 'TimeoutError')
      return { outcome: 'late', took: took() }
    const ended = took()
    if (await watch.violated()) return { outcome: 'forbidden', took: ended }
    return { outcome: (await answersAnyone(url)) ? 'unreadable' : 'stopped', took: ended }
  } finally {
    watch.end()
  }
}

/** Whether anything answers there: asked so that the browser does not mind who may read it, and with no report in it. */
async function answersAnyone(url: string): Promise<boolean> {
  return fetch(url, {
    mode: 'no-cors',
    credentials: 'omit',
    cache: 'no-store',
    signal: AbortSignal.timeout(LONGEST),
  }).then(
    () => true,
    () => false,
  )
}

/** An envelope as an SDK writes it, with one client report that has nothing to tell. */
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

/** The browser tells of a violated policy by an event of its own, a moment after the request has failed. */
function watchPolicy(origin: string) {
  const told = Promise.withResolvers<boolean>()
  const listen = ({ blockedURI, disposition }: SecurityPolicyViolationEvent) => {
    if (disposition === 'enforce' && blockedURI.startsWith(origin)) told.resolve(true)
  }
  document.addEventListener('securitypolicyviolation', listen)
  return {
    violated(): Promise<boolean> {
      setTimeout(() => told.resolve(false), VIOLATION_GRACE)
      return told.promise
    },
    end: () => document.removeEventListener('securitypolicyviolation', listen),
  }
}
