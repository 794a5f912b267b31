/** What nginx refuses by itself on a tunnel path: in JSON, in the tunnel's own words. */

import { expect } from 'vitest'
import { type Code, REFUSALS } from '../../../tunnel/src/rejections.ts'
import type { Answered } from '../post.ts'

/** The code's own status, sentence and fix, as the tunnel would have said it, and nothing that silences an SDK. */
export function expectRefusal({ status, headers, json }: Answered, code: Code, causes: string[] = []): void {
  const refusal = REFUSALS[code]
  expect(json).toEqual({
    detail: `${refusal.sentence} ${refusal.fix}`,
    code,
    causes,
    request_id: headers['x-request-id'],
  })
  expect(status).toBe(refusal.status)
  expect(headers['content-type']).toBe('application/json')
  expect(headers).not.toHaveProperty('retry-after')
}
