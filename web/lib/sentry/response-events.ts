/** Lets a page hear how each post of reports was answered; the SDK itself tells of errors alone. */

export type Answered = { status: number; receipt?: string }

/** `answered` is absent where no answer came. */
type Hearer = (body: string, answered: Answered | undefined) => void

const hearers = new Set<Hearer>()

/** Calls `hearer` with every envelope from now on. Gives what ends that. */
export function hear(hearer: Hearer): () => void {
  hearers.add(hearer)
  return () => void hearers.delete(hearer)
}

// Taken before the SDK wraps it: its own posts are to leave no trace among what it reports.
const send = globalThis.fetch

/** Posts for the SDK. */
export async function heardFetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await send.call(globalThis, url, init).catch((error: unknown) => {
    tell(init, undefined)
    throw error
  })
  const receipt = response.headers.get('x-culvert-receipt')
  tell(init, { status: response.status, ...(receipt && { receipt }) })
  return response
}

function tell(init: RequestInit | undefined, answered: Answered | undefined): void {
  if (hearers.size === 0) return
  const body = init?.body
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array)
  for (const hearer of hearers) hearer(text, answered)
}
