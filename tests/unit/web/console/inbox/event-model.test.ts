import { expect, it } from 'vitest'
import { Budget, PAGE_CHARACTERS } from '../../../../../web/features/console/bounds.ts'
import { modelEvent } from '../../../../../web/features/console/inbox/event-model.ts'

it('shows the position of a frame whose file name is empty', () => {
  const frames = [
    { filename: '', function: 'eval', lineno: 370, colno: 30 },
    { filename: '', abs_path: 'app:///money.ts', function: 'formatTotal', lineno: 12 },
  ]
  const event = { exception: { values: [{ type: 'Error', value: 'x', stacktrace: { frames } }] } }
  const model = modelEvent(event, new Budget(PAGE_CHARACTERS.readable))
  expect(model?.exceptions.shown[0]?.frames.shown.map(({ place }) => place)).toEqual([
    'app:///money.ts:12',
    'unknown:370:30',
  ])
})
