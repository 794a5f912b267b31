/** Rejections that nginx sends itself on a tunnel path, in the JSON of the tunnel. */

import { expect } from 'vitest'
import { REJECTIONS, type RejectionCode } from '../../../contract/rejections.ts'
import type { Answered } from '../post.ts'

/** Expects status, sentence and fix of the code as from the tunnel, and no header that silences an SDK. */
export function expectRejection(
  { status, headers, json }: Answered,
  code: RejectionCode,
  causes: string[] = [],
): void {
  const rejection = REJECTIONS[code]
  expect(json).toEqual({
    detail: `${rejection.sentence} ${rejection.fix}`,
    code,
    causes,
    request_id: headers['x-request-id'],
  })
  expect(status).toBe(rejection.status)
  expect(headers['content-type']).toBe('application/json')
  expect(headers).not.toHaveProperty('retry-after')
}
