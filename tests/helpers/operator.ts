/** An operator of the tests, who signs in as a browser's form would. */

export const PASSWORD = 'correct-horse-battery'

const COOKIE = /^culvert_console=([^;]+)/

export type SignIn = {
  status: number
  location: string | null
  setCookie: string | null
  cookie: string | undefined
}

export type SignInOptions = { password?: string; to?: string; headers?: Record<string, string> }

/** Posts the form of the sign-in page; `cookie` is what a browser would send from then on. */
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

/** Asks as somebody with this cookie, following no redirect. */
export function get(url: string, cookie?: string): Promise<Response> {
  return fetch(url, { redirect: 'manual', headers: cookie ? { cookie } : {} })
}
