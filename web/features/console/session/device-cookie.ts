/**
 * Device cookies: a signed proof that a browser has signed in before. Failed attempts of such a browser are counted apart, so that
 * a stranger at the same address does not delay it (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const DEVICE_MS = 180 * 24 * 60 * 60 * 1000 // 180 days

const COOKIE = /^([\w-]{22})\.(\d{1,15})\.([\w-]{43})$/

/** `key` has to change with the password. `now` in milliseconds since 1970. */
export function createDevices(key: string, now: () => number) {
  const sign = (id: string, expires: string) => createHmac('sha256', key).update(`${id}.${expires}`).digest()
  return { issue, identify }

  /** Returns the value of a new cookie. */
  function issue(): string {
    const [id, expires] = [randomBytes(16).toString('base64url'), `${now() + DEVICE_MS}`]
    return `${id}.${expires}.${sign(id, expires).toString('base64url')}`
  }

  /** Returns the device's id; `undefined` for a cookie that is forged, expired or absent. */
  function identify(cookie: string | undefined): string | undefined {
    const [, id = '', expires = '', signature = ''] = COOKIE.exec(cookie ?? '') ?? []
    if (!id) return undefined
    const isGenuine = timingSafeEqual(Buffer.from(signature, 'base64url'), sign(id, expires))
    return isGenuine && Number(expires) > now() ? id : undefined
  }
}
