/** Texts of the report dialog. */

import { describe, expect, it } from 'vitest'
import { chooseLanguage, textsFor } from '../../../tunnel/sdk/report-form/texts.ts'

const LANGUAGES = 'en ar cs da de es fi fr it ja ko nb nl pl pt ru sv zh'.split(' ')

describe('chooseLanguage', () => {
  it.each([
    ['de', ['de', 'fr']],
    ['pt', ['pt-BR']],
    ['zh', ['zh_CN']],
    ['nb', ['no-NO']],
    ['fr', [undefined, '', 'eo', 'fr-CA', 'de']],
    ['en', ['eo', 'constructor']],
    ['en', []],
  ])('returns %s for %j', (language, tags) => {
    expect(chooseLanguage(tags)).toBe(language)
  })

  it.each(LANGUAGES)('knows %s', (language) => {
    expect(chooseLanguage([language])).toBe(language)
  })
})

describe('textsFor', () => {
  it('prefers the texts of the options, and ignores other options', () => {
    const texts = textsFor('de', { title: 'It broke', labelName: '', eventId: 'x' })
    expect(texts).toMatchObject({ title: 'It broke', labelName: 'Name', labelEmail: 'E-Mail' })
    expect(texts).not.toHaveProperty('eventId')
  })
})
