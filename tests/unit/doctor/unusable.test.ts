/** Faults that end the doctor before its checks, since each check would blame something else. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, it } from 'vitest'
import { openDeployment } from '../../../doctor/deployment.ts'
import { UsageError } from '../../../doctor/options.ts'
import { ROOT } from '../../support/node.ts'
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

it.each([
  ['has expired', 'expired', '127.0.0.1', /has expired \(CERT_HAS_EXPIRED\)\. Renew it/],
  ['is for another name', 'cert', '[::1]', /for another name \(\w+\)\. Get one for this name/],
])('A trusted certificate that %s is named, with what to do', async (_, file, host, problem) => {
  const cert = readFileSync(join(ROOT, `tests/fixtures/tls/${file}.pem`), 'utf8')
  await using site = await startSentry({
    tls: { ...readCertificate(), cert },
    host: host.replace(/[[\]]/g, ''),
  })
  const usual = getCACertificates('default')
  setDefaultCACertificates([...usual, cert])
  const opening = openDeployment({ ...NO_SITE, site: `https://${host}:${site.port}` })
  await expect(opening).rejects.toThrow(UsageError)
  await expect(opening).rejects.toThrow(problem)
  setDefaultCACertificates(usual)
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
