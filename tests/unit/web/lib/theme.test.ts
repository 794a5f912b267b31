/** Cookie of the colour theme. */

import { expect, it } from 'vitest'
import { readTheme, themeCookie } from '../../../../web/lib/theme.ts'

it('keeps the theme in a cookie that browsers also send after a link from another site', () => {
  const [pair = '', ...attributes] = themeCookie('dark').split('; ')
  expect(attributes).toContain('samesite=lax')
  expect(attributes).toContain('path=/console')
  expect(readTheme(`other=1; ${pair}`)).toBe('dark')
})
