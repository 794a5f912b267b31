/** The settings that nginx, web and the tunnel share, read and refused in the same words by all three. */

import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

/** A process environment: what `process.env` is, handed in. */
export type Environment = Readonly<Record<string, string | undefined>>

export type SharedSettings = {
  /** Paths that browsers post to, the one handed to new pages first. Each begins with `/` and ends without one. */
  tunnelPaths: string[]
  /** Whether the path that v11 SDKs derive from a DSN is answered too. */
  derivedPaths: boolean
  /** Networks whose `X-Forwarded-For` nginx believes, as CIDRs or single addresses. */
  trustedProxies: string[]
  /** The largest envelope taken, in bytes, on the wire and unpacked alike. */
  maxEnvelopeBytes: number
}

const DEFAULT_TUNNEL_PATH = '/monitoring'
const DEFAULT_MAX_ENVELOPE_BYTES = 100 * 1024 * 1024 // 100 MiB
const MIN_ENVELOPE_BYTES = 1024
const MAX_ENVELOPE_BYTES = 1024 * 1024 * 1024 // 1 GiB

/** What web serves itself; a tunnel path must be none of these, nor below one. `scripts/render-nginx.awk` holds the same list. */
const WEB_PATH = /^\/(_next|console|healthz|lab)(\/|$)/

/**
 * Reads the shared settings. Each problem found is appended to `problems` as `NAME: "value" what is wrong; what to write`,
 * and a default takes its place, so that one start lists every problem.
 */
export function readSharedSettings(env: Environment, problems: string[]): SharedSettings {
  return {
    tunnelPaths: readTunnelPaths(env, problems),
    derivedPaths: readSwitch(env, 'DERIVED_PATHS', false, problems),
    trustedProxies: readNetworks(env, 'TRUSTED_PROXIES', [], problems),
    maxEnvelopeBytes: readInteger(
      env,
      'MAX_ENVELOPE_BYTES',
      'number of bytes',
      DEFAULT_MAX_ENVELOPE_BYTES,
      [MIN_ENVELOPE_BYTES, MAX_ENVELOPE_BYTES],
      problems,
    ),
  }
}

function readTunnelPaths(env: Environment, problems: string[]): string[] {
  const given = env.TUNNEL_PATHS?.trim()
  if (!given) return [DEFAULT_TUNNEL_PATH]
  const paths = given.split('|')
  for (const path of paths) {
    if (!/^\/[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/.test(path))
      problems.push(
        `TUNNEL_PATHS: "${path}" is not a path; write one like /monitoring (letters, digits, - and _ between slashes), several separated by |`,
      )
    else if (WEB_PATH.test(path))
      problems.push(
        `TUNNEL_PATHS: "${path}" is served by the web app; choose one outside /_next, /console, /healthz and /lab`,
      )
  }
  return [...new Set(paths)]
}

/** Reads `on` or `off`. */
export function readSwitch(env: Environment, name: string, byDefault: boolean, problems: string[]): boolean {
  const given = env[name]?.trim()
  if (!given) return byDefault
  if (given !== 'on' && given !== 'off')
    problems.push(`${name}: "${given}" is neither on nor off; write one of the two`)
  return given === 'on'
}

/** Reads CIDRs and single addresses, separated by commas or white space. */
export function readNetworks(
  env: Environment,
  name: string,
  byDefault: string[],
  problems: string[],
): string[] {
  const given = env[name]?.trim()
  if (!given) return byDefault
  const networks = given.split(/[\s,]+/).filter(Boolean)
  for (const network of networks)
    if (!isNetwork(network))
      problems.push(
        `${name}: "${network}" is not a network; write addresses or CIDRs like 10.0.0.0/8, separated by commas or spaces`,
      )
  return networks
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || address.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

/** Reads a whole number within `[min, max]`; `kind` names it in the refusal ("port", "number of bytes"). */
export function readInteger(
  env: Environment,
  name: string,
  kind: string,
  byDefault: number,
  [min, max]: [number, number],
  problems: string[],
): number {
  const given = env[name]?.trim()
  if (!given) return byDefault
  const value = Number(given)
  if (/^(0|[1-9]\d{0,15})$/.test(given) && value >= min && value <= max) return value
  problems.push(`${name}: "${given}" is not a ${kind}; write a whole number from ${min} to ${max}`)
  return byDefault
}

/** Reads words from a closed set, separated by commas or white space. */
export function readWords<Word extends string>(
  env: Environment,
  name: string,
  known: readonly Word[],
  problems: string[],
): Word[] {
  const given = (env[name] ?? '').split(/[\s,]+/).filter(Boolean)
  return given.flatMap((word) => {
    const match = known.find((candidate) => candidate === word)
    if (!match) problems.push(`${name}: "${word}" is not known; write some of ${known.join(', ')}`)
    return match ? [match] : []
  })
}

/** Reads one of a closed set of words. */
export function readChoice<Word extends string>(
  env: Environment,
  name: string,
  known: readonly Word[],
  byDefault: Word,
  problems: string[],
): Word {
  const given = env[name]?.trim()
  if (!given) return byDefault
  const match = known.find((candidate) => candidate === given)
  if (!match) problems.push(`${name}: "${given}" is not known; write one of ${known.join(', ')}`)
  return match ?? byDefault
}

/** A secret from its variable, or from the file that `NAME_FILE` names, as Docker's secrets are handed over. */
export function readSecret(env: Environment, name: string, problems: string[]): string | undefined {
  const file = env[`${name}_FILE`]
  if (env[name] && file) problems.push(`${name}: it is set twice; write either ${name} or ${name}_FILE`)
  if (env[name] || !file) return env[name] || undefined
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch {
    problems.push(
      `${name}_FILE: "${file}" cannot be read; write the path of a file that this process may read`,
    )
    return undefined
  }
}

/** Up to the last `@`: a password may hold what it should not. */
export function withoutLogin(url: string): string {
  return url.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@')
}
