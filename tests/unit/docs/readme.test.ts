/** README names settings that exist, and every rejection. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SETTING_NAMES } from '../../../tunnel/src/config/settings.ts'
import { REJECTIONS } from '../../../tunnel/src/rejections.ts'
import { ROOT } from '../../support/node.ts'

const read = (file: string) => readFileSync(resolve(ROOT, file), 'utf8')

describe('README', () => {
  const readme = read('README.md')

  it('lists every rejection with its status, its sentence and its fix', () => {
    for (const [code, { status, sentence, fix }] of Object.entries(REJECTIONS))
      expect(readme).toContain(`| \`${code}\` | ${status} | ${sentence} | ${fix} |`)
  })

  it('lists no rejection that there is not', () => {
    const listed = [...readme.matchAll(/^\| `([a-z-]+)` \| \d{3} \|/gm)].map(([, code]) => code)
    expect(listed.sort()).toEqual(Object.keys(REJECTIONS).sort())
  })

  it('lists settings that exist', () => {
    const [, table = ''] = /^## Settings\n([\s\S]*?)\n## /m.exec(readme) ?? []
    const names = [...table.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name = '']) => name)
    expect(names).toHaveLength(10)
    expect(SETTING_NAMES).toEqual(expect.arrayContaining(names))
  })

  it('shows what the benchmark has written, as it was written', () => {
    const [, shown = ''] = /<!-- bench: [^>]*-->\n(.*)<!-- end of bench -->/s.exec(readme) ?? []
    expect(shown).toContain('| Culvert ÷ handleTunnelRequest |')
    expect(read('docs/bench/cost.md')).toContain(shown.trim())
  })
})
