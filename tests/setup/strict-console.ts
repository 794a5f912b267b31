/** Makes a stray `console.error` or `console.warn` fail the test that let it out; a test that expects one spies on it. */

import { format } from 'node:util'
import { afterEach, beforeEach, vi } from 'vitest'

const stray: string[] = []

beforeEach(() => {
  stray.length = 0
  for (const method of ['error', 'warn'] as const)
    vi.spyOn(console, method).mockImplementation(
      (...said) => void stray.push(`console.${method}: ${format(...said)}`),
    )
})

afterEach(() => {
  vi.restoreAllMocks()
  if (stray.length > 0) throw new Error(`said by the way:\n${stray.join('\n')}`)
})
