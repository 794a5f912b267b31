/**
 * Figures of the admin API: counts over time, of all replicas that share a store. Every chart, total and problem of the console is a sum
 * of these.
 */

/** Cumulative histogram: how many took at most so many seconds, by bound; `+Inf` counts all. */
export type DurationCounts = Record<string, number>

/** Counts of one span of time. Names that were not counted are absent. */
export type FigureCounts = {
  /** Envelopes that got an outcome, and entries that ended although nothing counted them as spooled. With `resent`, they are the sum of `outcomes` except `spooled`, `final_outcomes`, `vanished`, `unknown` and the growth of `pending`. */
  received: number
  /** By outcome, followed by a colon and the reason if there is one: `delivered`, `rejected:spool-full`. */
  outcomes: Record<string, number>
  /** Items by type, a colon, and the outcome of their envelope or the reason for which they were removed: `event:delivered`. */
  items: Record<string, number>
  /** Spooled envelopes by final outcome. */
  final_outcomes: Record<string, number>
  /** Entries that an operator has sent again. Each gets a final outcome, as spooled envelopes do. */
  resent: number
  /** Body bytes as received. */
  bytes: number
  /** Seconds from the first byte of an envelope to its response. */
  durations: DurationCounts
  /** By origin. */
  upstreams: Record<string, UpstreamCounts>
  /** Envelopes for mirrors, which have no outcome, by result, a colon and `host/project` of the mirror: `delivered:sentry.example/7`. */
  mirrored: Record<string, number>
  /** Values and items that a policy removed, or would have, by its name, a colon and the rule: `scrub:@email:replace`, `quota:error`. */
  rules: Record<string, number>
  /** Acknowledged entries that the store lost. */
  vanished: number
  /** Reach tests of browsers by result. */
  reach: Record<string, number>
  /** Envelopes from browsers that Culvert did not reject. */
  browser_envelopes: number
  /** Errors from browsers that were delivered or spooled. */
  browser_errors: number
  /** Requests of pages for `sdk.js`. */
  sdk_loads: number
}

/** Envelopes that an upstream accepted at once, and the seconds until it responded. */
export type UpstreamCounts = { delivered: number; durations: DurationCounts }

/** Counts of the span that begins at `time`, in milliseconds since 1970. */
export type FiguresPoint = FigureCounts & {
  time: number
  /** Replicas that counted. A minute in which none ran has no point. */
  replicas: number
  /** Spooled envelopes without a final outcome at the end of the span. */
  pending: number
  /** Envelopes that were pending and are gone without a final outcome: a replica was killed before it could store that. */
  unknown: number
}

/** Response of `GET /figures?from=&to=&step=`. Times are in milliseconds since 1970. */
export type Figures = {
  /** Rounded down to a multiple of `step`. */
  from: number
  to: number
  /** Length of the span of a point. */
  step: number
  /** Oldest first. The last span may still be running. */
  points: FiguresPoint[]
  /** Spooled envelopes without a final outcome at `from`. */
  pending_before: number
  /** Replicas that counted in the range, with their envelopes and the time of the last count. */
  replicas: { name: string; envelopes: number; last: number }[]
}

/** Bounds of the range, in milliseconds, and of the number of points. */
export const MIN_STEP = 60_000
export const MAX_RANGE = 7 * 24 * 60 * 60_000
export const MAX_POINTS = 200

export function noCounts(): FigureCounts {
  return {
    ...{ received: 0, outcomes: {}, items: {}, final_outcomes: {}, resent: 0, bytes: 0 },
    ...{
      durations: {},
      upstreams: {},
      mirrored: {},
      rules: {},
      vanished: 0,
      reach: {},
      browser_envelopes: 0,
      browser_errors: 0,
      sdk_loads: 0,
    },
  }
}

/** Returns a + sign · b. Both may have more properties than counts, which the sum has not. */
export function addCounts(
  a: Partial<FigureCounts>,
  b: Partial<FigureCounts>,
  sign: 1 | -1 = 1,
): FigureCounts {
  return { ...noCounts(), ...addTrees(pickCounts(a), pickCounts(b), sign) }
}

/** Returns the sum of several spans. */
export function sumFigures(all: readonly Partial<FigureCounts>[]): FigureCounts {
  return all.reduce<FigureCounts>((sum, each) => addCounts(sum, each), noCounts())
}

/** Counts by name, or of several kinds. */
type Tree = { readonly [name: string]: number | Tree }

function pickCounts(counts: Partial<FigureCounts>): Tree {
  return Object.fromEntries(COUNTS.map((name) => [name, counts[name] ?? NONE[name]]))
}

function addTrees(a: Tree, b: Tree, sign: 1 | -1): Tree {
  const sum: Record<string, number | Tree> = { ...a }
  for (const [name, value] of Object.entries(b)) {
    const before = sum[name]
    sum[name] =
      typeof value === 'number'
        ? Number(before ?? 0) + sign * value
        : addTrees(typeof before === 'object' ? before : {}, value, sign)
  }
  return sum
}

const NONE = noCounts()
const COUNTS = Object.keys(NONE) as (keyof FigureCounts)[]
