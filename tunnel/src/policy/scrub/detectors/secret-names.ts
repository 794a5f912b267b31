/** Names of fields, headers and parameters whose value is a secret. */

const PARTS = [
  'passw(?:or)?d',
  'passphrase',
  'passcode',
  'passwd',
  'secret',
  'credential',
  'api[-_. ]?key',
  'private[-_. ]?key',
  'access[-_. ]?key',
  'account[-_. ]?key',
  'client[-_. ]?key',
  'authorization',
  'csrf',
  'xsrf',
  'sess(?:ion)?[-_. ]?id',
  'token(?!s|i[sz]|[-_.]?(?:count|limit|type|usage))', // not the number of tokens, and no tokenizer
]

const WHOLE = [
  'pwd',
  'pass',
  'otp',
  'pin',
  'cvv',
  'cvc',
  'auth',
  'jwt',
  'sid',
  'connect\\.sid',
  'mysql_pwd',
  'two[-_]?factor',
  'x-auth(?:-.*)?',
  'signature',
  'sig',
  'x-(?:amz|goog)-(?:signature|credential)',
]

const SECRET = new RegExp(`${PARTS.join('|')}|^(?:${WHOLE.join('|')})$`, 'i')

/** Fields and headers that hold all cookies: `cookies` of a request, `http.request.header.cookie` of a span, and each cookie in it. */
const COOKIES = /^(?:http\.(?:request|response)\.header\.)?(?:set[-_])?cookies?2?(?:$|\.)/i

export function isSecretName(name: string): boolean {
  return SECRET.test(name)
}

export function isCookieName(name: string): boolean {
  return COOKIES.test(name)
}
