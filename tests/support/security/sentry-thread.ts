/** Worker thread with a Sentry. It posts its DSN. */

import { parentPort } from 'node:worker_threads'
import { startCountingSentry } from './counting-sentry.ts'

if (!parentPort) throw new Error('this is for a worker thread')
const { dsn } = await startCountingSentry()
parentPort.postMessage(dsn)
