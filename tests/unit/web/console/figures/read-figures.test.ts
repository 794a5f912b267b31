/** Figures of all replicas, which one of them returns. */

import { expect, it } from 'vitest'
import { RECENT } from '../../../../../web/features/console/figures/range.ts'
import { type AskFigures, readFigures } from '../../../../../web/features/console/figures/read-figures.ts'
import { figuresOf, pointAt } from '../../../../support/web/figures.ts'

const FIGURES = figuresOf([pointAt(1, { received: 1 })])

const read = (origins: string[], ask: AskFigures) =>
  readFigures(origins, { range: RECENT, now: 1_000_000, ask })

it('readFigures asks for the range', async () => {
  const asked: unknown[] = []
  const ask: AskFigures = async (...request) => {
    asked.push(request)
    return FIGURES
  }
  expect(await read(['http://a', 'http://b'], ask)).toEqual({ figures: FIGURES })
  expect(asked).toEqual([[['http://a', 'http://b'], '/figures?from=100000&to=1000000&step=60000']])
})

it.each<[string, AskFigures, string]>([
  ['a failure', () => Promise.reject(new Error('disk full')), 'disk full'],
  ['no JSON', () => Promise.reject(new SyntaxError('Unexpected token')), 'Unexpected token'],
  ['a response of another release', async () => ({ outcomes: [] }), 'unknown response'],
  ['null', async () => null, 'unknown response'],
])('readFigures says why they are missing after %s', async (_, ask, reason) => {
  expect(await read(['http://a'], ask)).toEqual({ missing: `Figures are missing: ${reason}.` })
})

it('readFigures says that no replica responds', async () => {
  expect(await read([], async () => FIGURES)).toEqual({
    missing: 'Figures are missing: no replica responds.',
  })
})
