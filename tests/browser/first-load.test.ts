/** What the first visit of the start page costs a visitor. */

import { expect, it } from 'vitest'
import { scriptBytes } from '../bench/first-load.ts'
import { startChromium } from '../helpers/chromium.ts'
import { requires } from '../helpers/requirements.ts'
import { startSite } from '../helpers/site.ts'

const MOST = 150 * 1024

it(
  'The first load of the start page is at most 150 KB of JavaScript, the SDK in it',
  requires('chromium', 'nginx'),
  async () => {
    await using site = await startSite()
    await using chromium = await startChromium()
    const { bytes, files } = await scriptBytes(chromium, `http://127.0.0.1:${site.port}/`) // where Chromium takes brotli, as over https
    expect(files.length).toBeGreaterThan(3)
    expect(bytes).toBeGreaterThan(50 * 1024)
    expect(bytes).toBeLessThanOrEqual(MOST)
  },
)
