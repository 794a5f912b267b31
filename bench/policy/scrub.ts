/** Measures the CPU time that scrubbing adds to an envelope: `node bench/policy/scrub.ts`. */

import { capture } from '../../tests/support/sdk-captures.ts'
import { readRulesFile } from '../../tunnel/src/policy/scrub/rules-file.ts'
import { Scrubbing, type ScrubSettings } from '../../tunnel/src/policy/scrub/scrub.ts'
import { scrubStage } from '../../tunnel/src/policy/scrub/scrub-stage.ts'
import { printCosts, type Variant } from './measure.ts'

const ERROR = capture('nextjs-11.1.0-init-tunnel-2-event').body

const BODIES = {
  '3.3 KB error': ERROR,
  '3.3 KB error with 4 secrets': withSecrets(ERROR),
  '40 KB span batch': capture('nextjs-11.1.0-init-tunnel-3-span').body,
}

const PATTERN = JSON.stringify({
  rules: { order: { type: 'pattern', pattern: '\\bA-[0-9]{6}\\b' } },
  applications: { $string: ['order'] },
})

function withSecrets(body: Buffer): Buffer {
  const text = body.toString()
  return Buffer.from(
    text
      .replaceAll('"next handled', '"jane@example.com next')
      .replace('"url":"http://localhost:33625/"', '"url":"http://localhost:33625/?token=abc"')
      .replace(
        '"tags":{',
        '"user":{"email":"jane@example.com"},"extra":{"card":"4111 1111 1111 1111"},"tags":{"password":"a",',
      ),
  )
}

function createVariant(settings?: Pick<ScrubSettings, 'level' | 'selected'>): Variant {
  const more = { mode: 'enforce', attachments: 'pass', users: { kind: 'remove' } } as const
  const scrubbing = settings && new Scrubbing({ ...settings, ...more }, () => {})
  return { stages: scrubbing ? [scrubStage(scrubbing)] : [], keep: (type) => scrubbing?.reads(type) === true }
}

printCosts('parsing and scrubbing', BODIES, {
  off: createVariant(),
  default: createVariant({ level: 'default', selected: [] }),
  strict: createVariant({ level: 'strict', selected: [] }),
  'default and a pattern': createVariant({ level: 'default', selected: readRulesFile(Buffer.from(PATTERN)) }),
})
