/** Content encodings towards the upstreams: those that they have refused, and compression of bodies that have arrived uncompressed. */

import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import { type Body, joinAll, type Pieces } from '../../envelope/body/bodies.ts'
import type { Encoding } from '../../envelope/body/decode.ts'
import type { MemoryBudget } from '../../envelope/body/memory-budget.ts'
import { createBody } from '../../envelope/body/own-body.ts'
import type { Item } from '../../envelope/items.ts'
import type { DeliveryResult } from './request.ts'

const REFUSED_MS = 60 * 60 * 1000

/** Statuses of servers that do not know an encoding: 415 of RFC 9110 §15.5.16, and 400 of those that take the bytes for an envelope. */
const REFUSALS: readonly (number | undefined)[] = [400, 415]

/** Encodings that an upstream has refused within the last hour, by origin. */
export class RefusedEncodings {
  readonly #clock: () => number
  readonly #until = new Map<string, number>()

  /** `clock` is monotonic, in milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  has(origin: string, encoding: Encoding): boolean {
    return this.#until.size > 0 && this.#clock() < (this.#until.get(`${encoding} ${origin}`) ?? 0)
  }

  add(origin: string, encoding: Encoding): void {
    this.#until.set(`${encoding} ${origin}`, this.#clock() + REFUSED_MS)
  }
}

/** Returns `true` for a response that may refuse the encoding of a compressed body: only another attempt can tell. */
export function mayRefuseEncoding(result: DeliveryResult, encoding: Encoding): boolean {
  if (encoding === 'identity') return false
  return REFUSALS.includes(result.kind === 'answered' ? result.reply.status : result.status)
}

const MIN_BYTES = 1024 // less would save about as much as one header
const MAX_BYTES = 1024 * 1024
const MAX_SIZE_LEFT = 0.9 // as a share
/** Types of items whose payloads are compressed already, or are read again before they are sent (`security-reports.ts`). */
const COMPRESSED_TYPES = new Set(['attachment', 'replay_recording', 'replay_video', 'raw_security'])
const POOL_BYTES = 64 * 1024 // smaller bodies take less time than the way to another thread and back, see docs/benchmarks.md

const compress = promisify<Buffer, Buffer>(gzip)

/** Returns `true` if compressing an envelope of `bytes` is likely to save much. */
export function isCompressible(bytes: number, items: readonly Item[]): boolean {
  if (bytes < MIN_BYTES || bytes > MAX_BYTES) return false
  return !items.some(({ type }) => COMPRESSED_TYPES.has(type))
}

/** Compresses a body in memory with gzip, within the budget. Resolves to `undefined` if it saves little, or fails. */
export async function compressBody(pieces: Pieces, memory: MemoryBudget): Promise<Body | undefined> {
  const plain = joinAll(pieces)
  try {
    const compressed = plain.length > POOL_BYTES ? await compress(plain) : gzipSync(plain)
    return compressed.length > plain.length * MAX_SIZE_LEFT
      ? undefined
      : createBody(compressed, memory, 'gzip')
  } catch {
    return undefined
  }
}
