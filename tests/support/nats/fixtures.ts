/** Fixture of tests on a NATS server. */

import { test } from 'vitest'
import { endWith } from '../lifetime.ts'
import { startNats } from './nats.ts'

/** Each test that names `nats` has a server of its own. */
// biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of other fixtures from the pattern
export const it = test.extend('nats', async ({}, lifetime) => endWith(lifetime, await startNats()))
