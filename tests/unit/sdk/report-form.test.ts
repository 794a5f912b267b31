/** Report dialog: in a document without a network, and its texts. */

import { parseHTML } from 'linkedom'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { withReportForm } from '../../../tunnel/sdk/report-form/report-form.ts'
import { chooseLanguage, textsFor } from '../../../tunnel/sdk/report-form/texts.ts'

type Feedback = Parameters<typeof withReportForm>[0]

describe('openReportForm', () => {
  let document: Document

  beforeEach(() => {
    document = parseHTML('<html><body></body></html>').document
    vi.stubGlobal('document', document)
    vi.stubGlobal('Document', { prototype: document })
    vi.stubGlobal('window', {})
  })
  afterEach(() => void vi.unstubAllGlobals())

  it('leaves nothing in the page when the form cannot be created', async () => {
    const createForm = async () => {
      document.body.append(Object.assign(document.createElement('div'), { id: 'culvert-report-dialog' }))
      throw new Error('no modal')
    }
    const form = withReportForm({ createForm } as unknown as Feedback) // the only function in use
    const onLoad = vi.fn()
    for (const _ of ['first', 'second'])
      await expect(form.openReportForm('id', { onLoad })).rejects.toThrow('it could not be opened')
    expect(document.body.children).toHaveLength(0)
    expect(onLoad).not.toHaveBeenCalled()
  })
})

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
