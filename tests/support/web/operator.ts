/** Operator of the tests: a web with a console, and the sign-in as a browser does it. */

import { EventSourceParserStream } from 'eventsource-parser/stream'
import { expect } from 'vitest'
import type { LiveEvent } from '../../../web/features/console/figures/live-view.ts'
import type { OverviewSnapshot } from '../../../web/features/console/monitor/snapshot.ts'
import { TOKEN } from '../tunnel/running.ts'
import { startWeb, type Web } from './web.ts'

export const PASSWORD = 'correct-horse-battery'

const COOKIE = /^culvert_console=([^;]+)/

/** Starts a web whose console queries these tunnels. `await using` stops it. */
export function startWebOver(...tunnels: readonly { adminUrl: string }[]): Promise<Web> {
  return startWeb({
    OPERATOR_PASSWORD: PASSWORD,
    ADMIN_TOKEN: TOKEN,
    TUNNEL_ADMIN: tunnels.map(({ adminUrl }) => new URL(adminUrl).host).join(),
  })
}

export type SignIn = {
  status: number
  location: string | null
  setCookie: string | null
  cookie: string | undefined
}

export type SignInOptions = { password?: string; to?: string; headers?: Record<string, string> }

/** Posts the form of the sign-in page; `cookie` is the cookie header of later requests. */
export async function signIn(
  url: string,
  { password = PASSWORD, to, headers = {} }: SignInOptions = {},
): Promise<SignIn> {
  const response = await fetch(`${url}/console/session`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: new URL(url).origin, ...headers },
    body: new URLSearchParams({ password, ...(to && { to }) }),
  })
  const setCookie = response.headers.get('set-cookie')
  const value = COOKIE.exec(setCookie ?? '')?.[1]
  return {
    status: response.status,
    location: response.headers.get('location'),
    setCookie,
    cookie: value && `culvert_console=${value}`,
  }
}

/** Sends a request with this cookie, without following redirects. */
export function get(url: string, cookie?: string): Promise<Response> {
  return fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} })
}

/** Returns the markup of a page that contains these words. Repeats the request until then, because a page leaves out slow replicas. */
export async function pageWith(url: string, cookie: string | undefined, words: string): Promise<string> {
  let page = ''
  const read = async () => {
    page = (await (await get(url, cookie)).text()).replaceAll('<!-- -->', '')
    return page
  }
  await expect.poll(read).toContain(words)
  return page
}

/** Returns the first server-sent event of the overview that satisfies `holds`. */
export async function lookUntil(
  url: string,
  cookie: string | undefined,
  holds: (overview: OverviewSnapshot) => boolean,
  timeout = 90_000,
): Promise<OverviewSnapshot> {
  const signal = AbortSignal.timeout(timeout)
  const response = await fetch(`${url}/console/live`, { headers: cookie ? { cookie } : {}, signal })
  if (!response.ok || !response.body) throw new Error(`/console/live answered ${response.status}`)
  const texts = response.body as ReadableStream<BufferSource>
  const events = texts.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  let last: OverviewSnapshot | undefined
  try {
    for await (const { data } of events) {
      last = (JSON.parse(data) as LiveEvent).overview
      if (holds(last)) return last
    }
  } catch (error) {
    throw new Error(`after ${timeout} ms it still does not hold: ${holds}; ${JSON.stringify(last)}`, {
      cause: error,
    })
  }
  throw new Error('/console/live has ended')
}
