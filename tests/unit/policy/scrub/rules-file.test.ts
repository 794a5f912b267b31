import { describe, expect, it } from 'vitest'
import { builtInRuleSet } from '../../../../tunnel/src/policy/scrub/rules.ts'
import { FileProblem, readRulesFile } from '../../../../tunnel/src/policy/scrub/rules-file.ts'
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

  it('redacts a number, and a text that contains the name of a secret, by a rule for names', () => {
    const scrubber = scrubberFor({
      rules: { a: { type: 'redact_pair', keyPattern: 'badge', redaction: { method: 'mask' } } },
      applications: { 'extra.**': ['a', '@password'] },
    })
    const extra = { badge: 42, x: 'my badge', y: 'no password', z: [['badge', 7]], other: 8 }
    expect(scrubValue(scrubber, { extra })).toEqual({
      extra: { badge: null, x: '********', y: '', z: [['badge', null]], other: 8 },
    })
  })

  it('redacts an attribute whose name matches', () => {
    const rules = { a: { type: 'redact_pair', keyPattern: 'badge', redaction: { method: 'remove' } } }
    const scrubber = scrubberFor({ rules, applications: { '**': ['a'] } })
    const attributes = { 'user.badge': { type: 'string', value: 'x' }, other: { type: 'string', value: 'y' } }
    const payload = JSON.stringify({ items: [{ body: 'text', attributes }] })
    const [item] = JSON.parse(scrubText(scrubber, payload, 'log', 'container')).items
    expect(item).toMatchObject({
      body: 'text',
      attributes: { ...attributes, 'user.badge': { type: 'string', value: null } },
    })
  })

  describe('comes before the rules of SCRUB=default', () => {
    const scrub = (file: object, value: object) => {
      const { everywhere } = builtInRuleSet('default')
      return scrubValue(
        scrubberOf({ everywhere, selected: readRulesFile(Buffer.from(JSON.stringify(file))) }),
        value,
      )
    }

    it.each([
      ['@email:mask', 'to jane@b.example', 'to **************'],
      ['@email:remove', 'to jane@b.example', 'to '],
      ['@creditcard:mask', 'card 4111111111111111', 'card ****************'],
      ['@urlauth:mask', 'https://u:pw@h.example', 'https://****@h.example'],
      ['@iban:remove', 'DE89370400440532013000 x', ' x'],
    ])('%s', (rule, text, redacted) => {
      expect(scrub({ applications: { $string: [rule] } }, { message: text })).toEqual({ message: redacted })
    })

    it('for members with the name of a secret, and cookies', () => {
      const file = {
        rules: { all: { type: 'pattern', pattern: '^a.*$', redaction: { method: 'replace', text: '-' } } },
        applications: { 'extra.password': ['@password:mask'], '$http.cookies.**': ['all'] },
      }
      const event = {
        extra: { password: 'abc', token: 'abc' },
        request: { cookies: { sid: 'abc', lang: 'de' }, headers: { Cookie: 'a=b' } },
      }
      expect(scrub(file, event)).toEqual({
        extra: { password: '***', token: '[Filtered]' },
        request: { cookies: { sid: '-', lang: '[Filtered]' }, headers: { Cookie: '[Filtered]' } },
      })
      expect(scrub(file, { request: { cookies: { sid: 'x', lang: 'de' } } })).toEqual({
        request: { cookies: null },
      })
    })

    it('unless they redact more than that, so that nothing of it stays readable', () => {
      const rules = {
        four: { type: 'pattern', pattern: '\\d{4}$', redaction: { method: 'replace', text: '-' } },
        domain: { type: 'pattern', pattern: 'b\\.example and', redaction: { method: 'replace', text: '-' } },
      }
      const file = { rules, applications: { $string: ['four', 'domain'] } }
      expect(scrub(file, { message: 'card 4111111111111111' })).toEqual({ message: 'card [creditcard]' })
      expect(scrub(file, { message: 'jane@b.example and' })).toEqual({ message: '[email]' })
      expect(scrub(file, { extra: { password: 'abc 1234' } })).toEqual({ extra: { password: '[Filtered]' } })
    })
  })

  it.each(['$string', '$number', '$object', '$array', '**', '*.*', '!$user.id', '$string && !$http.**'])(
    'removes with the selector %s only values that Sentry can do without',
    (selector) => {
      const frame = { filename: 'a.js', function: 'f', lineno: 1, in_app: true, context_line: 'x' }
      const structure = {
        event_id: 'a'.repeat(32),
        type: 'error',
        platform: 'node',
        level: 'error',
        timestamp: 1,
        transaction: '/t',
        release: 'r',
        contexts: { trace: { trace_id: 'b'.repeat(32), op: 'o' }, os: { name: 'n' } },
        threads: { values: [{ id: 1, stacktrace: { frames: [frame] } }] },
        breadcrumbs: { values: [{ timestamp: 1, type: 'http', category: 'fetch' }] },
        spans: [{ span_id: 'c'.repeat(16), op: 'db', start_timestamp: 1, timestamp: 2, tags: { a: 'b' } }],
        request: { url: 'https://h/', method: 'GET' },
        fingerprint: ['user', 'x'],
        tags: [['user', 'x']],
      }
      const exception = { type: 'Error', stacktrace: { frames: [frame] } }
      for (const method of ['remove', 'replace']) {
        const scrubber = scrubberFor({ applications: { [selector]: [`@anything:${method}`] } })
        const event = { ...structure, exception: { values: [exception] } }
        expect(scrubValue(scrubber, event)).toEqual(event)
      }
    },
  )

  it('removes with a general selector what the app and its visitors have written', () => {
    const scrubber = scrubberFor({ applications: { '**': ['@anything:remove'] } })
    const event = {
      message: 'x',
      own: 1,
      extra: { a: 1 },
      user: { id: '1', geo: { city: 'x' } },
      request: { data: 'x', headers: [['a', 'x']] },
      exception: { values: [{ type: 'E', value: 'x', stacktrace: { frames: [{ vars: { v: 1 } }] } }] },
      contexts: { mine: { a: 1 } },
    }
    expect(scrubValue(scrubber, event)).toEqual({
      message: null,
      own: null,
      extra: null,
      user: { id: null, geo: { city: null } },
      request: { data: null, headers: null },
      exception: { values: [{ type: 'E', value: null, stacktrace: { frames: [{ vars: null }] } }] },
      contexts: { mine: null },
    })
  })

  it('takes the headers of a request for an object, and the elements of a list for no users', () => {
    const request = { headers: [['X-Note', 'x']], query_string: [['q', 'x']] }
    const scrub = (selector: string, event: object) =>
      scrubValue(scrubberFor({ applications: { [selector]: ['@anything:remove'] } }), event)
    expect(scrub('$array', { request })).toEqual({ request })
    expect(scrub('$object', { request })).toEqual({ request: { headers: null, query_string: null } })
    expect(scrub('$user', { fingerprint: ['user', 'x'] })).toEqual({ fingerprint: ['user', 'x'] })
    const logentry = { params: ['a', { b: 'x' }] }
    expect(scrub('$message', { logentry })).toEqual({ logentry })
  })

  it.each(['$event', '$error', '$thread', '$stacktrace', '$frame'])(
    'keeps what an event consists of: %s',
    (selector) => {
      const scrubber = scrubberFor({ applications: { [selector]: ['@anything:remove'] } })
      const event = { exception: { values: [{ type: 'E', stacktrace: { frames: [{ lineno: 1 }] } }] } }
      const thread = { threads: { values: [{ id: 1, stacktrace: { frames: [] } }] } }
      expect(scrubValue(scrubber, { ...event, ...thread })).toEqual({ ...event, ...thread })
    },
  )

  it('understands the patterns that Relay understands', () => {
    const find = (pattern: string, text: string, more: object = {}) => {
      const rule = { type: 'pattern', pattern, redaction: { method: 'replace', text: 'X' }, ...more }
      const scrubber = scrubberFor({ rules: { a: rule }, applications: { message: ['a'] } })
      return scrubValue(scrubber, { message: text }).message
    }
    expect(find('\\d+', 'x ٣٤ 12')).toBe('x X X')
    expect(find('\\w+', 'größe, naïve')).toBe('X, X')
    expect(find('\\bß\\b', 'ß größe')).toBe('X größe')
    expect(find('\\bß\\b', 'aß')).toBe('aß')
    expect(find('[^\\W\\d]+', 'ßa1')).toBe('X1')
    expect(find('a{2000}', 'a'.repeat(2001))).toBe('Xa')
    expect(find('\\u0041\\u{42}', 'ABC')).toBe('XC')
    expect(find('(?u)\\w', 'é')).toBe('X')
    expect(find('(a)|(b)', 'ab', { replaceGroups: [2] })).toBe('aX')
    expect(find('[(\\]](?<x>a)\\((b)', '(a(b', { replaceGroups: [1, 2] })).toBe('(X(X')
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
    extra: { a: { b: 'x' }, 'c d': 'x', list: ['x', 'x'], pairs: [['k', { deep: 'x' }]] },
    request: { headers: [['X-Note', 'x']] },
    exception: { values: [{ value: 'x', stacktrace: { frames: [{ vars: { v: 'x' } }] } }] },
    breadcrumbs: [{ message: 'x' }],
    tags: [['t', 'x']],
  }

  it.each([
    ['$user.email', ['user.email']],
    ['$user.*', ['user.email', 'user.name']],
    ['EMAIL', ['user.email']],
    ['extra.**', ['extra.a.b', 'extra.c d', 'extra.list.0', 'extra.list.1', 'extra.pairs.0.1.deep']],
    ["extra.'c d'", ['extra.c d']],
    ['extra.**.b', ['extra.a.b']],
    ['**.b', ['extra.a.b']],
    ['$error.value', ['exception.values.0.value']],
    ['$exception.**', ['exception.values.0.value', 'exception.values.0.stacktrace.frames.0.vars.v']],
    ['$frame.vars.**', ['exception.values.0.stacktrace.frames.0.vars.v']],
    ['$breadcrumb.message', ['breadcrumbs.0.message']],
    ['tags.0.1', ['tags.0.1']],
    ['tags.t', ['tags.0.1']],
    ['tags.*', ['tags.0.1']],
    ['request.headers.X-Note', ['request.headers.0.1']],
    ['$http.headers.**', ['request.headers.0.1']],
    ['!$http.headers.X-Note && $http.**', []],
    ['extra.pairs.k.deep', ['extra.pairs.0.1.deep']],
    ['extra.pairs.0.k.deep', ['extra.pairs.0.1.deep']],
    ['extra.list.x', ['extra.list.1']],
    ['$array.1', ['extra.list.1']],
    ['extra.$array.*', ['extra.list.0', 'extra.list.1']],
    ['breadcrumbs.$array.message', []],
    ['$array.*.message', ['breadcrumbs.0.message']],
    ['$error.stacktrace.$array.vars.**', []],
    ['$array.**.v', ['exception.values.0.stacktrace.frames.0.vars.v']],
    ['$array.$object.deep', ['extra.pairs.0.1.deep']],
    ['$string && !$user.** && !(extra.** | $error.**) && !tags.** && !$http.**', ['breadcrumbs.0.message']],
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
      /^line 1, column 48: the pattern is not valid: .*unclosed group/,
    )
    expect(problemOf('{"rules": {"a": {"type": "pattern", "pattern": "a(?=b)"}}}')).toMatch(
      /^line 1, column 48/,
    )
  })
})
