/** Faults that end the doctor before its checks, since each check would blame something else. */

import { expect, it } from 'vitest'
import { openDeployment } from '../../../doctor/deployment.ts'
import { UsageError } from '../../../doctor/options.ts'
import { readCertificate, startSentry } from '../../support/sentry/sentry.ts'
import { openTunnel } from '../../support/tunnel/in-process.ts'

const NO_SITE = {
  path: undefined,
  dsn: undefined,
  filterLists: [],
  closedPorts: [],
  admin: undefined,
  env: {},
  json: false,
}

it('A certificate that this machine does not trust is named, with the variable for an authority of its own', async () => {
  await using site = await startSentry({ tls: readCertificate() })
  const opening = openDeployment({ ...NO_SITE, site: `https://127.0.0.1:${site.port}` })
  await expect(opening).rejects.toThrow(UsageError)
  await expect(opening).rejects.toThrow(/does not trust \(\w+\).+NODE_EXTRA_CA_CERTS/)
})

it('A password that the tunnels reject leads to the deploy that applies it', async () => {
  await using sentry = await startSentry()
  await using tunnel = await openTunnel({ env: { SENTRY_DSN: sentry.dsn() } })
  const admin = { urls: [tunnel.adminUrl], token: `${tunnel.token}-of-tomorrow` }
  const opening = openDeployment({ ...NO_SITE, site: tunnel.url, admin })
  await expect(opening).rejects.toThrow(
    /rejects the password or token\. .+ npm run deploy\. .+ --password-file/,
  )
})
