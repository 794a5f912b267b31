/** Add-ons, which a bundle loads after the page. */

import { SDK_VERSION } from '@sentry/browser'
import { parseHTML } from 'linkedom'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadAddOn } from '../../../tunnel/sdk/add-ons.ts'
import type { BundleScript } from '../../../tunnel/sdk/script.ts'

type Payload = (make: () => { name: string }, version: string) => void

const PLACE = { base: 'https://shop.example/monitoring', nonce: undefined }

describe('loadAddOn', () => {
  const loaded: string[] = []
  let payload: Payload | undefined

  beforeEach(() => {
    const { document } = parseHTML('<html><head></head></html>')
    vi.stubGlobal('document', document)
    vi.stubGlobal('CULVERT_ADD_ONS', { replay: ['replay-0123456789abcdef.js', 'sha384-replay'] })
    loadAddOn(PLACE, 'replay', (make) => loaded.push(make({}).name))
    payload = document.querySelector<BundleScript<Payload>>('script')?.payload
  })
  afterEach(() => void vi.unstubAllGlobals())

  it('passes on an integration of the same version', () => {
    payload?.(() => ({ name: 'Replay' }), SDK_VERSION)
    expect(loaded.splice(0)).toEqual(['Replay'])
  })

  it('warns of an integration of another version, and does not pass it on', () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    payload?.(() => ({ name: 'Replay' }), '1.0.0')
    expect(loaded).toEqual([])
    expect(warn.mock.calls).toEqual([
      ['Culvert: https://shop.example/monitoring/sdk/replay.js is of another release; reload the page'],
    ])
    warn.mockRestore()
  })
})
