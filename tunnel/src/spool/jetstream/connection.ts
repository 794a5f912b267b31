/** The way to the NATS server: it is kept up for ever, and asked in bounded time. */

import { setTimeout as wait } from 'node:timers/promises'
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream'
import { connect, errors, type NatsConnection } from '@nats-io/transport-node'
import { describeNats, type NatsAddress } from './nats-url.ts'
import { NatsAway } from './unavailable.ts'

/** The longest that anything asked of the server may take; then it is said to be away. */
export const ANSWER_MS = 5_000
const START_MS = 3_000
const CONNECT_MS = 3_000
const RETRY_MS = 250

/** Rejects in words when no server answers for 3 s (`NatsAway`), or it refuses us. Once connected it stays so, or tries again and again. */
export async function connectNats(
  address: NatsAddress,
): Promise<{ nc: NatsConnection; jsm: JetStreamManager }> {
  const end = Date.now() + START_MS
  for (;;) {
    try {
      const nc = await connect(optionsOf(address))
      return { nc, jsm: await managerOf(nc) }
    } catch (error) {
      if (error instanceof errors.AuthorizationError)
        throw new Error(`SPOOL_URL: ${describeNats(address)} ${describeDenial(address)}`)
      if (Date.now() > end)
        throw new NatsAway(
          `SPOOL_URL: no NATS server with JetStream answers at ${describeNats(address)} (${describe(error)}); start one, or write where it is`,
        )
      await wait(RETRY_MS)
    }
  }
}

function describeDenial({ credentials }: NatsAddress): string {
  return credentials
    ? 'refuses these credentials'
    : 'requires credentials; write nats://user:password@host:4222, or the path of a file with user:password into SPOOL_CREDENTIALS_FILE'
}

async function managerOf(nc: NatsConnection): Promise<JetStreamManager> {
  try {
    return await jetstreamManager(nc, { timeout: ANSWER_MS })
  } catch (error) {
    await nc.close()
    throw error
  }
}

function optionsOf({ servers, tls, credentials }: NatsAddress) {
  return {
    servers,
    name: 'culvert',
    ...(tls && { tls: {} }),
    ...credentials,
    noEcho: true, // what a replica tells the others it knows itself
    timeout: CONNECT_MS,
    pingInterval: 10_000,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: RETRY_MS,
    reconnectJitter: RETRY_MS,
    reconnectJitterTLS: RETRY_MS,
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
