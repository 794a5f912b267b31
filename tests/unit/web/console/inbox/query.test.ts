/** Query of the inbox's pages. */

import { expect, it } from 'vitest'
import { readInboxQuery } from '../../../../../web/features/console/inbox/inbox-query.ts'

it('reads known parameters, trimmed and cut, and leaves out empty, repeated and unknown ones', () => {
  expect(
    readInboxQuery({
      ...{ search: ' pay ', release: 'x'.repeat(300), environment: '  ', group: ['a', 'b'] },
      ...{ type: 'event', after: '7', all: '1' },
    }),
  ).toEqual({ search: 'pay', release: 'x'.repeat(200), type: 'event' })
  expect(readInboxQuery({ type: 'no-such-type', replay: 'r' })).toEqual({ replay: 'r' })
})
