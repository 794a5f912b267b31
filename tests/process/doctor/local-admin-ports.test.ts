/** Doctor with `--password-file` alone, which finds the password in the settings and the admin ports of `npm start`. */

import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../scripts/start/free-port.ts'
import { askDoctorIn } from '../../support/doctor/doctor.ts'
import { ROOT } from '../../support/node.ts'
import { startUpstream } from '../../support/recording-server.ts'
import { makeFolder } from '../../support/temporary-folder.ts'
import { startTunnel } from '../../support/tunnel/tunnel.ts'

const PASSWORD = 'password of the tests'

/** Copies the files of the doctor, so that it has a state folder of its own. */
async function copyDoctor(folder: string): Promise<void> {
  for (const name of ['doctor', 'scripts', 'web/lib', 'package.json'])
    await cp(join(ROOT, name), join(folder, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await mkdir(join(folder, '.culvert'))
}

describe('npm run doctor --password-file', () => {
  it('uses .env and the admin ports of npm start', async () => {
    await using folder = await makeFolder()
    await copyDoctor(folder.path)
    await using tunnel = await startTunnel({ env: { ADMIN_TOKEN: '', OPERATOR_PASSWORD: PASSWORD } })
    await using page = await startUpstream('page', (_, response) => response.end())
    await writeFile(join(folder.path, '.env'), `OPERATOR_PASSWORD="${PASSWORD}"\n`)
    await writeFile(join(folder.path, '.culvert/admin-ports'), `${tunnel.adminUrl}\n`)
    const closed = String(await freePort())
    const flags = ['--json', '--closed', closed, '--password-file']
    const { checks } = await askDoctorIn(folder.path, `http://${page.address}`, ...flags)
    expect(checks.find(({ name }) => name === 'tunnel-state')).toMatchObject({
      result: 'pass',
      message: expect.stringMatching(/^1 replicas checked\..* CSP reports are stored in the inbox\.$/),
    })
  })
})
