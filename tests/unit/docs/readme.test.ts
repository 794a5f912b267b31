/** README is true: it names every setting and every refusal. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { REFUSALS } from '../../../tunnel/src/rejections.ts'
import { ROOT } from '../../support/node.ts'

const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8')

// What compose decides for its containers, and nobody else sets; Grafana's own begin with GF_.
const OF_COMPOSE = new Set([
  'LISTEN',
  'INNER_LISTEN',
  'TUNNELS',
  'WEB',
  'RESOLVER',
  'IDLE_AT_LEAST',
  'NGINX_TEMP',
  'ACCESS_LOG',
])

describe('README', () => {
  const readme = read('README.md')

  it('lists every refusal with its status, its sentence and its fix', () => {
    for (const [code, { status, sentence, fix }] of Object.entries(REFUSALS))
      expect(readme).toContain(`| \`${code}\` | ${status} | ${sentence} | ${fix} |`)
  })

  it('lists no refusal that there is not', () => {
    const listed = [...readme.matchAll(/^\| `([a-z-]+)` \| \d{3} \|/gm)].map(([, code]) => code)
    expect(listed.sort()).toEqual(Object.keys(REFUSALS).sort())
  })

  it('lists every setting that the tunnel and web read', () => {
    const sources = ['tunnel/src/config/config.ts', 'tunnel/src/config/settings.ts', 'web/lib/config.ts']
      .map(read)
      .join('\n')
    const names = [
      ...sources.matchAll(/(?:env\.|')([A-Z][A-Z]+(?:_[A-Z]+)+|INBOX|EDGE|FILTERS|HOST|PORT)\b/g),
    ].map(([, name = '']) => name)
    const missing = [...new Set(names)].filter(
      (name) => name !== 'INBOX_DSN' && !readme.includes(`\`${name}\``),
    )
    expect(missing).toEqual([])
  })

  it('lists every setting that compose passes on', () => {
    const names = [...read('docker-compose.yml').matchAll(/^ {2,6}([A-Z][A-Z_]+):/gm)].map(
      ([, name = '']) => name,
    )
    const missing = names.filter(
      (name) => !OF_COMPOSE.has(name) && !name.startsWith('GF_') && !readme.includes(`\`${name}\``),
    )
    expect(missing).toEqual([])
  })

  it('shows what the benchmark has written, as it was written', () => {
    const [, shown = ''] = /<!-- bench: [^>]*-->\n(.*)<!-- end of bench -->/s.exec(readme) ?? []
    expect(shown).toContain('| Culvert ÷ handleTunnelRequest |')
    expect(read('docs/bench/cost.md')).toContain(shown.trim())
  })
})
