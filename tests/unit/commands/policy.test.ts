import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeChanges, describeCounts, runPolicyCommand } from '../../../tunnel/src/commands/policy.ts'
import type { ScrubSettings } from '../../../tunnel/src/policy/scrub/scrub.ts'
import { envelopeOf } from '../../support/envelopes.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

const SETTINGS: ScrubSettings = {
  level: 'default',
  mode: 'observe',
  attachments: 'drop',
  selected: [],
  users: { kind: 'remove' },
}
const ENVELOPE = envelopeOf({}, [
  {
    header: { type: 'event' },
    payload: '{"message":"hi","user":{"email":"a@b.example"},"extra":{"token":{"a":1}}}',
  },
  { header: { type: 'user_report' }, payload: '{"comments":"hi"}' },
  { header: { type: 'attachment', length: 1 }, payload: 'x' },
  { header: { type: 'session' }, payload: '{}' },
  { header: { type: 'feedback' }, payload: '{' },
])

describe('describeChanges', () => {
  it('returns the changed values, the items that are removed, and what each rule finds', () => {
    expect(describeChanges(ENVELOPE, SETTINGS).split('\n')).toEqual([
      'event:',
      '  user.email: a@b.example -> null (@email:remove)',
      '  extra.token: {"a":1} -> null (@password:filter)',
      'user_report: unchanged',
      'attachment: removed (attachments-dropped)',
      'session: unchanged',
      'feedback: removed (unscrubbable)',
      'Found by rule:',
      '  @email:remove: 1',
      '  @password:filter: 1',
      '  attachments-dropped: 1',
      '  unscrubbable: 1',
    ])
  })
})

describe('describeCounts', () => {
  it('returns what the envelope counts for quotas, and the group of its error', () => {
    expect(describeCounts(ENVELOPE).split('\n')).toEqual([
      'Counts for quotas: error 1, feedback 2, attachment 1, attachment_item 1, session 1',
      expect.stringMatching(/^Group in the inbox and for storms: [\da-f]{16} \(Message\)$/),
    ])
  })
})

describe('runPolicyCommand', () => {
  it('rejects a file that is no envelope, and one that it cannot read', async () => {
    await using folder = await makeFolder()
    const file = join(folder.path, 'a.envelope')
    await writeFile(file, 'x')
    expect(runPolicyCommand(['try', file])).toEqual({
      exitCode: 1,
      text: `culvert: ${file} is not an envelope (not-an-envelope)`,
    })
    expect(runPolicyCommand(['try', `${file}.missing`])).toEqual({
      exitCode: 1,
      text: expect.stringMatching(/^culvert: \S+\.missing cannot be read \(ENOENT: /),
    })
  })

  it.each([[[]], [['try']], [['look', 'a']], [['try', 'a', 'b']]])('explains itself for %j', (args) => {
    expect(runPolicyCommand(args)).toEqual({
      exitCode: 1,
      text: expect.stringContaining('npm run policy -- try FILE'),
    })
  })
})
