/** Guarantees of every store of the bundles of the SDK. */

import { describe, expect, it } from 'vitest'
import type { Store } from './guarantees.ts'

const FILE = 'errors-0123456789abcdef.js'

export function bundlePromises(current: () => { store: Store }): void {
  const another = async () => (await current().store.spool()).state.bundles

  describe('keeps the bundles of the SDK:', () => {
    it('returns those of a replica to each other one, and after all were closed', async () => {
      const [first, second] = [await another(), await another()]
      expect(await second.read(FILE)).toBeUndefined()
      const bundle = Buffer.from('bundle')
      await first.write(new Map([[FILE, bundle]]))
      expect(await second.read(FILE)).toEqual(new Uint8Array(bundle))
      expect(bundle.toString()).toBe('bundle') // it is served from memory
      await current().store.closeAll()
      expect(await (await another()).read(FILE)).toEqual(new Uint8Array(bundle))
      expect(await (await another()).read('errors-fedcba9876543210.js')).toBeUndefined()
    })

    it('replaces a bundle of the same name', async () => {
      const bundles = await another()
      for (const text of ['bundle', 'again']) await bundles.write(new Map([[FILE, Buffer.from(text)]]))
      expect(await bundles.read(FILE)).toEqual(new Uint8Array(Buffer.from('again')))
    })
  })
}
