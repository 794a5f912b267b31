/** Rules, ServiceMonitor and dashboard of the chart, with two releases in one Prometheus. */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { renderChart, type Values } from '../../support/kubernetes/chart.ts'
import { configOf, type Manifest, matches, servicesOf } from '../../support/kubernetes/manifests.ts'
import { ROOT } from '../../support/node.ts'
import { PROMTOOL_PROGRAM, requires } from '../../support/requirements.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

type Monitor = Manifest & {
  spec: {
    selector: { matchLabels: Record<string, string> }
    endpoints: { port: string; relabelings: { targetLabel: string; replacement: string }[] }[]
  }
}
type Rule = { alert?: string; labels?: Record<string, string> }

const ON = { enabled: true }
const ALL: Values = { monitoring: { serviceMonitor: ON, prometheusRule: ON, dashboard: ON } }
const rulesOf = (manifests: Manifest[]) =>
  manifests.find(({ kind }) => kind === 'PrometheusRule')?.spec as { groups: { rules: Rule[] }[] }

/** Series of production, where all tunnels are down and 2 % of the last envelopes were lost, and of staging, where all is well. */
const SERIES = [
  ['up{%production%,instance="a"}', '1x90 0x60'],
  ['up{%production%,instance="b"}', '1x90 _x60'],
  ['up{%staging%,instance="c"}', '1x150'],
  ['up{%staging%,instance="d"}', '1x150'],
  ['culvert_envelopes_total{%production%,outcome="delivered",reason=""}', '0+980x150'],
  ['culvert_envelopes_total{%production%,outcome="rejected",reason="spool-full"}', '0+20x150'],
  ['culvert_envelopes_total{%staging%,outcome="delivered",reason=""}', '0+98000x150'],
  ['culvert_spool_writable{%production%,instance="a"}', '1x150'],
  ['culvert_spool_writable{%staging%,instance="c"}', '0x150'],
]
const inRelease = (series: string) =>
  series.replace(/%(\w+)%/, (_, name) => `job="culvert-tunnel",namespace="culvert",release="${name}"`)

const ofRelease = (release: string, more: object) => ({ namespace: 'culvert', release, ...more })
const CHECKS = [
  { alertname: 'CulvertAway', labels: ofRelease('production', { severity: 'page' }) },
  {
    alertname: 'CulvertLosesEnvelopesFast',
    labels: ofRelease('production', { severity: 'page', job: 'culvert-tunnel' }),
  },
  {
    alertname: 'CulvertSpoolUnwritable',
    labels: ofRelease('staging', { severity: 'page', job: 'culvert-tunnel' }),
  },
  { alertname: 'CulvertNoSpareReplica', labels: undefined },
]

describe('The rules of two releases', requires('helm', 'promtool'), () => {
  it('alert on the release that fails, once, whatever the other does', async () => {
    await using folder = await makeFolder()
    const specs = ['production', 'staging'].map((release) => rulesOf(renderChart(ALL, release)))
    const rule_files = await Promise.all(
      specs.map(async (spec, i) => {
        await writeFile(join(folder.path, `${i}.yml`), JSON.stringify(spec))
        return `${i}.yml`
      }),
    )
    const annotationsOf = (name: string) =>
      specs[0]?.groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === name)
    const test = {
      interval: '1m',
      input_series: SERIES.map(([series = '', values]) => ({ series: inRelease(series), values })),
      promql_expr_test: CHECKS.map(({ alertname, labels }) => ({
        expr: `ALERTS{alertname="${alertname}",alertstate="firing"}`,
        eval_time: '140m',
        exp_samples: labels ? [{ labels: sampleOf({ alertname, ...labels }), value: 1 }] : [],
      })),
    }
    for (const { alertname } of CHECKS) expect(annotationsOf(alertname)).toBeDefined()
    const file = join(folder.path, 'test.yml')
    await writeFile(file, JSON.stringify({ rule_files, evaluation_interval: '1m', tests: [test] }))
    await promisify(execFile)(PROMTOOL_PROGRAM ?? '', ['test', 'rules', file])
  })
})

describe('The monitoring of a release', requires('helm'), () => {
  it('scrapes all tunnels, with the labels that its rules select', () => {
    const all = renderChart(ALL, 'shop')
    const monitor = all.find(({ kind }) => kind === 'ServiceMonitor') as Monitor
    const [endpoint] = monitor.spec.endpoints
    const watched = servicesOf(all).filter(
      ({ metadata, spec }) =>
        matches(monitor.spec.selector.matchLabels, metadata.labels ?? {}) &&
        spec?.ports?.some(({ name }) => name === endpoint?.port),
    )
    expect(watched.map(({ metadata }) => metadata.name)).toEqual(['shop-culvert-tunnel-admin'])
    const labels = endpoint?.relabelings.map(({ targetLabel, replacement }) => [targetLabel, replacement])
    expect(labels).toEqual([
      ['job', 'culvert-tunnel'],
      ['release', 'shop'],
    ])
    const text = JSON.stringify(rulesOf(all))
    const selectors = text.match(/\{[^{}]*job=[^{}]*\}/g) ?? []
    expect(selectors.length).toBeGreaterThan(40)
    for (const selector of selectors)
      expect(selector).toContain('job=\\"culvert-tunnel\\",namespace=\\"culvert\\",release=\\"shop\\"')
  })

  it('has the rules and the dashboard of the repository', () => {
    const read = (file: string) => readFileSync(resolve(ROOT, 'deploy', file), 'utf8')
    const all = renderChart(ALL)
    const namesOf = ({ groups }: { groups: { rules: Rule[] }[] }) =>
      groups.flatMap(({ rules }) => rules.map((rule) => rule.alert ?? 'record'))
    expect(namesOf(rulesOf(all))).toEqual(namesOf(parse(read('prometheus/rules.yml'))))
    expect(configOf(all, 'culvert-dashboard')).toEqual({ 'culvert.json': read('grafana/culvert.json') })
  })
})

/** Returns labels as promtool writes a sample. */
function sampleOf({ alertname, ...labels }: Record<string, string>): string {
  const shown = Object.entries({ alertname, alertstate: 'firing', ...labels })
  return `ALERTS{${shown.map(([name, value]) => `${name}="${value}"`).join(',')}}`
}
