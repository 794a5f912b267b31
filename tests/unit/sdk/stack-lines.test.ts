/** Frames of scripts with `blob:` URLs, as each browser writes them. */

import { createStackParser } from '@sentry/core'
import { describe, expect, it } from 'vitest'
import { STACK_LINES } from '../../../tunnel/sdk/stack-lines.ts'

const parse = createStackParser(...STACK_LINES)
const BLOB = 'blob:https://shop.example/0d0c-11'

describe('STACK_LINES', () => {
  it.each([
    ['Chromium', `Error: a\n    at open (${BLOB}:1:20)`, 'open', BLOB],
    ['Chromium, without a name', `Error: a\n    at ${BLOB}:1:20`, '?', BLOB],
    ['Firefox and WebKit', `open@${BLOB}:1:20`, 'open', BLOB],
    ['Firefox, of an opaque origin', 'open/<@blob:null/0d0c:1:20', 'open/<', 'blob:null/0d0c'],
    ['Firefox, without a name', `@${BLOB}:1:20`, '?', BLOB],
    ['WebKit, without a name', `${BLOB}:1:20`, '?', BLOB],
    [
      'Firefox, of another script',
      'open@https://shop.example/a.js:1:20',
      'open',
      'https://shop.example/a.js',
    ],
  ])('reads the frame of %s', (_, stack, name, filename) => {
    expect(parse(stack)).toEqual([{ function: name, filename, lineno: 1, colno: 20, in_app: true }])
  })
})
