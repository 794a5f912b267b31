/** Addresses of other servers, as settings name them. */

import { describe, expect, it } from 'vitest'
import { isLocal } from '../../../tunnel/src/config/addresses.ts'

describe('isLocal', () => {
  it.each(['localhost:5173', '0.0.0.0:5173', '127.0.0.1:5173', '[::1]:5173'])(
    'returns true for %s',
    (address) => {
      expect(isLocal(address)).toBe(true)
    },
  )

  it.each(['app:5173', '10.0.0.1:5173', 'localhost.example:5173'])('returns false for %s', (address) => {
    expect(isLocal(address)).toBe(false)
  })
})
