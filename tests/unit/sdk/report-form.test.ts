/** Report dialog in a document without a network. */

import { parseHTML } from 'linkedom'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { withReportForm } from '../../../tunnel/sdk/report-form/report-form.ts'

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
