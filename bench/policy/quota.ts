/** Measures the CPU time that storm protection and quotas add to an envelope: `node bench/policy/quota.ts`. */

import { parseDsn } from 'contract/dsn'
import { capture } from '../../tests/support/sdk-captures.ts'
import { createProjects } from '../../tunnel/src/pipeline/projects.ts'
import { Quotas, quotaStage } from '../../tunnel/src/policy/quota/quotas.ts'
import { parseQuota } from '../../tunnel/src/policy/quota/settings.ts'
import { Storms, stormStage } from '../../tunnel/src/policy/storms.ts'
import { printCosts, type Variant } from './measure.ts'

const BODIES = {
  '3.3 KB error': capture('nextjs-11.1.0-init-tunnel-2-event').body,
  '40 KB span batch': capture('nextjs-11.1.0-init-tunnel-3-span').body,
  replay: capture('browser-11.12.0-replay-2').body,
}

const [project] = createProjects(['https://a@sentry.example/1'].flatMap((dsn) => parseDsn(dsn) ?? [])).all

const ignore = () => {}

function createStorms(): Storms {
  const settings = { limit: 100, mode: 'enforce' } as const
  return new Storms(settings, { now: Date.now, onRemoved: ignore, scrub: (title) => title })
}

function createQuotas(): Quotas {
  const settings = parseQuota('error=1000000000/day,span=1000000000/day,replay=1000000000/day')
  return new Quotas(settings, { now: Date.now, onRemoved: ignore })
}

function createVariant(storms: Storms | undefined, quotas: Quotas | undefined): Variant {
  const keep = (type: string) => [storms, quotas].some((policy) => policy?.reads(type))
  return { stages: [...(storms ? [stormStage(storms)] : []), ...(quotas ? [quotaStage(quotas)] : [])], keep }
}

printCosts(
  'parsing, storms, quotas',
  BODIES,
  {
    off: createVariant(undefined, undefined),
    storms: createVariant(createStorms(), undefined),
    quotas: createVariant(undefined, createQuotas()),
    both: createVariant(createStorms(), createQuotas()),
  },
  project,
)
