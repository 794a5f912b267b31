/** Makes an unexpected `console.error` or `console.warn` fail its test; a test that expects one spies on it. */

import { format } from 'node:util'
import { afterEach, beforeEach, vi } from 'vitest'

const stray: string[] = []
let running = 0 // tests of a file may run at the same time

beforeEach(() => {
  if (running++ > 0) return
  stray.length = 0
  for (const method of ['error', 'warn'] as const)
    vi.spyOn(console, method).mockImplementation(
      (...said) => void stray.push(`console.${method}: ${format(...said)}`),
    )
})

afterEach(() => {
  if (--running === 0) vi.restoreAllMocks()
  const said = stray.splice(0)
  if (said.length > 0)
    throw new Error(
      `the test printed what it did not expect; spy on console.error or console.warn in a test that expects it:\n${said.join('\n')}`,
    )
})
