/** Add-ons, which a bundle loads after the page. */

import { SDK_VERSION } from '@sentry/browser'
import { parseHTML } from 'linkedom'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadAddOn } from '../../../tunnel/sdk/add-ons.ts'
import type { BundleScript } from '../../../tunnel/sdk/script.ts'

type Given = (make: () => { name: string }, version: string) => void

const PLACE = { base: 'https://shop.example/monitoring', nonce: undefined }

describe('loadAddOn', () => {
  const loaded: string[] = []
  let given: Given | undefined

  beforeEach(() => {
    const { document } = parseHTML('<html><head></head></html>')
    vi.stubGlobal('document', document)
    vi.stubGlobal('CULVERT_ADD_ONS', { replay: ['replay-0123456789abcdef.js', 'sha384-replay'] })
    loadAddOn(PLACE, 'replay', (make) => loaded.push(make({}).name))
    given = document.querySelector<BundleScript<Given>>('script')?.given
  })
  afterEach(() => void vi.unstubAllGlobals())

  it('passes on an integration of the same version', () => {
    given?.(() => ({ name: 'Replay' }), SDK_VERSION)
    expect(loaded.splice(0)).toEqual(['Replay'])
  })

  it('warns of an integration of another version, and does not pass it on', () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    given?.(() => ({ name: 'Replay' }), '1.0.0')
    expect(loaded).toEqual([])
    expect(warn.mock.calls).toEqual([
      ['Culvert: https://shop.example/monitoring/sdk/replay.js is of another release; reload the page'],
    ])
    warn.mockRestore()
  })
})
