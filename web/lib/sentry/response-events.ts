/** Events for the response to each post of the SDK, which itself reports errors only. */

/** Only the browser's `fetch` sees if the envelope is in the spool; the SDK of the server does not tell. */
export type SdkResponse = { status: number; isSpooled?: boolean; receipt?: string }

/** `response` is absent when there was none. */
type Listener = (body: string, response: SdkResponse | undefined) => void

const listeners = new Set<Listener>()

/** Calls `listener` with every envelope from now on. Returns a function that ends that. */
export function onResponse(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

// The original function: posts of the SDK must not leave breadcrumbs and spans.
const send = globalThis.fetch

/** `fetch` of the SDK's transport. */
export async function observedFetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await send.call(globalThis, url, init).catch((error: unknown) => {
    emit(init, undefined)
    throw error
  })
  const receipt = response.headers.get('x-culvert-receipt')
  const isSpooled = response.headers.get('x-culvert-outcome') === 'spooled'
  emit(init, { status: response.status, isSpooled, ...(receipt && { receipt }) })
  return response
}

function emit(init: RequestInit | undefined, response: SdkResponse | undefined): void {
  if (listeners.size === 0) return
  const body = init?.body
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array)
  for (const listener of listeners) listener(text, response)
}
