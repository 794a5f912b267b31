import { describe, expect, it } from 'vitest'
import { FileProblem } from '../../../../tunnel/src/policy/scrub/located-json.ts'
import { readRulesFile } from '../../../../tunnel/src/policy/scrub/rules-file.ts'
import { metaOf, scrubberOf, scrubText, scrubValue } from './scrub-json.ts'

function scrubberFor(file: object) {
  return scrubberOf({ selected: readRulesFile(Buffer.from(JSON.stringify(file))) })
}

function problemOf(file: string): string {
  try {
    readRulesFile(Buffer.from(file))
    return ''
  } catch (error) {
    if (error instanceof FileProblem) return error.message
    throw error
  }
}

describe('A file of rules', () => {
  it("applies the example of Relay's documentation", () => {
    const scrubber = scrubberFor({
      rules: {
        device_id: { type: 'pattern', pattern: 'd/[a-f0-9]{12}', redaction: { method: 'hash' } },
      },
      applications: { $string: ['@ip:replace', 'device_id'] },
    })
    expect(scrubValue(scrubber, { extra: { a: '127.0.0.1', b: 'at d/deadbeef1234.' } })).toEqual({
      extra: { a: '[ip]', b: expect.stringMatching(/^at [0-9A-F]{40}\.$/) },
    })
  })

  it.each([
    ['remove', '', ['x', 1, 1]],
    ['mask', '***', ['m', 1, 4]],
    ['replace', '[Filtered]', ['s', 1, 11]],
  ])('redacts with the method %s', (method, text, [type, start, end]) => {
    const scrubber = scrubberFor({
      rules: { a: { type: 'pattern', pattern: 'b+', redaction: { method } } },
      applications: { 'extra.**': ['a'] },
    })
    const event = { extra: { x: 'abbba' }, tags: { x: 'abbba' } }
    expect(scrubValue(scrubber, event)).toEqual({ extra: { x: `a${text}a` }, tags: { x: 'abbba' } })
    expect(metaOf(scrubber, event)).toEqual({
      extra: { x: { '': { rem: [['a', type, start, end]], len: 5 } } },
    })
  })

  it('redacts only the groups that a pattern names', () => {
    const scrubber = scrubberFor({
      rules: {
        a: { type: 'pattern', pattern: '(😀id=)(\\d+)', replaceGroups: [2], redaction: { method: 'mask' } },
      },
      applications: { $message: ['a'] },
    })
    expect(scrubValue(scrubber, { message: 'é 😀id=123 x' })).toEqual({ message: 'é 😀id=*** x' })
  })

  it('redacts members whose name matches, and pairs', () => {
    const scrubber = scrubberFor({
      rules: {
        a: { type: 'redact_pair', keyPattern: '(?i)badge', redaction: { method: 'replace', text: '-' } },
      },
      applications: { '$object || $string': ['a'] },
    })
    expect(scrubValue(scrubber, { x: { Badge: '1', badges: { b: 1 } }, y: [['badge', 'z']] })).toEqual({
      x: { Badge: '-', badges: null },
      y: [['badge', '-']],
    })
  })

  it('gives the redaction and the name of a rule to those that it refers to', () => {
    const scrubber = scrubberFor({
      rules: {
        inner: { type: 'email' },
        outer: {
          type: 'multiple',
          rules: ['inner', '@ip'],
          hideInner: true,
          redaction: { method: 'replace', text: '-' },
        },
        alias: { type: 'alias', rule: 'outer' },
      },
      applications: { message: ['alias'] },
    })
    const event = { message: 'a@b.example 10.0.0.1' }
    expect(scrubValue(scrubber, event)).toEqual({ message: '- -' })
    expect(JSON.stringify(metaOf(scrubber, event))).toContain('["outer","s",0,1],["outer","s",2,3]')
  })

  it('removes values as a whole', () => {
    const scrubber = scrubberFor({
      applications: { '$user.ip_address || $http.cookies': ['@anything:remove'] },
    })
    expect(
      scrubValue(scrubber, { user: { ip_address: '1', id: 'a' }, request: { cookies: { a: 'b' } } }),
    ).toEqual({
      user: { ip_address: null, id: 'a' },
      request: { cookies: null },
    })
  })

  it('selects a field that Sentry needs only by its name', () => {
    const frames = (filename: string) => ({ stacktrace: { frames: [{ filename }] } })
    const event = frames('/home/jane/app.js')
    expect(scrubValue(scrubberFor({ applications: { $string: ['@userpath'] } }), event)).toEqual(event)
    expect(scrubValue(scrubberFor({ applications: { '$frame.filename': ['@userpath'] } }), event)).toEqual(
      frames('/home/[user]/app.js'),
    )
  })

  it('takes time in proportion to the size of a text, and redacts the rest of one with many matches', () => {
    const scrubber = scrubberFor({
      rules: { a: { type: 'pattern', pattern: '(a|aa)+$|(x+x+)+y|b' } },
      applications: { $string: ['a'] },
    })
    const start = process.cpuUsage()
    scrubText(scrubber, JSON.stringify({ a: 'a'.repeat(100_000), b: 'x'.repeat(100_000) }))
    expect(process.cpuUsage(start).user).toBeLessThan(2_000_000)
    expect(scrubValue(scrubber, { a: `1${'b2'.repeat(200)}` })).toEqual({ a: '1' })
  })
})

describe('Selectors', () => {
  const event = {
    user: { email: 'x', name: 'x' },
    extra: { a: { b: 'x' }, 'c d': 'x' },
    exception: { values: [{ value: 'x', stacktrace: { frames: [{ vars: { v: 'x' } }] } }] },
    breadcrumbs: [{ message: 'x' }],
    tags: [['t', 'x']],
  }

  it.each([
    ['$user.email', ['user.email']],
    ['$user.*', ['user.email', 'user.name']],
    ['EMAIL', ['user.email']],
    ['extra.**', ['extra.a.b', 'extra.c d']],
    ["extra.'c d'", ['extra.c d']],
    ['extra.**.b', ['extra.a.b']],
    ['**.b', ['extra.a.b']],
    ['$error.value', ['exception.values.0.value']],
    ['$exception.**', ['exception.values.0.value', 'exception.values.0.stacktrace.frames.0.vars.v']],
    ['$frame.vars.**', ['exception.values.0.stacktrace.frames.0.vars.v']],
    ['$breadcrumb.message', ['breadcrumbs.0.message']],
    ['tags.0.1', ['tags.0.1']],
    ['$string && !$user.** && !(extra.** | $error.**) && !tags.**', ['breadcrumbs.0.message']],
    ['$string & ~$string', []],
  ])('%s', (selector, expected) => {
    const scrubber = scrubberFor({
      rules: { a: { type: 'pattern', pattern: '^x$', redaction: { method: 'replace', text: 'hit' } } },
      applications: { [selector]: ['a'] },
    })
    const hits: string[] = []
    collect(scrubValue(scrubber, event), [])
    expect(hits.sort()).toEqual(expected.toSorted())

    function collect(value: unknown, path: string[]): void {
      if (value === 'hit') hits.push(path.join('.'))
      if (typeof value === 'object' && value !== null)
        for (const [key, member] of Object.entries(value)) collect(member, [...path, key])
    }
  })
})

describe('A wrong file of rules', () => {
  it.each([
    ['{\n  "rules": {,}\n}', 'line 2, column 13: this is not JSON'],
    ['{"rules": {}} x', 'line 1, column 15: this is not JSON'],
    ['[]', 'line 1, column 1: write an object'],
    ['{"rule": {}}', 'line 1, column 2: "rule" is not known here; write one of rules, vars, applications'],
    ['{"rules": {"a": {"type": "unknown"}}}', 'line 1, column 26: there is no rule type "unknown"'],
    ['{"rules": {"a": {"type": "pattern"}}}', 'line 1, column 17: "pattern" is missing'],
    ['{"rules": {"a": {}}}', 'line 1, column 17: the rule "a" has no type'],
    [
      '{"rules": {"é": {"type": "email", "redaction": {"method": "encrypt"}}}}',
      'line 1, column 59: the method "encrypt" is not supported',
    ],
    ['{"rules": {"a": {"type": "alias", "rule": "a"}}}', 'line 1, column 17: the rule "a" refers to itself'],
    ['{"applications": {"$string": ["@emial"]}}', 'line 1, column 31: there is no rule "@emial"'],
    ['{"applications": {"$string":\n ["@pairs"]}}', 'line 2, column 3: there is no rule "@pairs"'],
    ['{"applications": {"$user.": ["@email"]}}', 'line 1, column 26: in the selector, a path is missing'],
    ['{"applications": {"$minidump": []}}', 'line 1, column 20: in the selector, $minidump is not supported'],
    ['{"applications": {"a.**.b.**": []}}', 'in the selector, ** stands there more than once'],
    ['{"vars": {"hashKey": 1}}', 'line 1, column 22: write a text'],
    ['{"vars": {}, "vars": {}}', 'line 1, column 14: "vars" stands there twice'],
  ])('%s: %s', (file, message) => {
    expect(problemOf(file)).toContain(message)
  })

  it('has the place of a pattern that is not valid', () => {
    expect(problemOf('{"rules": {"a": {"type": "pattern", "pattern": "("}}}')).toMatch(
      /^line 1, column 48: the pattern is not valid: .*missing closing \)/,
    )
    expect(problemOf('{"rules": {"a": {"type": "pattern", "pattern": "a(?=b)"}}}')).toMatch(
      /^line 1, column 48/,
    )
  })
})
