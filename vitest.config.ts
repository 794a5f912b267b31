/** Layers of tests, as projects that run one group after the other. */

import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import LongestFirst from './tests/setup/longest-first.ts'

/** Worker threads and processes that the tests start load their modules in half of the time. */
process.env.NODE_COMPILE_CACHE ??= resolve(import.meta.dirname, '.culvert/compiled-tests')

const shared = {
  setupFiles: ['tests/setup/strict-console.ts'],
  testTimeout: 60 * 1000, // 1 min: the machine may be busy
  hookTimeout: 60 * 1000, // 1 min
  expect: { poll: { timeout: 60 * 1000 } },
}

/** Collect garbage without threads, which the other workers need more, and less often. */
const FRUGAL_GC = ['--single-threaded-gc', '--max-semi-space-size=32']

/** Busy with the processor, or waiting for a deadline. Files of a worker share what they import, which saves a third of the time. */
const inProcess = {
  ...shared,
  maxWorkers: 4,
  isolate: false,
  execArgv: FRUGAL_GC,
  sequence: { groupOrder: 0 },
}

/** Wait for other processes most of their time. */
const waiting = {
  ...shared,
  maxWorkers: 5,
  isolate: false,
  testTimeout: 180 * 1000, // 3 min: the first test of a file starts its fixtures
  hookTimeout: 180 * 1000, // 3 min
  sequence: { groupOrder: 1 },
}

/** Build images and whole sites, and wait for containers half of their time. */
const BUILDING_TIMEOUT = 300 * 1000 // 5 min
const stack = {
  ...waiting,
  maxWorkers: 3,
  isolate: true,
  testTimeout: BUILDING_TIMEOUT,
  hookTimeout: BUILDING_TIMEOUT,
  globalSetup: 'tests/setup/images.ts',
  sequence: { groupOrder: 2 },
}

/** Two at a time: their limits are far from what they measure, and hold beside other processes, since CPU time and memory are those of a process. */
const IN_PAIRS = [
  'tests/process/outage/slow-sentry.test.ts',
  'tests/process/security/large-bodies.test.ts',
  'tests/process/security/single-attacks.test.ts',
  'tests/process/security/through-nginx.test.ts',
  'tests/process/security/tunnel-process.test.ts',
]
const inPairs = { ...stack, maxWorkers: 2, sequence: { groupOrder: 3 } }

/** Measure response times: other tests at the same time would change the result. */
const ALONE = [
  'tests/process/nginx/unreachable-replicas.test.ts',
  'tests/process/security/slow-bodies.test.ts',
]
const alone = { ...stack, fileParallelism: false, maxWorkers: 1, sequence: { groupOrder: 4 } }

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    coverage: {
      include: ['tunnel/src/**/*.ts'],
      reporter: [['text', { skipFull: true }], 'text-summary'],
      reportsDirectory: '.culvert/coverage',
    },
    projects: [
      { test: { ...inProcess, name: 'unit', include: ['tests/unit/**/*.test.ts'] } },
      { test: { ...waiting, name: 'contract', include: ['tests/contract/**/*.test.ts'] } },
      {
        test: {
          ...waiting,
          name: 'process',
          include: ['tests/process/**/*.test.ts'],
          exclude: [...IN_PAIRS, ...ALONE],
        },
      },
      { test: { ...waiting, name: 'browser', include: ['tests/browser/**/*.test.ts'] } },
      {
        test: {
          ...stack,
          name: 'stack',
          include: ['tests/stack/**/*.test.ts'],
          exclude: [...IN_PAIRS, ...ALONE],
        },
      },
      { test: { ...inPairs, name: 'pairs', include: IN_PAIRS } },
      { test: { ...alone, name: 'alone', include: ALONE, exclude: IN_PAIRS } },
    ],
  },
})
