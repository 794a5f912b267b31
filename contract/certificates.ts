/** Additional certificate authorities: the setting `CA_FILE`, and its use by a process. */

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Kind } from './settings/parsers.ts'

/** Certificates in the order of the file. The file holds at least one. */
export type CertificateFile = { path: string; certificates: string[] }

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

/** Path of a file of certificates in PEM. It is read when the settings are. */
export const certificateFile: Kind<CertificateFile> = {
  format: ({ path }) => path,
  parse(path, name, problems) {
    try {
      const certificates = readFileSync(path, 'utf8').match(PEM) ?? []
      if (certificates.length > 0 && certificates.every(isCertificate)) return { path, certificates }
      problems.push(
        `${name}: "${path}" does not hold certificates in PEM; write the path of a file that begins with -----BEGIN CERTIFICATE-----`,
      )
    } catch {
      problems.push(
        `${name}: "${path}" cannot be read; write the path of a file that this process may read, for containers one that all users may read`,
      )
    }
    return undefined
  },
}

/** Adds the certificates to those that TLS connections of this process trust by default. */
export function trustCertificates({ certificates }: CertificateFile): void {
  setDefaultCACertificates([...getCACertificates('default'), ...certificates])
}

function isCertificate(pem: string): boolean {
  try {
    return Boolean(new X509Certificate(pem))
  } catch {
    return false
  }
}
