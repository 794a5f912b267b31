/** Names the certificate that the sink shows over TLS, and that the servers under test trust. */

import { join } from 'node:path'
import { ROOT } from '../../tests/support/node.ts'

const FOLDER = join(ROOT, 'tests/fixtures/tls')

export const CERTIFICATE = join(FOLDER, 'cert.pem')
export const KEY = join(FOLDER, 'key.pem')
