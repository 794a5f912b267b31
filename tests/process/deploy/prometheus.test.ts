/** Checks that the rules, alerts, runbook and dashboard name metrics that a real tunnel exports. */

import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect } from 'vitest'
import { parse } from 'yaml'
import { freePort } from '../../../scripts/start/free-port.ts'
import { errorOf } from '../../support/envelopes.ts'
import { it as base } from '../../support/fixtures.ts'
import { perFile } from '../../support/lifetime.ts'
import { ROOT } from '../../support/node.ts'
import { post } from '../../support/post.ts'
import { startProgram } from '../../support/program.ts'
import { PROMETHEUS_PROGRAM, PROMTOOL_PROGRAM, requires } from '../../support/requirements.ts'
import { until } from '../../support/until.ts'

const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8')
const RULES = read('deploy/prometheus/rules.yml')
const DASHBOARD = read('deploy/grafana/culvert.json')
const namesIn = (text: string, pattern: RegExp) =>
  [...new Set([...text.matchAll(pattern)].map(([, name = '']) => name))].sort()
/** Metrics without a panel. */
const NOT_SHOWN = [
  'culvert_spool_project_bytes',
  'culvert_spool_project_oldest_entry_age_seconds',
  'culvert_upstream_request_duration_seconds',
]
const ALERTS = namesIn(RULES, /- alert: (\w+)/g)

/** Metrics of a tunnel that has delivered, spooled and rate limited envelopes. */
const it = base
  .extend('tunnelOptions', perFile, ({ sentry }) => ({
    env: {
      ...{ SENTRY_DSN: sentry.dsn(), QUOTA: 'error=1000/day', STORM_LIMIT: '1' },
      MIRROR_DSN: `${sentry.dsn()}->http://key@127.0.0.1:9/1`,
    },
  }))
  .extend('exposed', perFile, async ({ sentry, tunnel }) => {
    await post(tunnel.url, { body: errorOf(sentry.dsn()) })
    sentry.once('hanging-up')
    await post(tunnel.url, { body: errorOf(sentry.dsn(), { event_id: 'b'.repeat(32) }) }) // spooled, and delivered later
    await sentry.next(({ header }) => header.event_id === 'b'.repeat(32))
    await sentry.next(({ header }) => header.event_id === 'b'.repeat(32))
    sentry.once({ status: 429, headers: { 'x-sentry-rate-limits': '60:error:key' } })
    await post(tunnel.url, { body: errorOf(sentry.dsn(), { event_id: 'a'.repeat(32) }) })
    const look = async () => (await fetch(`${tunnel.adminUrl}/metrics`)).text()
    await until(async () =>
      /^culvert_spool_final_outcomes_total\{final_outcome="delivered".* 1$/m.test(await look()),
    )
    return look()
  })

describe('The metrics in rules and dashboard', () => {
  it('exist in a tunnel, with the labels in use', ({ exposed }) => {
    const told = new Set(namesIn(exposed, /^(culvert_\w+)/gm))
    const types = new Set(namesIn(exposed, /^# TYPE (culvert_\w+)/gm))
    const wanted = namesIn(RULES + DASHBOARD, /\b(culvert_\w+)/g)
    expect(wanted.length).toBeGreaterThan(15)
    expect(wanted.filter((name) => !told.has(name) && !types.has(name))).toEqual([])
    const labels = namesIn(RULES + DASHBOARD, /by \(([a-z_, ]+)\)/g).flatMap((list) => list.split(', '))
    const labelled = new Set([...namesIn(exposed, /[{,](\w+)="/g), 'job', 'namespace', 'release']) // those of the scrape
    expect(labels.filter((name) => !labelled.has(name))).toEqual([])
  })

  it('are all that a tunnel exposes about envelopes, upstreams, the spool and storms', ({ exposed }) => {
    const types = namesIn(
      exposed,
      /^# TYPE (culvert_(?:envelope|item|mirror|upstream|spool|request|policy|storm)\w+)/gm,
    )
    const shown = namesIn(DASHBOARD, /\b(culvert_\w+)/g).map((name) => name.replace(/_bucket$/, ''))
    expect(types.filter((name) => !shown.includes(name) && !NOT_SHOWN.includes(name))).toEqual([])
  })

  it('count the totals of a shared spool once', () => {
    for (const expr of [RULES, DASHBOARD].flatMap((text) =>
      namesIn(text, /([^\n"]*culvert_spool_(?:envelopes|bytes|oldest|bound)[^\n]*)/g),
    ))
      expect(expr).toMatch(/max by \([\w, ]*spool_id\) \(culvert_spool_/)
  })

  it('name only recording rules that exist', () => {
    const recorded = namesIn(RULES, /- record: (\S+)/g)
    const used = namesIn(RULES + DASHBOARD, /\b(culvert:\w+:\w+)/g)
    expect(used.filter((name) => !recorded.includes(name))).toEqual([])
  })

  it('follow the naming conventions of Prometheus', requires('promtool'), ({ exposed }) => {
    const { status, stdout, stderr } = spawnSync(PROMTOOL_PROGRAM ?? '', ['check', 'metrics'], {
      input: exposed,
      encoding: 'utf8',
    })
    expect([status, stdout, stderr]).toEqual([0, '', ''])
  })

  it(
    'are scraped and evaluated by a real Prometheus with these rules',
    requires('prometheus'),
    async ({ exposed: _, tunnel, folder }) => {
      const port = await freePort()
      const config = join(folder, 'prometheus.yml')
      // The shipped configuration, except for the address of the tunnel and a shorter interval.
      const ours = read('deploy/prometheus/prometheus.yml')
        .replace(
          /dns_sd_configs:[\s\S]*$/,
          `static_configs: [{ targets: ['${new URL(tunnel.adminUrl).host}'] }]\n`,
        )
        .replace('rules.yml', resolve(ROOT, 'deploy/prometheus/rules.yml'))
        .replaceAll('_interval: 15s', '_interval: 1s')
      await writeFile(config, ours)
      const args = [
        `--config.file=${config}`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
      ]
      const prometheus = startProgram('prometheus', PROMETHEUS_PROGRAM ?? '', args, {})
      try {
        const ask = async (path: string) =>
          (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json().catch(() => ({}))
        const figure = async (expr: string) =>
          (await ask(`query?query=${encodeURIComponent(expr)}`)).data?.result?.[0]?.value?.[1]
        await until(async () => (await figure('up{job="culvert-tunnel"}').catch(() => undefined)) === '1')
        await until(async () => (await figure('sum(culvert_envelopes_total)')) === '3')
        await until(async () => {
          const { data } = await ask('rules')
          const rules = data.groups.flatMap((group: { rules: { health: string }[] }) => group.rules)
          return rules.length > 20 && rules.every(({ health }: { health: string }) => health === 'ok')
        })
      } finally {
        await prometheus.kill()
      }
    },
  )
})

type RuleCheck = { alertname: string; eval_time: string; exp_alerts: object[] }
type RuleTest = { alert_rule_test?: RuleCheck[] }

const MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60 }

/** Reads a duration like `90m` or `24h`. */
function minutesOf(duration: string): number {
  return Number.parseInt(duration, 10) * (MINUTES[duration.at(-1) ?? ''] ?? Number.NaN)
}

const RULE_TESTS = ['deploy/prometheus/rules.test.yml', 'deploy/prometheus/days.test.yml']

describe('The alerts', () => {
  it('are valid, and fire in the expected cases', requires('promtool'), async () => {
    const promtool = (...args: string[]) => promisify(execFile)(PROMTOOL_PROGRAM ?? '', args, { cwd: ROOT })
    await promtool('check', 'config', 'deploy/prometheus/prometheus.yml')
    await promtool('test', 'rules', ...RULE_TESTS)
  })

  it('have a rule test each, in which they fire and end', () => {
    const tests = RULE_TESTS.flatMap((file): RuleTest[] => parse(read(file)).tests)
    const ending = tests.flatMap(({ alert_rule_test: checks = [] }) => {
      const isAfter = (a: RuleCheck, b: RuleCheck) => minutesOf(a.eval_time) > minutesOf(b.eval_time)
      return checks.flatMap((fired) =>
        fired.exp_alerts.length > 0 &&
        checks.some(
          (later) =>
            later.alertname === fired.alertname && later.exp_alerts.length === 0 && isAfter(later, fired),
        )
          ? [fired.alertname]
          : [],
      )
    })
    expect([...new Set(ending)].sort()).toEqual(ALERTS)
  })

  it('have an entry each in docs/runbook.md, with what to look at and what to do', () => {
    const entries = read('docs/runbook.md').split(/^## /m).slice(1)
    expect(entries.map((entry) => entry.split('\n')[0]).sort()).toEqual(ALERTS)
    for (const entry of entries) {
      expect(entry).toMatch(/\*(Act now|Can wait)\.\*[\s\S]*\*\*Look at\*\*[\s\S]*\*\*Do\*\*/)
      const [name = ''] = entry.split('\n')
      expect(RULES).toContain(`runbook: docs/runbook.md#${name.toLowerCase()}`)
      expect(RULES).toMatch(
        new RegExp(
          `alert: ${name}\\n[\\s\\S]*?severity: ${entry.includes('*Act now.*') ? 'page' : 'ticket'}`,
        ),
      )
    }
  })
})

/** Variable of the dashboard. */
const DATA_SOURCE = `\${datasource}`
type Query = { expr: string; datasource?: object }

describe('The dashboard', () => {
  it('queries the data source, namespace and release that its variables name', () => {
    const { panels, annotations, templating } = JSON.parse(DASHBOARD)
    expect(templating.list.map(({ name }: { name: string }) => name)).toEqual([
      'datasource',
      'namespace',
      'release',
    ])
    const queries = panels.flatMap(({ datasource, targets = [] }: { datasource: object; targets: Query[] }) =>
      targets.flatMap((target) => [target, { ...target, datasource }]),
    )
    for (const { expr, datasource } of [...queries, ...annotations.list]) {
      expect(datasource, expr).toEqual({ type: 'prometheus', uid: DATA_SOURCE })
      for (const selector of namesIn(expr, /\b(?:culvert[\w:]*|up|ALERTS)(?=[{\s)[])(\{[^}]*\})?/g))
        expect(selector, expr).toMatch(/namespace=~"\$namespace",release=~"\$release"/)
    }
  })
})
