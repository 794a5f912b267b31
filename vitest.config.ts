/** Layers of tests, as projects: those in parallel run first, then those that start whole sites, one at a time. */

import { defineConfig } from 'vitest/config'

const shared = {
  setupFiles: ['tests/setup/strict-console.ts'],
  testTimeout: 60 * 1000, // 1 min: the machine may be busy
  hookTimeout: 60 * 1000, // 1 min
  expect: { poll: { timeout: 30 * 1000 } },
}

const inParallel = { ...shared, maxWorkers: 2, sequence: { groupOrder: 0 } }

// Each starts browsers, servers or containers: two at a time would starve each other on two cores.
const oneByOne = {
  ...shared,
  fileParallelism: false,
  testTimeout: 120 * 1000, // 2 min
  hookTimeout: 300 * 1000, // 5 min: a hook may build images
}

/** Tests that measure memory or the time of an answer, which other tests at the same time would change. */
const SERIAL = ['tests/process/security/**/*.test.ts', 'tests/process/outage/outage.test.ts']

export default defineConfig({
  test: {
    projects: [
      { test: { ...inParallel, name: 'unit', include: ['tests/unit/**/*.test.ts'] } },
      { test: { ...inParallel, name: 'contract', include: ['tests/contract/**/*.test.ts'] } },
      {
        test: { ...inParallel, name: 'process', include: ['tests/process/**/*.test.ts'], exclude: SERIAL },
      },
      { test: { ...oneByOne, name: 'process-serial', include: SERIAL, sequence: { groupOrder: 1 } } },
      {
        test: {
          ...oneByOne,
          name: 'browser',
          include: ['tests/browser/**/*.test.ts'],
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...oneByOne,
          name: 'stack',
          include: ['tests/stack/**/*.test.ts'],
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
})
