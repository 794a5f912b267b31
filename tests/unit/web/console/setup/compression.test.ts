/** Compression towards Sentry, as the set-up describes it. */

import { describe, expect, it } from 'vitest'
import {
  type Compression,
  compressionsOf,
  describeCompression,
} from '../../../../../web/features/console/setup/destination.ts'

const ORIGIN = 'https://sentry.example'

function replicaWith(isRefused: boolean) {
  const compression: Pick<Compression, 'encoding' | 'is_refused'> = {
    encoding: 'gzip',
    is_refused: isRefused,
  }
  const upstreams = [{ origin: ORIGIN, compression }]
  return { status: { upstreams } } as unknown as Parameters<typeof compressionsOf>[0][number]
}

describe('The compression towards a server', () => {
  it('is that of the replica whose encoding was refused', () => {
    const found = compressionsOf([replicaWith(false), replicaWith(true), { status: undefined }])
    expect(found).toEqual([{ origin: ORIGIN, encoding: 'gzip', is_refused: true }])
  })

  it.each([
    ['does not accept', true],
    ['gets envelopes', false],
  ])('is described for its projects only: the server %s it', (text, isRefused) => {
    const compressions = compressionsOf([replicaWith(isRefused)])
    expect(describeCompression(compressions, 'sentry.example/2')).toContain(text)
    expect(describeCompression(compressions, 'sentry.example.org/2')).toBeUndefined()
  })
})
