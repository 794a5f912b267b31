/** Table of rejection codes, and the format of their responses. */

import { describe, expect, it } from 'vitest'
import { REJECTIONS, Rejection, type RejectionCode, rejectionBody } from '../../contract/rejections.ts'

describe('A rejection', () => {
  it.each(Object.entries(REJECTIONS))(
    'with the code %s has a status, a sentence that names the error, and one that says what to do',
    (code, rejection) => {
      expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/)
      expect(rejection.status).toBeGreaterThanOrEqual(400)
      expect(rejection.sentence).toMatch(/^[A-Z].*\.$/)
      expect(rejection.fix).toMatch(/^[A-Z].*\.$/)
      expect(new Rejection(code as RejectionCode).status).toBe(rejection.status)
    },
  )

  it("has Relay's format, with the code of Culvert and the request ID", () => {
    const { sentence, fix } = REJECTIONS['dsn-unknown']
    expect(JSON.parse(rejectionBody(new Rejection('dsn-unknown', 'one', 'two'), 'abc'))).toEqual({
      detail: `${sentence} ${fix}`,
      code: 'dsn-unknown',
      causes: ['one', 'two'],
      request_id: 'abc',
    })
  })
})
