/** How the tests run: light ones side by side, those that start a whole site one after the other, and last those that do so in containers. */

import { defineConfig } from 'vitest/config'

const shared = {
  setupFiles: ['tests/setup/strict-console.ts'],
  testTimeout: 60 * 1000, // 1 min: the machine may be busy
  hookTimeout: 60 * 1000, // 1 min
  expect: { poll: { timeout: 30 * 1000 } },
}

// Each of these starts browsers, servers or containers: together they would starve each other on two cores.
const HEAVY = ['bench/delivery', 'browser', 'doctor', 'outage', 'security', 'stack', 'start'].map(
  (folder) => `tests/${folder}/**/*.test.ts`,
)
const STACK = ['tests/security/tunnel-cost.test.ts', 'tests/stack/**/*.test.ts', 'tests/start/docker.test.ts']

const oneByOne = {
  fileParallelism: false,
  testTimeout: 120 * 1000, // 2 min
  hookTimeout: 300 * 1000, // 5 min: a hook may build images
}

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: 'light',
          include: ['tests/**/*.test.ts'],
          exclude: [...HEAVY, '**/node_modules/**'], // the benchmark has its own
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          ...oneByOne,
          name: 'heavy',
          include: HEAVY,
          exclude: STACK,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: { ...shared, ...oneByOne, name: 'stack', include: STACK, sequence: { groupOrder: 2 } },
      },
    ],
  },
})
