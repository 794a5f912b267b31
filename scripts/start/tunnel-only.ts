/** Runs one tunnel as a process of this machine, without nginx and web: the operator's own proxy is in front of it. */

import { SettingsReader } from 'contract/settings-reader'
import { buildSdk } from '../build/sdk.ts'
import { type Config, describeTunnelSettings } from '../environment.ts'
import { authorityOf, isOk, siteUrl } from '../healthcheck.ts'
import type { Session } from '../output.ts'
import { runServices, tunnelService } from '../processes.ts'
import { checkPort, LOOPBACK } from './ports.ts'

/** Runs the tunnel until `stopped`. It listens where `HOST`, `PORT` and `ADMIN_PORT` say. */
export async function runTunnelOnly(config: Config, session: Session): Promise<void> {
  const { host, port, adminHost, adminPort, adminUrl } = addressesOf(config)
  await checkPort(host, port, 'PORT')
  await checkPort(adminHost, adminPort, 'ADMIN_PORT')
  await buildSdk(config.root, session.stopped)
  if (session.stopped.aborted) return
  const service = tunnelService(config, { port, adminPort }, 'tunnel')
  const tunnel = {
    ...service,
    env: { ...service.env, HOST: host, ADMIN_PORT: authorityOf(adminHost, adminPort) },
    isReady: () => isOk(`${adminUrl}/readyz`),
  }
  await runServices(config, [tunnel], [adminUrl], session)
}

/** Returns the sentences of `npm start` when the tunnel runs. */
export function describeTunnel(config: Config): string[] {
  const { url, adminUrl, edge } = addressesOf(config)
  const hosts =
    config.env.ALLOWED_HOSTS || 'any; set it to the host names of your site, against DNS rebinding'
  return [
    `The tunnel accepts reports at ${url}${config.tunnelPath}`,
    `  Proxies that it trusts: ${edge.join(', ')} (TRUSTED_PROXIES)`,
    `  Host names by which it may be reached: ${hosts} (ALLOWED_HOSTS)`,
    `  Metrics: ${adminUrl}/metrics. Status: ${adminUrl}/status (docs/api.md)`,
  ]
}

/** Returns where the tunnel listens. HOST may be public, so it does not apply to the admin port here. */
function addressesOf({ env }: Config) {
  const host = env.HOST || LOOPBACK
  const { host: adminHost = LOOPBACK } = new SettingsReader(env, []).read('ADMIN_PORT')
  const { values } = describeTunnelSettings(env)
  if (!values) throw new Error('the settings were valid when the command started')
  const { port, adminPort, edge } = values
  const url = siteUrl({ httpHost: host, httpPort: port })
  const adminUrl = siteUrl({ httpHost: adminHost, httpPort: adminPort })
  return { host, port, adminHost, adminPort, url, adminUrl, edge }
}
