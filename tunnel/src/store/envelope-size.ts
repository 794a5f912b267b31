/** Largest envelope that the inbox can keep without a DSN. */

import { networkOf } from 'contract/networks'
import { Rejection } from 'contract/rejections'
import { sizeOfRanges } from '../envelope/body/ranges.ts'
import type { Stage } from '../pipeline/pipeline.ts'
import { ADDRESS_SHARE } from '../pipeline/spool.ts'

const OVERHEAD = 1.01 // of the pages of a row
const SUMMARY_BYTES = 64 * 1024 // at most, with what else is in the row

/** Rejects envelopes that an inbox of `keptBytes` cannot keep, before they are spooled. */
export function checkSizeStage(keptBytes: number): Stage<'client' | 'envelope' | 'outgoingRanges'> {
  return function checkSize(ctx) {
    const share = networkOf(ctx.client.address) === '' ? keptBytes : keptBytes * ADDRESS_SHARE
    const maxBytes = Math.floor(share / OVERHEAD) - SUMMARY_BYTES
    if (ctx.envelope.bytes - sizeOfRanges(ctx.outgoingRanges()) > maxBytes)
      throw new Rejection(
        'envelope-too-large',
        `Decompressed, it is larger than the ${maxBytes} bytes that the inbox keeps of one client address. It has a twentieth of SPOOL_BYTES, at least 256 MiB: raise that.`,
      )
    return undefined
  }
}
