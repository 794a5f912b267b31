/** Destinations of alerts: the settings `ALERT_URL` and `HEARTBEAT_URL`. */

import type { Kind } from './settings/parsers.ts'

/** `url` may hold a secret, `name` holds none: "Slack (hooks.slack.com)". */
export type WebhookTarget = { kind: 'json' | 'slack' | 'discord'; name: string; url: URL }

export type MailTarget = {
  kind: 'email'
  name: string
  host: string
  port: number
  /** TLS from the first byte, as for `smtps://`. */
  isSecure: boolean
  login: { user: string; pass: string } | undefined
  from: string
  to: string[]
}

export type AlertTarget = WebhookTarget | MailTarget

/** Result of a test. `error` is a sentence, absent when the destination has accepted the message. */
export type AlertTestResult = { target: string; error?: string }

/** Response of `POST /alerts/test`. */
export type AlertTest = { results: AlertTestResult[] }

const NAMES: Record<AlertTarget['kind'], string> = {
  ...{ json: 'Webhook', slack: 'Slack', discord: 'Discord', email: 'Email' },
}
const SUBMISSION_PORT = 587 // RFC 6409
const SECURE_PORT = 465 // RFC 8314
const MAIL_ADDRESS = /^[^\s@<>,]+@[^\s@<>,]+$/
const REMEDIES = {
  url: 'is not a destination of alerts; write https://…, slack+https://…, discord+https://… or smtps://user:password@host/?from=…&to=…, several separated by spaces or commas',
  mail: 'lacks a sender or a recipient; write smtps://user:password@host/?from=culvert@shop.example&to=ops@shop.example, several recipients separated by commas',
  login:
    'has a user name without a password, or one that is not percent-encoded; write smtps://user:password@host/?from=…&to=…',
}

export const alertTargets: Kind<AlertTarget[]> = {
  format: (targets) => targets.map(({ name }) => name).join(', '),
  parse(given, name, problems) {
    const texts = given.trim().split(/\s*,\s*(?=[a-z+]+:\/\/)|\s+/i)
    const targets = texts.flatMap((text) => {
      const target = parseTarget(text)
      if (typeof target !== 'string') return [target]
      problems.push(`${name}: "${hide(text)}" ${target}`)
      return []
    })
    return withUniqueNames(targets)
  },
}

/** The URL is a secret: whoever has it can report that all is well. */
export const heartbeatUrl: Kind<URL> = {
  format: ({ protocol, host }) => `${protocol}//${host}/…`,
  parse(given, name, problems) {
    const url = parseUrl(given)
    if (url && /^https?:$/.test(url.protocol)) return url
    problems.push(
      `${name}: "${hide(given)}" is not an address; write the one that the service shows, like https://watch.example/ping/…`,
    )
    return undefined
  },
}

/** Returns the destination, or the problem with its remedy. */
function parseTarget(text: string): AlertTarget | string {
  const [, format, rest = text] = /^(slack|discord)\+(https?:.*)$/is.exec(text) ?? []
  const url = parseUrl(rest)
  if (url && /^https?:$/.test(url.protocol)) {
    const kind = format?.toLowerCase() === 'slack' ? 'slack' : format ? 'discord' : kindOf(url)
    return { kind, name: `${NAMES[kind]} (${url.host})`, url }
  }
  return url && /^smtps?:$/.test(url.protocol) ? parseMail(url) : REMEDIES.url
}

function kindOf({ hostname, pathname }: URL): WebhookTarget['kind'] {
  if (hostname === 'hooks.slack.com') return 'slack'
  return /^(.+\.)?discord(app)?\.com$/.test(hostname) && pathname.startsWith('/api/webhooks/')
    ? 'discord'
    : 'json'
}

function parseMail(url: URL): MailTarget | string {
  const isSecure = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[(.+)\]$/, '$1')
  const query = new URLSearchParams(url.search.replaceAll('+', '%2B')) // a plus is part of many addresses
  const from = query.get('from') ?? ''
  const to = query.getAll('to').flatMap((list) => list.split(','))
  if (![from, ...to].every((address) => MAIL_ADDRESS.test(address)) || to.length === 0) return REMEDIES.mail
  const login = parseLogin(url)
  if (login === null) return REMEDIES.login
  const port = Number(url.port) || (isSecure ? SECURE_PORT : SUBMISSION_PORT)
  return {
    kind: 'email',
    name: `${NAMES.email} (${url.hostname}:${port})`,
    host,
    port,
    isSecure,
    login,
    from,
    to,
  }
}

/** `null` when it is incomplete, or cannot be decoded. */
function parseLogin({ username, password }: URL): MailTarget['login'] | null {
  if (username === '' && password === '') return undefined
  try {
    const [user, pass] = [username, password].map(decodeURIComponent)
    return user && pass ? { user, pass } : null
  } catch {
    return null
  }
}

function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text)
  return url && url.hostname !== '' ? url : undefined
}

/** Numbers destinations of one name. */
function withUniqueNames(targets: readonly AlertTarget[]): AlertTarget[] {
  return targets.map((target, index) => {
    const before = targets.slice(0, index).filter(({ name }) => name === target.name).length
    return before === 0 ? target : { ...target, name: `${target.name} ${before + 1}` }
  })
}

/** Keeps the scheme: the rest may be a secret. */
function hide(text: string): string {
  return text.replace(/^([a-z+]+:\/\/)?.*$/is, '$1…')
}
