/** Add-ons, which a bundle loads after the page. */

import { parseHTML } from 'linkedom'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loadAddOn } from '../../../tunnel/sdk/add-ons.ts'
import type { BundleScript } from '../../../tunnel/sdk/script.ts'

type Payload = (make: () => { name: string }) => void

const BASE = 'https://shop.example/monitoring'
const PLACE = { base: BASE, nonce: undefined, urlOf: (file: string) => `${BASE}/sdk/${file}` }

describe('loadAddOn', () => {
  const loaded: string[] = []
  let script: BundleScript<Payload> | null

  beforeEach(() => {
    const { document } = parseHTML('<html><head></head></html>')
    vi.stubGlobal('document', document)
    vi.stubGlobal('Document', { prototype: document })
    vi.stubGlobal('CULVERT_ADD_ONS', { replay: ['replay-0123456789abcdef.js', 'sha384-replay'] })
    loadAddOn(PLACE, 'replay', (make) => loaded.push(make({}).name))
    script = document.querySelector<BundleScript<Payload>>('script')
  })
  afterEach(() => void vi.unstubAllGlobals())

  it('passes on the integration of the bundle, which has integrity', () => {
    script?.payload?.(() => ({ name: 'Replay' }))
    expect(loaded.splice(0)).toEqual(['Replay'])
    expect(script).toMatchObject({
      src: `${BASE}/sdk/replay-0123456789abcdef.js`,
      integrity: 'sha384-replay',
    })
  })

  it('says that the page is of another release when the tunnel has no such bundle', async () => {
    vi.stubGlobal('fetch', async () => new Response('', { status: 404 }))
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    script?.onerror?.(new Event('error'))
    await expect
      .poll(() => warn.mock.calls)
      .toEqual([
        [`Culvert: ${BASE}/sdk/replay-0123456789abcdef.js could not be loaded`],
        ['Culvert: the tunnel has another release now; reload the page'],
      ])
    expect(script?.ownerDocument.querySelectorAll('script')).toHaveLength(1)
    warn.mockRestore()
  })
})
