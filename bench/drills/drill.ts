/** Types of a failure drill: its load, its fault, the repair, and what is expected. */

import type { Route, Site, SiteKind } from './site.ts'

/** Place where an operator sees a fault. */
export type Source = 'status' | 'metrics' | 'log' | 'response' | 'output'

/** Sign of a fault: a text that appears in one of the sources, and its description in Markdown. */
export type Sign = { source: Source; shows: RegExp; words: string }

/** Largest accepted counts. A count without a bound is reported only. */
export type Bounds = { lost?: number; duplicates?: number; notAccepted?: number }

export type Drill = {
  name: string
  title: string
  site: SiteKind
  route: Route
  /** Envelopes per second. */
  rate: number
  /** Time between the end of the fault's injection and the repair. */
  seconds: number
  /** Time of load before the fault and after the repair. */
  calmSeconds: number
  fault: (site: Site) => Promise<void>
  repair: (site: Site) => Promise<void>
  signs: readonly Sign[]
  /** Markdown for operators. */
  remedy: string
  bounds: Bounds
}

/** Drill with the usual load on the usual stack, unless it says otherwise. */
type Declaration = Omit<Drill, keyof typeof USUAL> & Partial<Drill>

const USUAL = { site: 'file', route: 'address', rate: 100, seconds: 10, calmSeconds: 3 } as const

export type Result = {
  name: string
  title: string
  rate: number
  posted: number
  /** Envelopes that were answered with 2xx. */
  acknowledged: number
  notAccepted: number
  /** Acknowledged envelopes that Sentry did not accept within 90 s after the repair. */
  lost: number
  /** Envelopes that Sentry accepted more than once. */
  duplicates: number
  p99: number
  /** Signs that were seen, and those that were not. */
  seen: string[]
  missed: string[]
  remedy: string
  /** Broken expectations as sentences; none when the drill passed. */
  failures: string[]
}

export function declareDrill(declaration: Declaration): Drill {
  return { ...USUAL, ...declaration }
}
