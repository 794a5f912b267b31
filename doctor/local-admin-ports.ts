/** Finds the admin ports of the tunnels that this machine runs: those of `npm start`, or of the Compose project. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { docker } from '../scripts/programs.ts'

/** File with the admin ports of the processes of `npm start`, one URL a line. */
const ADMIN_PORTS_FILE = join(import.meta.dirname, '../.culvert/admin-ports')

/** Returns URLs of admin ports; none when neither plain processes nor the Compose project run here. */
export function findAdminPorts(): string[] {
  const ports = portsOfProcesses()
  return ports.length > 0 ? ports : portsOfContainers()
}

/** `npm start` removes the file when it ends. */
function portsOfProcesses(): string[] {
  try {
    return readFileSync(ADMIN_PORTS_FILE, 'utf8').split('\n').filter(Boolean)
  } catch {
    return []
  }
}

const NETWORKS =
  '{{range $name, $network := .NetworkSettings.Networks}}{{$name}} {{$network.IPAddress}}\n{{end}}'

function portsOfContainers(): string[] {
  const containers = docker('compose', 'ps', '--quiet', 'tunnel')?.split('\n').filter(Boolean) ?? []
  if (containers.length === 0) return []
  const networks = docker('inspect', '--format', NETWORKS, ...containers) ?? ''
  return [...networks.matchAll(/_admin (\S+)$/gm)].map(([, address]) => `http://${address}:9091`)
}
