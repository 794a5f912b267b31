/** Mirrors in the configuration of the tunnel. */

import { describe, expect, it } from 'vitest'
import { formatMirror } from '../../../contract/mirrors.ts'
import { findLoops } from '../../../scripts/dsn-loop.ts'
import { readConfig } from '../../../tunnel/src/config/config.ts'
import { problemsOf } from '../../support/tunnel/problems.ts'

const A = 'https://key@a.example/1'
const B = 'https://key@b.example/2'
const C = 'https://key@c.example/3'

describe('MIRROR_DSN', () => {
  it.each([
    ['', []],
    [`${A}->${B}`, [`${A}->${B}`]],
    [` ${A} -> ${B} `, [`${A}->${B}`]],
    [`${A}->${B},${A}->${C}`, [`${A}->${B}`, `${A}->${C}`]],
    [`${A}->${B}\n${A}->${C}`, [`${A}->${B}`, `${A}->${C}`]],
    [`https://key:secret@a.example:443/1->${B}`, [`${A}->${B}`]],
  ])('accepts "%s"', (MIRROR_DSN, mirrors) => {
    const config = readConfig({ SENTRY_DSN: A, MIRROR_DSN })
    expect(config.mirrors.map(formatMirror)).toEqual(mirrors)
    expect(config.shown.MIRROR_DSN).toBe(mirrors.length > 0 ? mirrors.join(' ') : '–')
  })

  it.each<[text: string, problem: string, dsns?: string]>([
    [B, 'is not a pair of DSNs'],
    [`${A}->`, 'is not a pair of DSNs'],
    [`${A}->${B}->${C}`, 'is not a pair of DSNs'],
    [`${A}->https://b.example/2`, '"https://b.example/2" is not a DSN; write it with its key'],
    [`${A}->https://key:secret@b.example/x`, '"https://key@b.example/x" is not a DSN'],
    [`${C}->${B}`, `"${C}" is not in SENTRY_DSN`],
    [`https://other@a.example/1->${B}`, '"https://other@a.example/1" is not in SENTRY_DSN'],
    [`${A}->${B}`, `"${A}" is not in SENTRY_DSN`, ''],
    [`${A}->${A}`, 'leads to itself'],
    [`${A}->https://other@a.example/1`, 'leads to itself'],
    [`${A}->${B}`, 'leads to a project of SENTRY_DSN', `${A} ${B}`],
    [`${A}->https://other@b.example/2`, 'leads to a project of SENTRY_DSN', `${A} ${B}`],
    [`${A}->${B} ${A}->${B}`, 'occurs twice'],
    [`${A}->http://key@localhost:9090/7`, 'leads back to Culvert'],
    [`${A}->http://key@nginx:8080/7`, 'leads back to Culvert'],
  ])('rejects "%s"', (MIRROR_DSN, problem, SENTRY_DSN = A) => {
    const problems = problemsOf({ SENTRY_DSN, MIRROR_DSN })
    expect(problems).toEqual([expect.stringMatching(/^MIRROR_DSN: "[^"]+" .+; (write|remove) /)])
    expect(problems).toEqual([expect.stringContaining(problem)])
  })

  it('rejects a cycle, once for each of its mirrors', () => {
    const problems = problemsOf({ SENTRY_DSN: `${A} ${B}`, MIRROR_DSN: `${A}->${B} ${B}->${A}` })
    expect(problems).toHaveLength(2)
  })

  it('is asked whether it leads to a Culvert', async () => {
    const request: typeof fetch = async (url) =>
      Response.json(String(url).includes('b.example') ? { code: 'method-unknown', request_id: 'x' } : {})
    expect(await findLoops({ SENTRY_DSN: A, MIRROR_DSN: `${A}->${B}` }, request)).toEqual([
      expect.stringContaining(`MIRROR_DSN: "${B}" leads back`),
    ])
  })
})
