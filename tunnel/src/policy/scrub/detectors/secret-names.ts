/** Names of fields, headers and parameters whose value is a secret. */

/** Roots that make a name secret wherever they stand in it. */
const ROOTS = [
  'passw(?:or)?d',
  'passwd',
  'pass_?(?:phrase|code)',
  'secret',
  'credential',
  'csrf',
  'xsrf',
  'sess(?:ion)?_?id(?![a-z])',
  '(?:api|private|access|account|client|subscription)_?keys?(?![a-z])',
  'security_?(?:code|answer)',
  '(?:mfa|fa|factor|verification|sms|one_?time)_?codes?(?![a-z])',
  'saml_?(?:response|assertion)',
  'code_?verifier',
  'social_?security',
  'token(?!s|i[sz]|_(?:count|limit|type|usage|length|budget|expir|ttl))',
]

/** Words that make a name secret. */
const WORDS = [
  'pw|pwd',
  'ssn',
  'cv[vcn]',
  'otp',
  'totp',
  'pin_?(?:code|number)',
  '(?:pre|re|o|x|basic|http|proxy|user|web)?auth(?:n|z|entication|orization|key|code|data|header)?(?!_(?:types?|providers?|methods?|modes?|schemes?|status|enabled|required|errors?|failed|failure|level|flow|strategy|ur[li]|endpoint|domain|host|service|version)(?:_|$))',
]

/** Names that are secret as a whole, or as the last words. */
const ENDS = [
  'pass',
  '(?:^|(?:card|sim|user|new|old|current|confirm|repeat|login|account|debit|credit)_)pin',
  '^jwt',
  '^(?:connect_)?sid',
  '^two_?factor(?:_code)?',
  '^(?:x_(?:amz|goog)_)?(?:signature|sig)',
]

const SECRET = new RegExp(
  `${ROOTS.join('|')}|(?<![a-z])(?:(?:${WORDS.join('|')})(?![a-z])|(?:${ENDS.join('|')})$)`,
)

/** Names of passwords in other languages. */
const FOREIGN =
  /passwort|kennwort|contrase[nñ]a|senha|mot[-_]?de[-_]?passe|wachtwoord|has[lł]o|l[oö]senord|salasana|пароль|密[码碼]|パスワード|暗証番号|비밀번호/i

/** Words beside `tokens` that make it a number of tokens, as language models report it. */
const COUNTS =
  /(?<![a-z])(?:max|min|num|number|n|total|sum|avg|average|prompt|completion|input|output|used|remaining|cached?|reasoning|usage|counts?|limit|per|budget|context|generated|predict(?:ed|ion)|audio|text|image|video|thinking|thoughts?|estimated|cost|available|spent|billed|special|stop|response|request|gen|ai|llm|model)(?![a-z])/

/** Fields and headers that hold all cookies, such as `document.cookie` and `http.request.header.cookie` of a span, and each cookie in it. */
const COOKIES = /^(?!(?:has|accept|accepts|allow|use|enable|show|is|no|num)_)(?:[a-z_]+_)?cookies?$/
const COOKIE_MEMBER = /^(?:set[-_])?cookies?2?\./i

/** Before the name of a header in the attributes of a span. */
const HEADER_PREFIX = /^http\.(?:request|response)\.header\./i

const MAX_NAME = 256

export function isSecretName(name: string): boolean {
  const words = wordsOf(name)
  return (
    SECRET.test(words) ||
    FOREIGN.test(name.slice(-MAX_NAME)) ||
    (/tokens(?![a-z])/.test(words) && words !== 'tokens' && !COUNTS.test(words))
  )
}

export function isCookieName(name: string): boolean {
  return COOKIE_MEMBER.test(name.replace(HEADER_PREFIX, '')) || COOKIES.test(wordsOf(name))
}

/** Splits a name into its words, in lower case and with an underscore between them: `new_pwd` of `newPwd`, `cvv` of `CVV2`. */
function wordsOf(name: string): string {
  const words = name
    .slice(-MAX_NAME)
    .replace(HEADER_PREFIX, '')
    .replaceAll(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .match(/[a-z]+/gi)
  return words ? words.join('_').toLowerCase() : ''
}
