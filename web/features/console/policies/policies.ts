/** Policies of all replicas together, and an example of the changes by scrubbing. */

import { categoryLabel } from 'contract/categories'
import type { Figures } from 'contract/figures'
import type { PolicyName, PolicyStatus, QuotaStatus, ScrubExample, StormStatus } from 'contract/policies'
import type { Snapshot } from '../monitor/replica-monitor.ts'

const MAX_STORMS = 20

/** Returns `undefined` when no replica has reported its policies. */
export function readPolicies({ replicas }: Pick<Snapshot, 'replicas'>): PolicyStatus | undefined {
  const reported = replicas.flatMap(({ state, status }) =>
    state === 'responding' && status?.policies ? [status.policies] : [],
  )
  return reported.length > 0 ? mergePolicies(reported) : undefined
}

/** Modes and limits are those of the first replica: all have the same, except during a deploy. */
export function mergePolicies(all: readonly PolicyStatus[]): PolicyStatus {
  const scrub = all.find((each) => each.scrub)?.scrub
  const storm = all.find((each) => each.storm)?.storm
  const quota = all.find((each) => each.quota)?.quota
  return {
    ...(scrub && { scrub }),
    ...(storm && {
      storm: { ...storm, storms: mergeStorms(all.flatMap((each) => each.storm?.storms ?? [])) },
    }),
    ...(quota && {
      quota: { ...quota, quotas: mergeQuotas(all.flatMap((each) => each.quota?.quotas ?? [])) },
    }),
    rules: all.flatMap(({ rules }) => rules),
  }
}

/** Each replica counts the errors that it has received. */
function mergeStorms(storms: readonly StormStatus[]): StormStatus[] {
  const groups = Map.groupBy(storms, ({ project, fingerprint }) => `${project} ${fingerprint}`)
  const sum = (group: readonly StormStatus[], read: (storm: StormStatus) => number) =>
    group.reduce((total, storm) => total + read(storm), 0)
  const merged = [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map((first) => ({
      ...first,
      since: Math.min(...group.map(({ since }) => since)),
      seen: sum(group, ({ seen }) => seen),
      sent: sum(group, ({ sent }) => sent),
    })),
  )
  return merged.sort((a, b) => b.seen - a.seen).slice(0, MAX_STORMS)
}

/** Each replica knows the use by all, one a little later than another. The most used are first. */
function mergeQuotas(quotas: readonly QuotaStatus[]): QuotaStatus[] {
  const groups = Map.groupBy(quotas, ({ project, category, period }) => `${project} ${category} ${period}`)
  const merged = [...groups.values()].map((group) =>
    group.reduce((a, b) => (b.resets > a.resets || (b.resets === a.resets && b.used > a.used) ? b : a)),
  )
  return merged.sort((a, b) => b.used / b.limit - a.used / a.limit)
}

const HOUR_MS = 60 * 60_000

/** Hits of a rule, and the begin of the last span of the figures that has some. */
export type RuleHits = { policy: PolicyName; rule: string; lastHour: number; last?: number }

/** Lists the written rules, and those with hits in the figures. Those with the most hits in the last hour are first. */
export function countRules(
  written: PolicyStatus['rules'],
  { points = [], to = 0 }: Partial<Pick<Figures, 'points' | 'to'>> = {},
): RuleHits[] {
  const names = new Set([
    ...written.map(({ policy, rule }) => `${policy}:${rule}`),
    ...points.flatMap(({ rules = {} }: Partial<Figures['points'][number]>) => Object.keys(rules)),
  ])
  return Array.from(names, (name) => {
    const hits = points.flatMap(({ time, rules }) => (rules?.[name] ? { time, count: rules[name] } : []))
    const [policy = '', ...rule] = name.split(':')
    const last = hits.at(-1)?.time
    return {
      ...{ policy: policy as PolicyName, rule: rule.join(':') },
      lastHour: hits.reduce((sum, { time, count }) => sum + (time > to - HOUR_MS ? count : 0), 0),
      ...(last !== undefined && { last }),
    }
  }).sort((a, b) => b.lastHour - a.lastHour)
}

/** Returns the quota as a sentence part: "error, a day". */
export function quotaName({ category, period }: Pick<QuotaStatus, 'category' | 'period'>): string {
  return `${categoryLabel(category)}, ${period === 'day' ? 'a day' : 'an hour'}`
}

export type Example =
  | { state: 'off' | 'enforced' | 'no-inbox' }
  | { state: 'unchanged'; searched: number }
  | ({ state: 'found' } & Found)

export type Found = Required<Pick<ScrubExample, 'entry' | 'changes' | 'total'>>

/** Chooses the newest of the examples of all replicas, which may have different inboxes. */
export function readExample(
  { scrub }: Pick<PolicyStatus, 'scrub'>,
  examples: readonly ScrubExample[],
): Example {
  if (!scrub) return { state: 'off' }
  if (scrub.mode === 'enforce') return { state: 'enforced' }
  if (examples.length === 0) return { state: 'no-inbox' }
  const found = examples.flatMap(({ entry, changes, total }) => (entry ? [{ entry, changes, total }] : []))
  const [newest] = found.sort((a, b) => b.entry.time - a.entry.time)
  if (newest) return { state: 'found', ...newest }
  return { state: 'unchanged', searched: Math.max(...examples.map(({ searched }) => searched)) }
}
