/** Measures the CPU time of scrubbing a text of 1 MiB, by detector, and of a whole event: `node bench/policy/detectors.ts`. */

import { captures } from '../../tests/support/sdk-captures.ts'
import { Unscrubbable } from '../../tunnel/src/policy/scrub/budget.ts'
import { DETECTORS, type DetectedType } from '../../tunnel/src/policy/scrub/detectors/detectors.ts'
import { builtInRuleSet } from '../../tunnel/src/policy/scrub/rules.ts'
import { Scrubber } from '../../tunnel/src/policy/scrub/scrubber.ts'
import { spreadOf } from '../report/statistics.ts'
import { renderTable } from '../report/table.ts'

const MIB = 1024 * 1024
const ROUNDS = 5

/** Texts that are made to cost time when they are repeated. */
const SEEDS = [
  ...[
    '4 4 4 4 ',
    '4111 ',
    '4111-',
    '4',
    '4111111111111112 ',
    '6.',
    '1234567890123 ',
    '078-05-112 ',
    'DE89 ',
    'DE89370400440532013001 ',
    'GB29-NWBK-',
  ],
  ...[
    '@',
    'a@',
    '@a.',
    'a@a.',
    'a@a.b ',
    'a=@',
    "'a'@",
    '/@',
    '//a',
    '//a@',
    '//@',
    '::',
    'f:',
    '1.',
    '255.',
    'aa:',
    'home/',
    '\\',
    '/',
  ],
  ...[
    'eyJ',
    'eyJaaaaa.',
    'sk-',
    'sk_live_',
    'AKIA',
    'xoxb-',
    'bearer ',
    'basic ',
    'basic YTpi ',
    '-----BEGIN PRIVATE KEY-----',
    '-',
    '_',
  ],
  ...[
    'pin ',
    'pin=',
    'pass',
    'pass ',
    'auth:',
    'token=a,',
    'token=a ',
    'password="',
    "pwd='",
    '"token","',
    'pwd=[',
    '<pin',
    '<pin ',
    '--pin ',
    '[pin]',
    'name="pin"',
  ],
  ...[
    'name="pin"\r\n',
    'cookie:',
    'cookie=a;',
    'api_key',
    'A1',
    'aA',
    'secret.',
    '%40',
    '%25',
    '%e2',
    '\\\\',
    '\\"',
    '\\u0040',
    '\\n',
    '00000000-',
    'a',
    ' ',
    'é',
    '😀',
  ],
]

const ORDINARY = captures()
  .map(({ body }) => body.toString())
  .join('\n')

function repeat(text: string): string {
  return text.repeat(Math.ceil(MIB / text.length)).slice(0, MIB)
}

/** Returns the median CPU time of some rounds, in milliseconds. */
function measure(run: () => void, rounds: number): number {
  const times = Array.from({ length: rounds }, () => {
    const start = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  })
  return spreadOf(times).median
}

function rowOf(name: string, run: (text: string) => void): string[] {
  const ordinary = repeat(ORDINARY)
  run(ordinary)
  const costs = SEEDS.map((seed) => ({ seed, ms: measure(() => run(repeat(seed)), 1) }))
  const slowest = costs.reduce((a, b) => (b.ms > a.ms ? b : a)).seed
  const figures = [ordinary, repeat(slowest)].map((text) => measure(() => run(text), ROUNDS).toFixed(1))
  return [name, ...figures, `\`${JSON.stringify(slowest)}\``]
}

function scrubEvent(scrubber: Scrubber, message: string): void {
  try {
    scrubber.scrub(Buffer.from(JSON.stringify({ message })), 'event', 'event')
  } catch (error) {
    if (!(error instanceof Unscrubbable)) throw error
  }
}

const detectors = (Object.keys(DETECTORS) as DetectedType[])
  .filter((type) => type !== 'anything')
  .map((type) => rowOf(type, (text) => DETECTORS[type].find(text)))
const events = (['default', 'strict'] as const).map((level) => {
  const scrubber = new Scrubber(builtInRuleSet(level))
  return rowOf(`event, \`SCRUB=${level}\``, (text) => scrubEvent(scrubber, text))
})
console.log(
  renderTable([
    ['ms per MiB', 'captured envelopes', 'slowest text', 'which repeats'],
    ...detectors,
    ...events,
  ]),
)
