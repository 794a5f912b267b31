/** Compression towards Sentry, as the set-up describes it. */

import { describe, expect, it } from 'vitest'
import {
  type Compression,
  compressionsOf,
  describeCompression,
} from '../../../../../web/features/console/setup/compression.ts'

const ORIGIN = 'https://sentry.example'

function replicaWith(...states: Compression['state'][]) {
  const upstreams = states.map((state) => ({ origin: ORIGIN, compression: { encoding: 'zstd', state } }))
  return { status: { upstreams } } as unknown as Parameters<typeof compressionsOf>[0][number]
}

describe('The compression towards a server', () => {
  it('is that of the replica whose encoding was refused', () => {
    const found = compressionsOf([replicaWith('accepted'), replicaWith('refused'), { status: undefined }])
    expect(found).toEqual([{ origin: ORIGIN, encoding: 'zstd', state: 'refused' }])
  })

  it.each(['accepted', 'untested', 'refused'] as const)(
    'is described when it is %s, for its projects only',
    (state) => {
      const compressions = compressionsOf([replicaWith(state)])
      expect(describeCompression(compressions, 'sentry.example/2')).toContain('zstd')
      expect(describeCompression(compressions, 'sentry.example.org/2')).toBeUndefined()
    },
  )
})
