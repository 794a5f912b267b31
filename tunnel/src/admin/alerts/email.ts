/** Alerts by email. Loaded only for a destination of this kind. */

import type { MailTarget } from 'contract/alerts'
import { createTransport } from 'nodemailer'
import { type Alert, SendError } from './alert.ts'

const CONNECT_MS = 5_000
const SOCKET_MS = 10_000

/** Sends one message. Rejects with a `SendError`. A password is sent over TLS only. */
export async function sendMail(target: MailTarget, { title, text }: Alert): Promise<void> {
  const { host, port, isSecure, login, from, to } = target
  const transport = createTransport({
    ...{ host, port, secure: isSecure, requireTLS: login !== undefined, ...(login && { auth: login }) },
    ...{ connectionTimeout: CONNECT_MS, greetingTimeout: CONNECT_MS, socketTimeout: SOCKET_MS },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  })
  try {
    await transport.sendMail({
      ...{ from: { name: 'Culvert', address: from }, to, subject: title, text },
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
  } catch (error) {
    throw new SendError(describe(error))
  } finally {
    transport.close()
  }
}

type MailError = { code?: string; responseCode?: number; originalCode?: string }

function describe(error: unknown): string {
  const { code, responseCode, originalCode }: MailError = Object(error)
  const reply = responseCode === undefined ? '' : ` (${responseCode})`
  switch (code) {
    case 'EAUTH':
      return `The mail server refuses the user name or password${reply}.`
    case 'EENVELOPE':
      return `The mail server refuses the sender or a recipient${reply}.`
    case 'ETLS':
      return 'The mail server offers no valid TLS: check the port, smtps:// for 465 and smtp:// for 587.'
    case 'EDNS':
      return 'The name of the mail server cannot be resolved.'
    case 'EMESSAGE':
      return `The mail server refuses the message${reply}.`
    default:
      return `The mail server cannot be reached (${originalCode ?? code ?? 'unknown error'}).`
  }
}
