/** How the tests run: light ones side by side, those that start whole stacks one after the other. */

import { defineConfig } from 'vitest/config'

const shared = {
  setupFiles: ['tests/helpers/strict-console.ts'],
  testTimeout: 20 * 1000, // 20 s
  hookTimeout: 60 * 1000, // 1 min
}

// Each of these starts browsers, servers or containers: together they would starve each other on two cores.
const HEAVY = ['browser', 'outage', 'stack', 'start'].map((folder) => `tests/${folder}/**/*.test.ts`)

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: 'light',
          include: ['tests/**/*.test.ts'],
          exclude: HEAVY,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: 'heavy',
          include: HEAVY,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 120 * 1000, // 2 min
          hookTimeout: 300 * 1000, // 5 min: a hook may build images
        },
      },
    ],
  },
})
