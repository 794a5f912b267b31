/** Addresses of other servers, as settings name them. */

import { describe, expect, it } from 'vitest'
import { isLocal } from '../../../contract/addresses.ts'

describe('isLocal', () => {
  it.each([
    ...'localhost:5173 0.0.0.0:5173 127.0.0.1:5173 [::1]:5173'.split(' '),
    ...'LOCALHOST.:80 app.localhost:80 127.1:80 0:80 0x7f.1:80 2130706433:80'.split(' '),
    ...'[0:0:0:0:0:0:0:1]:80 [::ffff:127.0.0.1]:80 *:80 80'.split(' '),
  ])('returns true for %s', (address) => {
    expect(isLocal(address)).toBe(true)
  })

  it.each(['app:5173', '10.0.0.1:5173', 'localhost.example:5173', 'notlocalhost:80', '[::ffff:10.0.0.1]:80'])(
    'returns false for %s',
    (address) => {
      expect(isLocal(address)).toBe(false)
    },
  )
})
