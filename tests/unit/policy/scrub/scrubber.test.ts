import { describe, expect, it } from 'vitest'
import { Unscrubbable } from '../../../../tunnel/src/policy/scrub/budget.ts'
import { captures } from '../../../support/sdk-captures.ts'
import { DEFAULT, metaOf, STRICT, scrubText, scrubValue } from './scrub-json.ts'

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N'

/** Texts and values with a secret, `S3cretx`, which must not be left. */
const SECRETS: [string, unknown][] = [
  ['a row', 'password;S3cretx'],
  ['a row with bars', 'jane|password|S3cretx|x'],
  ['full-width signs', 'password：S3cretx'],
  ['an arrow', 'password → S3cretx'],
  ['a name in another language', 'contraseña=S3cretx'],
  ['a name in another script', 'пароль: S3cretx'],
  ['a sentence', 'Your password is S3cretx'],
  ['a command line', "curl -u jane:S3cretx 'https://shop.example'"],
  ['serialised PHP', 's:8:"password";s:7:"S3cretx";'],
  ['dumped PHP', '["password"]=>\n  string(7) "S3cretx"'],
  ['an escape of nginx', '\\x22password\\x22:\\x22S3cretx\\x22'],
  ['a list of SQL', "WHERE token IN ('S3cretx', 'b')"],
  ['a pattern of SQL', "WHERE u.password NOT LIKE 'S3cretx'"],
  ['rows of SQL', "INSERT INTO u (name, password) VALUES ('ja''ne', 'a'), ('b', 'S3cretx')"],
  ['a user of a database', "CREATE USER jane IDENTIFIED BY 'S3cretx'"],
  ['an entry in XML', '<member><name>password</name><value><string>S3cretx</string></value></member>'],
  ['an input field', '<input type="password" class="x" value="S3cretx">'],
  ['an input field, its value first', '<input value="S3cretx" type="password">'],
  ['an encrypted JWT', 'eyJhbGciOiJSU0EifQ.OKOawDo13g.48V1_ALb6US0.S3cretx.XFBoMYUZod'],
  ['a token of a bot', 'https://api.telegram.org/bot123456789:AAEhBOweik6ad9r_QXMENQjcrS3cretx/send'],
  ['a link', 'https://shop.example/reset-password/ab12cd34ef5678S3cretx'],
  ['a callback of OAuth', '/callback?code=ab12cd34ef56S3cretx&state=x'],
  ['an object with an ID', { id: 'password', value: 'S3cretx' }],
  ['an object with its value first', { value: 'S3cretx', n: 1, name: 'Authorization' }],
  ['capitals', { Key: 'password', Value: 'S3cretx' }],
  ['a change', { field: 'password', oldValue: 'S3cretx', newValue: 'S3cretx' }],
  ['a field of a form', { type: 'password', value: 'S3cretx' }],
  ['a field of a form, its value first', { value: 'S3cretx', type: 'password' }],
  ['variables', { query: 'mutation($b: String!) { login(password: $b) }', variables: { b: 'S3cretx' } }],
  [
    'variables before the query',
    { variables: { a: { c: [1] }, b: 'S3cretx' }, query: '{ login(password: $b) { id } }' },
  ],
  ['variables of SQL', { sql: 'UPDATE u SET password = :p', bindings: { p: 'S3cretx' } }],
  ['variables in a text', '{"variables":{"b":"S3cretx"},"query":"{login(password:$b){id}}"}'],
]

/** Texts and values that stay. */
const ORDINARY: unknown[] = [
  'password; then click',
  'type;password;text',
  'this.password|this.flags',
  'PIN is 4-digit, password is sha256, token is invalid',
  'docker run -u 1000:1000 x; git push -u origin HEAD:main',
  'WHERE token IN (?, ?) AND id IN (1, 2)',
  'INSERT INTO users (name, password) VALUES ($1, ?)',
  "INSERT INTO logs (level, message) VALUES ('a', 'b')",
  '<label for="password">Password</label><input type="password" name="pw">',
  '/token/0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  '/verify/app-0123456789abcdef01.js',
  'error_code=404&state=open&code=404',
  'C:\\xampp\\htdocs',
  '价格@3.5元',
  { type: 'token', value: '(' },
  { value: 'red', name: 'color' },
  { variables: { id: '5' }, query: 'query($id: ID!) { user(id: $id) { name } }' },
]

describe('SCRUB=default', () => {
  it.each(SECRETS)('redacts the secret in %s', (_, value) => {
    expect(JSON.stringify(scrubValue(DEFAULT, { extra: { value: 'x', x: value } }))).not.toContain('S3cretx')
  })

  it.each(ORDINARY)('keeps %j', (value) => {
    expect(scrubValue(DEFAULT, { extra: { x: value } })).toEqual({ extra: { x: value } })
  })

  it.each([
    ['to иван.петров@почта.рф now', 'to [email] now'],
    ['联系用户@例子.广告', '[email]'],
    ['请联系jane@example.com吧', '请联系[email]吧'],
    ['उपयोगकर्ता@उदाहरण.कॉम x', '[email] x'],
    ['jane@почта.рф', '[email]'],
    ['"jane doe"@example.com', '[email]'],
    ['jane@[192.168.0.1]', '[email]'],
    ['078–05–1120', '[us-ssn]'],
    ['ssn: 078051120', 'ssn: [us-ssn]'],
  ])('redacts %s', (text, expected) => {
    expect(scrubValue(DEFAULT, { message: text })).toEqual({ message: expected })
  })

  it.each([
    ['an email address', 'to jane@example.com!', 'to [email]!'],
    [
      'an encoded email address',
      'https://a.example/?to=jane%40example.com&b=1',
      'https://a.example/?to=[email]&b=1',
    ],
    ['a card number', 'card 4111-1111 1111 1111 12/26', 'card [creditcard] 12/26'],
    ['an IBAN', 'to GB29NWBK60161331926819.', 'to [iban].'],
    ['an IBAN in groups', 'DE89 3704 0044 0532 0130 00 EUR', '[iban] EUR'],
    ['a JWT', `id ${JWT}`, 'id [jwt]'],
    ['an API key', 'with sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'with [key]'],
    ['a bearer token', 'got Bearer abc.def or bearer a.b', 'got [Filtered] or [Filtered]'],
    ['credentials of a URL', 'ftp://jane:pw@a.example/x', 'ftp://[Filtered]@a.example/x'],
    ['a secret in a query', '/x?token=abc&page=2', '/x?token=[Filtered]&page=2'],
    ['a secret in an encoded query', '?next=%2Fin%3Fpwd%3Dabc', '?next=%2Fin%3Fpwd%3D[Filtered]'],
    ['a secret in JSON', '{"password":"a \\"b c","n":1}', '{"password":"[Filtered]","n":1}'],
    [
      'a secret in JSON in JSON',
      '{\\"secret\\":\\"a b\\",\\"n\\":1}',
      '{\\"secret\\":\\"[Filtered]\\",\\"n\\":1}',
    ],
    ['a header', 'Cookie: a=b; c=d\nHost: x', 'Cookie: [Filtered]\nHost: x'],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nMII', '-----BEGIN PRIVATE KEY-----[Filtered]'],
  ])('redacts %s', (_, text, expected) => {
    expect(scrubValue(DEFAULT, { message: text })).toEqual({ message: expected })
  })

  it.each([
    ['a part of an encoded query', 'user%5Bpassword%5D=a1b2&x=1', 'user%5Bpassword%5D=[Filtered]&x=1'],
    [
      'encoded JSON in a query',
      '/?input=%7B%22password%22%3A%22a1b2%22%7D&x=1',
      '/?input=%7B%22password%22%3A%22[Filtered]%22%7D&x=1',
    ],
    [
      'JSON that is encoded twice',
      '%257B%2522pwd%2522%253A%2522a1b2',
      '%257B%2522pwd%2522%253A%2522[Filtered]',
    ],
    ['a value with an encoded separator', 'password=a%26b%3Dc&x=1', 'password=[Filtered]&x=1'],
    [
      'credentials of a URL in JSON',
      '{"u":"https:\\/\\/a:b1@c.example"}',
      '{"u":"https:\\/\\/[Filtered]@c.example"}',
    ],
    [
      'a query in JSON',
      '{"u":"?a=1\\u0026token=a1b2\\u0026b=1"}',
      '{"u":"?a=1\\u0026token=[Filtered]\\u0026b=1"}',
    ],
    [
      'HTML',
      '{&quot;password&quot;:&#34;a1&#x22;} jane&#64;a.example',
      '{&quot;password&quot;:&#34;[Filtered]&#x22;} [email]',
    ],
    ['an attribute', 'data-x="a&amp;token=b1&amp;c=d"', 'data-x="a&amp;token=[Filtered]&amp;c=d"'],
    ['an address after an escape', 'to\\njane@a.example\\n', 'to\\n[email]\\n'],
    ['a list', '{"password":["a1","b2"],"n":1}', '{"password":[Filtered],"n":1}'],
    ['an object', 'auth={user:jane, pw:a1} n', 'auth=[Filtered] n'],
    ['a list that has no end', '{"secrets":["a1","b', '{"secrets":[Filtered]'],
    ['words after commas', 'password=a,b1, n=1', 'password=[Filtered], n=1'],
    ['two texts in quotes', "secret: 'a1' 'b2'", "secret: '[Filtered]' '[Filtered]'"],
    [
      'an arrow',
      "password => a1, 'pwd' => 'b2', pass -> c3",
      "password => [Filtered], 'pwd' => '[Filtered]', pass -> [Filtered]",
    ],
    ['an element', '<a:Password Type="x">a1</a:Password>', '<a:Password Type="x">[Filtered]</a:Password>'],
    ['an element that is cut off', '<password>a1', '<password>[Filtered]'],
    ['a pair in a list', '["password","a1"]', '["password","[Filtered]"]'],
    ['raw headers', '["Host","a","Cookie","b=c"]', '["Host","a","Cookie","[Filtered]"]'],
    ['an option', 'run --password a1 -x --api-key=b2', 'run --password [Filtered] -x --api-key=[Filtered]'],
    [
      'a multipart body',
      'form-data; name="pwd"\r\n\r\na1\r\n--b',
      'form-data; name="pwd"\r\n\r\n[Filtered]\r\n--b',
    ],
    ['a named value', '{"name":"token","value":"a1"}', '{"name":"token","value":"[Filtered]"}'],
    ['a value with a key', '{"key":"token","value":"a1"}', '{"key":"token","value":"[Filtered]"}'],
    ['cookies', 'document.cookie=a=b1; c="d2"', 'document.cookie=[Filtered]"d2"'],
    ['a header with quotes', 'Cookie: a="b1"; c=d2', 'Cookie: [Filtered]'],
    ['a call', 'setPassword("a1", 2) password(b)', 'setPassword("[Filtered]", 2) password(b)'],
    ['YAML', 'password: |\n  a1\nsecrets:\n  - b2', 'password: |\n  [Filtered]\nsecrets:\n  - [Filtered]'],
    [
      'a name of two words',
      'API key: a1, "private key"\u00a0= "b2"',
      'API key: [Filtered], "private key"\u00a0= "[Filtered]"',
    ],
    ['other signs', 'token += a1, pwd != b2', 'token += [Filtered], pwd != [Filtered]'],
    ['a token', 'token: a1b2 TOKEN:c3d4', 'token: [Filtered] TOKEN:[Filtered]'],
    ['basic credentials', 'sent Basic amFuZTphMWIy', 'sent [Filtered]'],
    ['an IBAN in lower case', 'de89370400440532013000, gb29 nwbk 6016 1331 9268 19', '[iban], [iban]'],
    [
      'a card number with en dashes',
      '4111–1111–1111–1111, 4111 - 1111 - 1111 - 1111',
      '[creditcard], [creditcard]',
    ],
    ['a social security number', 'SSN: 078-05-1120.', 'SSN: [us-ssn].'],
    ['addresses with a quote or slash', "o'neill@a.example jane/sales@a.example", '[email] [email]'],
    [
      'addresses behind quotes and paths',
      "'a@b.example' b'a@b.example' /x/a@b.example",
      "'[email]' b'[email]' /x/[email]",
    ],
    ['an address before an extension', '/avatars/jane@example.com.png', '/avatars/[email].png'],
  ])('redacts in %s', (_, text, expected) => {
    expect(scrubValue(DEFAULT, { message: text })).toEqual({ message: expected })
  })

  it.each([
    'SyntaxError: Unexpected token: punc (})',
    'password: required, secret=undefined, token = null, pwd = ?, pass=%s, auth: {AUTH}, secret: {{ secret }}',
    'WHERE token = $1 AND pwd = :pwd',
    'logo@2x.png icon@1.5x.webp react@18.2.0.min.js jquery@3.6.0.production.min.css app@sha.abcdef jquery@3.6.0.min sprite@2x.retina @sentry/browser@8.0.0/b.js',
    'took 4.111111111111111 ms, 0.4111111111111111, 12.4111111111111111, 4111111111111111.5',
    'build FR12RELEASECANDIDATE1, DE88370400440532013000, ae12f0a1b2c3d4e5f6a7b8c9',
    'part 12-078-05-1120 and 078-05-1120-7',
    'at auth.js:10:5, at token.service.ts:120, connect ECONNREFUSED auth.shop.example:443, Auth::check()',
    'Basic information, basic authentication, no Bearer token, bearer of',
    'cookies: true, sessionCookie: null, Authorization: missing header',
    "input[name='password']:focus, div.token:hover, a.auth-link:not(.x), form.login-password:nth-child(2)",
    'login(password: $password, token: $newToken), API_TOKEN=$API_TOKEN, WHERE pwd = @pwd',
    'const token = getToken(); this.token = await next; token=[object Object], cookies: enabled',
    'git@github.com:shop/web.git, npm i git+ssh://git@github.com/shop/web.git',
    'SET password = %(password)s, token = LOWER(?), pwd = crypt($1), secret = DEFAULT WHERE s.token = t.token',
    'com.acme:auth:1.0.2 io.jsonwebtoken:jjwt-api:0.11.5',
    'Usage: login <user> <password> [options], run [--password <password>] [--token <token>]',
    'Authorization: Bearer undefined',
    'this.token = user.token; Bearer null',
    'trace 41111111-1111-1111-9a1b-111111111111',
    '100%25 of %E2%82 and \\path \\u00zz',
    'used 12 tokens: 8 in, 4 out',
    'order 4111-1111-1111-1112 has a wrong check digit',
    'at https://a.example/@scope/app.js:10:37071',
    'author: Jane, page=2',
    'See you @ 10:30',
    '2026-11-22T23:17:00.123456789Z',
  ])('keeps %j', (message) => {
    expect(scrubText(DEFAULT, JSON.stringify({ message }))).toBe(JSON.stringify({ message }))
  })

  it.each([
    ...'password user_password X-Api-Key clientSecret accessToken Authorization'.split(' '),
    ...'PHPSESSID csrf_token cookies cvv2 card_cvc db_pass newPwd otpCode document.cookie'.split(' '),
    ...'password[] auth_code oauth_verifier basicAuth api_tokens'.split(' '),
    ...'http.request.header.x-auth-key http.response.header.api_tokens userPin authkey basicauth'.split(' '),
  ])('redacts the value of %s', (name) => {
    expect(scrubValue(DEFAULT, { extra: { [name]: 'abc', other: 'abc' } })).toEqual({
      extra: { [name]: '[Filtered]', other: 'abc' },
    })
  })

  it.each([
    ...'author authority authType isAuthenticated token_count_total_tokens'.split(' '),
    ...'gen_ai.usage.input_tokens tokenizer passenger passed bypass'.split(' '),
    ...'keyboard session session_idle monkey mapPin cookies_accepted'.split(' '),
  ])('keeps the value of %s', (name) => {
    expect(scrubValue(DEFAULT, { [name]: 'abc' })).toEqual({ [name]: 'abc' })
  })

  it('removes objects, arrays and numbers with the name of a secret', () => {
    const secrets = { password: { a: 'b' }, secrets: [1], pin: 1234, cookies: { a: 'b' } }
    expect(scrubValue(DEFAULT, secrets)).toEqual({ password: null, secrets: null, pin: null, cookies: null })
  })

  it('redacts the value of a pair', () => {
    const headers = [
      ['Cookie', 'a=b'],
      ['Accept', 'x'],
    ]
    expect(scrubValue(DEFAULT, { headers })).toEqual({
      headers: [
        ['Cookie', '[Filtered]'],
        ['Accept', 'x'],
      ],
    })
  })

  it('redacts the value of an object with the name of a secret, which is not that of a metric', () => {
    const headers = [
      { name: 'Cookie', value: 'a=b' },
      { key: 'authorization', value: { stringValue: 'c' } },
      { name: 'Accept', value: 'd' },
      { name: 'pin' },
    ]
    expect(scrubValue(DEFAULT, { name: 'auth.token', value: 3, headers })).toEqual({
      name: 'auth.token',
      value: 3,
      headers: [
        { name: 'Cookie', value: '[Filtered]' },
        { key: 'authorization', value: null },
        { name: 'Accept', value: 'd' },
        { name: 'pin' },
      ],
    })
  })

  it('redacts the value of each pair of a list of headers', () => {
    const rawHeaders = ['Host', 'a', 'Cookie', 'b=c', 'Accept', 'd', 'Authorization', 'e']
    expect(scrubValue(DEFAULT, { rawHeaders, argv: ['run', '--token', 'a1', 'b'] })).toEqual({
      rawHeaders: ['Host', 'a', 'Cookie', '[Filtered]', 'Accept', 'd', 'Authorization', '[Filtered]'],
      argv: ['run', '--token', '[Filtered]', 'b'],
    })
  })

  it('removes a text that Sentry could not parse after a change', () => {
    const eventWith = (cookies: string | null, ip_address: string | null) => ({
      request: { cookies },
      contexts: { response: { cookies } },
      user: { id: '1', ip_address },
    })
    expect(scrubValue(STRICT, eventWith('sid=abc; lang=de', '203.0.113.7'))).toEqual(eventWith(null, null))
  })

  it.each(['session', 'sessions'])(
    'removes the address of a user from an item of the type %s, and nothing else',
    (type) => {
      const attrs = {
        release: 'shop@1.2.example.com',
        user_agent: 'Chrome/120.0.0.0',
        ip_address: '203.0.113.7',
      }
      const session = (did: string | null, ip_address: string | null) => {
        const update = { sid: 'c8a4d3e1-1b2c-4d5e-8f90-123456789abc', did, attrs: { ...attrs, ip_address } }
        return JSON.stringify({ ...update, aggregates: [{ did }] })
      }
      const before = session('jane@a.example', attrs.ip_address)
      expect(scrubText(DEFAULT, before, type, 'plain')).toBe(session(null, attrs.ip_address))
      expect(scrubText(STRICT, before, type, 'plain')).toBe(session(null, null))
      expect(scrubText(DEFAULT, session('4711', null), type, 'plain')).toBe(session('4711', null))
    },
  )

  it('redacts personal data in the name of a member', () => {
    expect(scrubValue(DEFAULT, { extra: { 'jane@example.com': 1 } })).toEqual({ extra: { '[email]': 1 } })
  })

  it('removes a card number that is a JSON number', () => {
    expect(scrubText(DEFAULT, '{"extra":{"card":4111111111111111,"id":12345678901234567890}}')).toContain(
      '{"card":null,"id":12345678901234567890}',
    )
  })

  it('keeps the last of several members with the same name, which Sentry reads', () => {
    expect(scrubText(DEFAULT, '{"a":"x@y.example","a":"b"}')).toBe('{"a":"b"}')
  })

  it('keeps the spelling of numbers that JavaScript cannot hold', () => {
    const text = '{"a":12345678901234567890,"b":[1e400,-1E5]}'
    expect(scrubText(DEFAULT, text)).toBe(text)
  })

  it('redacts texts in fields for identifiers, and fields of other objects with the names of protected ones', () => {
    const event = {
      contexts: { trace: { trace_id: 'jane@example.com' } },
      extra: { release: 'jane@example.com' },
    }
    expect(scrubValue(DEFAULT, event)).toEqual({
      contexts: { trace: { trace_id: '[email]' } },
      extra: { release: '[email]' },
    })
  })

  it('reads names with escapes', () => {
    expect(scrubText(DEFAULT, '{"extra":{"pass\\u0077ord":"abc"}}')).toContain('"password":"[Filtered]"')
  })

  it('sees through escapes', () => {
    const before = '{"a":"\\u00e9 jane\\u0040example.com \\ud83d\\ude00 é 😀 \\/"'
    expect(scrubText(DEFAULT, `${before}}`)).toMatch(/^\{"a":"é \[email\] 😀 é 😀 \/",/)
  })

  it('keeps places in the code, and redacts the query of their URLs', () => {
    const frame = { filename: 'https://a.example/jquery@3.6.0.min.js?token=abc', function: 'a.b@c.example' }
    const values = (its: object) => ({ exception: { values: [{ stacktrace: { frames: [its] } }] } })
    expect(scrubValue(DEFAULT, values(frame))).toEqual(
      values({ ...frame, filename: 'https://a.example/jquery@3.6.0.min.js?token=[Filtered]' }),
    )
  })

  it('keeps identifiers and the release', () => {
    const event = {
      event_id: '4111111111111111'.repeat(2),
      release: 'shop@1.2.3-beta.example',
      contexts: { trace: { trace_id: 'a'.repeat(32), span_id: '4111111111111111' } },
      debug_meta: { images: [{ code_file: 'a@b.example.js' }] },
    }
    expect(scrubValue(STRICT, event)).toEqual(event)
  })

  it('changes nothing but the email address of the user in events that SDKs sent', () => {
    const items = captures().flatMap(({ body }) => payloadsOf(body))
    expect(items.length).toBeGreaterThan(30)
    for (const payload of items)
      expect(scrubText(DEFAULT, payload).replace(/,"_meta":.*$/, '}')).toBe(
        payload.replace('"a@shop.example"', 'null'),
      )
  })
})

/** Returns the payloads of errors and transactions. */
function payloadsOf(body: Buffer): string[] {
  const lines = body.toString('latin1').split('\n')
  return lines.filter((_, index) => /^\{"type":"(event|transaction)"/.test(lines[index - 1] ?? ''))
}

describe('SCRUB=strict', () => {
  it.each([
    ['IP addresses', '10.1.2.3, fe80::1, ::ffff:10.0.0.1', '[ip], [ip], [ip]'],
    ['MAC addresses', 'at aa:bb:cc:dd:ee:ff', 'at [mac]'],
    ['UUIDs', 'id 123e4567-e89b-12d3-a456-426614174000', 'id [uuid]'],
    ['users in paths', '/home/jane/x C:\\Users\\Jane Doe\\y', '/home/[user]/x C:\\Users\\[user]\\y'],
  ])('redacts %s', (_, text, expected) => {
    expect(scrubValue(STRICT, { message: text })).toEqual({ message: expected })
  })

  it.each(['at 12:30:45', 'Foo::Bar', 'v1.2.3.400'])('keeps %j', (message) => {
    expect(scrubValue(STRICT, { message })).toEqual({ message })
  })

  it('keeps the versions of browsers', () => {
    const event = { request: { headers: { 'User-Agent': 'Chrome/120.0.0.0' } } }
    expect(scrubValue(STRICT, event)).toEqual(event)
  })
})

describe('_meta', () => {
  it('has a remark with a range in bytes for each redacted part, and the length before in characters', () => {
    expect(metaOf(DEFAULT, { user: { name: 'é 😀 jane@example.com' } })).toEqual({
      user: { name: { '': { rem: [['@email:replace', 's', 8, 15]], len: 20 } } },
    })
  })

  it('has a remark without a range for a removed value', () => {
    expect(metaOf(DEFAULT, { extra: [{ password: {} }] })).toEqual({
      extra: { 0: { password: { '': { rem: [['@password:filter', 'x']] } } } },
    })
  })

  it('is added to the one that the event has, whose original values are scrubbed', () => {
    const known = {
      a: { '': { len: 5 } },
      password: { '': { val: 'hunter2' } },
      b: { '': { val: 'a@b.example' } },
    }
    expect(metaOf(DEFAULT, { _meta: known, c: 'jane@example.com' })).toEqual({
      a: { '': { len: 5 } },
      password: { '': { val: '[Filtered]' } },
      b: { '': { val: '[email]' } },
      c: { '': { rem: [['@email:replace', 's', 0, 7]], len: 16 } },
    })
  })

  it('stands in each element of a container', () => {
    const log = (body: string, more: object) => ({
      body,
      attributes: { token: { value: 'abc', type: 'string' } },
      ...more,
    })
    const text = scrubText(
      DEFAULT,
      JSON.stringify({ items: [log('a@b.example', {}), { body: 'b' }] }),
      'log',
      'container',
    )
    expect(JSON.parse(text)).toEqual({
      items: [
        {
          body: '[email]',
          attributes: { token: { value: '[Filtered]', type: 'string' } },
          _meta: {
            body: { '': { rem: [['@email:replace', 's', 0, 7]], len: 11 } },
            attributes: { token: { value: { '': { rem: [['@password:filter', 's', 0, 10]], len: 3 } } } },
          },
        },
        { body: 'b' },
      ],
    })
  })

  it('is left out where it would make an event larger than Sentry accepts', () => {
    const filler = 'x'.repeat(1024 * 1024 - 40)
    const text = scrubText(DEFAULT, JSON.stringify({ filler, a: 'a@b.example' }))
    expect(text).not.toContain('_meta')
    expect(text).toContain('"a":"[email]"')
  })
})

describe('A payload that Sentry would not parse, or with too many secrets', () => {
  it.each([
    ['invalid UTF-8', Buffer.from('{"a":"\xff"}', 'latin1')],
    ['128 levels', Buffer.from('['.repeat(128) + ']'.repeat(128))],
    ['a part of an event', Buffer.from('{"a":"jane@example.com"')],
    ['two values', Buffer.from('{} {}')],
    ['nothing', Buffer.from('')],
    ['20,001 secrets', Buffer.from(JSON.stringify(Array(20_001).fill('a@b.example')))],
  ])('is not scrubbed: %s', (_, payload) => {
    expect(() => DEFAULT.scrub(payload, 'event', 'event')).toThrow(Unscrubbable)
  })

  it('has at most 127 levels', () => {
    expect(DEFAULT.scrub(Buffer.from('['.repeat(127) + ']'.repeat(127)), 'event', 'event').changes).toEqual(
      [],
    )
  })
})
