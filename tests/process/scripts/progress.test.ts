/** Child processes of a step, after it was aborted. */

import { describe, expect, it } from 'vitest'
import { runStep } from '../../../scripts/progress.mjs'
import { processesIn, until } from '../../support/command.ts'
import { requires } from '../../support/requirements.ts'
import { makeFolder } from '../../support/temporary-folder.ts'

describe('runStep', requires('proc'), () => {
  it('kills processes of an aborted step that ignore SIGTERM', async () => {
    await using folder = await makeFolder()
    const stop = new AbortController()
    const stubborn = 'trap "" TERM; exec sleep 60 >/dev/null 2>&1'
    const command = ['sh', '-c', `sh -c '${stubborn}' & wait`]
    const step = runStep('Waiting', command, { cwd: folder.path, signal: stop.signal }).catch(() => {})
    await until(() => processesIn(folder.path).some(({ command }) => command === 'sleep 60'), 'it sleeps')
    stop.abort()
    await step
    await until(() => processesIn(folder.path).length === 0, 'every process has ended')
    expect(processesIn(folder.path)).toEqual([])
  })
})
