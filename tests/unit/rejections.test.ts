/** Refusals: each code has a status, a sentence and a fix, and all of them answer in one shape. */

import { describe, expect, it } from 'vitest'
import { type Code, REFUSALS, Rejection, refusalBody } from '../../tunnel/src/rejections.ts'

describe('A refusal', () => {
  it.each(Object.entries(REFUSALS))(
    'of %s says in a sentence what was wrong and what to do',
    (code, refusal) => {
      expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/)
      expect(refusal.status).toBeGreaterThanOrEqual(400)
      expect(refusal.sentence).toMatch(/^[A-Z].*\.$/)
      expect(refusal.fix).toMatch(/^[A-Z].*\.$/)
      expect(new Rejection(code as Code).status).toBe(refusal.status)
    },
  )

  it("answers as Relay's errors do, with our code and the request's id", () => {
    const { sentence, fix } = REFUSALS['dsn-unknown']
    expect(JSON.parse(refusalBody(new Rejection('dsn-unknown', 'one', 'two'), 'abc'))).toEqual({
      detail: `${sentence} ${fix}`,
      code: 'dsn-unknown',
      causes: ['one', 'two'],
      request_id: 'abc',
    })
  })
})
