import { expect, it } from 'vitest'
import { Budget, PAGE_CHARACTERS } from '../../../../../web/features/console/bounds.ts'
import { readEvent } from '../../../../../web/features/console/inbox/event.ts'
import { modelEvent } from '../../../../../web/features/console/inbox/event-model.ts'

function modelOf(json: object) {
  const event = readEvent(json)
  return event && modelEvent(json, event, new Budget(PAGE_CHARACTERS.readable))
}

it('leaves the origin of the page out of the position of a frame, and no other origin', () => {
  const frames = ['https://shop.example/a.js', 'https://shop.example.evil/b.js', 'https://cdn.example/c.js']
  const model = modelOf({
    request: { url: 'https://shop.example/basket?step=2' },
    exception: { values: [{ stacktrace: { frames: frames.map((filename) => ({ filename, lineno: 1 })) } }] },
  })
  expect(model?.exceptions.shown[0]?.frames.shown.map(({ place }) => place)).toEqual([
    'https://cdn.example/c.js:1',
    'https://shop.example.evil/b.js:1',
    '/a.js:1',
  ])
})

it.each([
  [['%c Server %cready', 'color: red', 'color: #fff'], 'Server ready'],
  [
    ['%c[vite]%c connected to %s', 'a', 'b', 'localhost', { ms: 3 }],
    '[vite] connected to localhost {"ms":3}',
  ],
  [['%c%d of %s', 'a', 1], '1 of %s'],
  [['100 %'], 'as the SDK joined it'],
])('shows what console.log printed for %j', (args, text) => {
  const crumb = { category: 'console', message: 'as the SDK joined it', data: { arguments: args } }
  expect(modelOf({ breadcrumbs: [crumb] })?.breadcrumbs.shown[0]?.text).toBe(text)
})

it('shows the position of a frame whose file name is empty', () => {
  const frames = [
    { filename: '', function: 'eval', lineno: 370, colno: 30 },
    { filename: '', abs_path: 'app:///money.ts', function: 'formatTotal', lineno: 12 },
  ]
  const event = { exception: { values: [{ type: 'Error', value: 'x', stacktrace: { frames } }] } }
  const model = modelOf(event)
  expect(model?.exceptions.shown[0]?.frames.shown.map(({ place }) => place)).toEqual([
    'app:///money.ts:12',
    'unknown:370:30',
  ])
})

it('shows at most 20 variables of a frame, each as short JSON, and their number', () => {
  const vars = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`v${n}`, { text: 'x'.repeat(900) }]))
  const stacktrace = { frames: [{ function: 'pay', vars }, { function: 'sum' }] }
  const frames = modelOf({ exception: { values: [{ stacktrace }] } })?.exceptions.shown[0]?.frames.shown
  expect(frames?.map(({ variables }) => [variables.shown.length, variables.total])).toEqual([
    [0, 0],
    [20, 30],
  ])
  expect(frames?.[1]?.variables.shown[0]?.[1]).toMatch(/^\{"text":"x{100,}.*…$/)
})

it('names browser and system by the User-Agent of the request', () => {
  const facts = modelOf({ request: { headers: { 'User-Agent': 'Firefox/140.0 Linux' } } })?.facts
  expect(facts).toEqual(
    expect.arrayContaining([
      ['Browser', 'Firefox 140'],
      ['System', 'Linux'],
    ]),
  )
})
